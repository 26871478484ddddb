/** Secret headers and transformations, on the requests that a backend receives and the responses that clients receive. */

import { request } from 'undici'
import { describe, expect, it } from 'vitest'
import type { TransformPlan } from '../../../src/boundary/plan/transform-plan.ts'
import { call, openClient, openHttp2Gateway } from '../../fixtures/http2-calls.ts'
import { openMcpClient } from '../../fixtures/mcp-client.ts'
import { openBackend, openTestGateway, PATHS, type TestGatewayOptions } from '../../fixtures/test-gateway.ts'
import { openWebSocketGateway } from '../../fixtures/websocket-gateway.ts'
import { switching } from '../../fixtures/websocket-peers.ts'

const SECRET = 'marker-of-the-secret'
const secretHeaders = [
  { name: 'X-Secret', value: SECRET },
  { name: 'Authorization', value: `Basic ${SECRET}` },
]
const get = (headers = '', path = '/open', method = 'GET') =>
  `${method} /things-v1${path} HTTP/1.1\r\nHost: a\r\n${headers}Connection: close\r\n\r\n`

interface Echo {
  readonly url: string
  readonly raw: readonly string[]
}

type Options = Partial<TestGatewayOptions> & { readonly secrets?: typeof secretHeaders; readonly basePath?: string }

async function openEcho({ secrets, basePath, ...options }: Options, headers: Record<string, string | string[]> = {}) {
  const received: Echo[] = []
  const origin = await openBackend((incoming, response) => {
    received.push({ url: incoming.url ?? '', raw: incoming.rawHeaders })
    incoming.resume().on('end', () => response.writeHead(200, headers).end('{}'))
  })
  const backend = { origin, ...(secrets && { secretHeaders: secrets }), ...(basePath !== undefined && { basePath }) }
  const open = options.isHttp2 === true ? openHttp2Gateway : openTestGateway
  return { gateway: await open({ backend, ...options }), received }
}

/** The values of a header, however it is spelled. */
function valuesOf({ raw }: Echo, name: string): string[] {
  return raw.filter((_, index) => index % 2 === 1 && raw[index - 1]!.toLowerCase().replaceAll('_', '-') === name)
}

describe('Secret headers', () => {
  it('replace what the client sends under their names, in any spelling', async () => {
    const { gateway, received } = await openEcho({ secrets: secretHeaders })
    const forged = 'X-Secret: forged\r\nx-secret: forged\r\nX_Secret: forged\r\nX-SECRET: a, b\r\nX-Secret:\r\n'
    const answer = await gateway.raw(get(`${forged}X-Api-Key: key-a\r\nX-Mine: kept\r\n`, '/keyed'))
    expect(answer).toMatch(/^HTTP\/1\.1 200/)
    expect(answer).not.toContain(SECRET)
    const [echo] = received
    expect(valuesOf(echo!, 'x-secret')).toEqual([SECRET])
    expect(valuesOf(echo!, 'authorization')).toEqual([`Basic ${SECRET}`])
    expect(valuesOf(echo!, 'x-mine')).toEqual(['kept'])
    expect(echo!.raw.join(' ')).not.toMatch(/forged|key-a/)
  })

  it.each(['X-Secret', 'x-secret, Authorization', 'close, X-Secret, Host'])(
    'reach the backend although the client names them in Connection: %s',
    async (names) => {
      const { gateway, received } = await openEcho({ secrets: secretHeaders })
      await gateway.raw(get(`X-Secret: forged\r\nConnection: ${names}\r\n`))
      expect(valuesOf(received[0]!, 'x-secret')).toEqual([SECRET])
      expect(valuesOf(received[0]!, 'authorization')).toEqual([`Basic ${SECRET}`])
      expect(valuesOf(received[0]!, 'connection')).toEqual(['keep-alive'])
    },
  )

  it('are in every request of a connection whose headers are the same, and in a repeated one', async () => {
    let count = 0
    const seen: (string | undefined)[] = []
    const origin = await openBackend((incoming, response) => {
      seen.push(incoming.headers['x-secret'] as string | undefined)
      if (++count === 2) incoming.socket.destroy()
      else response.end('{}')
    })
    const gateway = await openTestGateway({ backend: { origin, secretHeaders } })
    for (let index = 0; index < 3; index++) {
      const { body } = await request(`http://127.0.0.1:${gateway.port}/things-v1/open`)
      await body.dump()
    }
    expect(seen).toEqual([SECRET, SECRET, SECRET, SECRET])
  })

  it('reach the backend also from a client of HTTP/2', async () => {
    const { gateway, received } = await openEcho({ secrets: secretHeaders, isHttp2: true })
    const fields = { ':path': '/things-v1/open', 'x-secret': 'forged', x_secret: 'forged' }
    expect(await call(openClient(gateway), fields)).toMatchObject({ status: 200 })
    expect(valuesOf(received[0]!, 'x-secret')).toEqual([SECRET])
  })

  it('are in no answer and no fault when the backend breaks off', async () => {
    const origin = await openBackend((incoming) => void incoming.socket.destroy())
    const gateway = await openTestGateway({ backend: { origin, secretHeaders } })
    expect(await gateway.raw(get())).not.toContain(SECRET)
    expect(await gateway.raw(get('', '/open', 'POST'))).not.toContain(SECRET)
    expect(JSON.stringify(gateway.faults)).not.toContain(SECRET)
  })
})

const transform: TransformPlan = {
  request: {
    remove: ['X-Trace'],
    set: [{ name: 'X-Stage', value: 'live' }],
    add: [{ name: 'X-Tag', value: 'gateway' }],
  },
  response: {
    remove: ['Server', 'X-Powered-By'],
    set: [{ name: 'Cache-Control', value: 'no-store' }],
    add: [{ name: 'Set-Cookie', value: 'b=2' }],
  },
}
const BACKEND: Record<string, string | string[]> = {
  server: 'nginx',
  x_powered_by: 'PHP',
  'cache-control': ['public', 'max-age=1'],
  'set-cookie': 'a=1',
  'content-type': 'application/json',
}

describe('A transformation', () => {
  it('changes the headers of requests and of responses', async () => {
    const { gateway, received } = await openEcho({ transform }, BACKEND)
    const sent = 'X-Trace: 1\r\nx_trace: 2\r\nX-Stage: test\r\nX-Tag: client\r\nX-Mine: kept\r\n'
    const answer = (await gateway.raw(get(sent))).toLowerCase()
    expect(valuesOf(received[0]!, 'x-trace')).toEqual([])
    expect(valuesOf(received[0]!, 'x-stage')).toEqual(['live'])
    expect(valuesOf(received[0]!, 'x-tag')).toEqual(['client', 'gateway'])
    expect(valuesOf(received[0]!, 'x-mine')).toEqual(['kept'])
    expect(answer).not.toMatch(/server:|x_powered_by|max-age|public/)
    expect(answer.match(/set-cookie: .*/g)).toEqual(['set-cookie: a=1', 'set-cookie: b=2'])
    expect(answer.match(/cache-control: .*/g)).toEqual(['cache-control: no-store'])
    expect(answer).toContain('content-type: application/json\r\n')
  })

  it('changes responses without a body, and leaves the framing as it is', async () => {
    const { gateway } = await openEcho({ transform }, { ...BACKEND, 'content-length': '2' })
    const { statusCode, headers } = await request(`http://127.0.0.1:${gateway.port}/things-v1/open`, { method: 'HEAD' })
    expect([statusCode, headers['cache-control'], headers['content-length'], headers['server']]).toEqual([
      200,
      'no-store',
      '2',
      undefined,
    ])
  })

  it('changes a 304 and a stream', async () => {
    const origin = await openBackend((incoming, response) => {
      if (incoming.headers['if-none-match'] !== undefined) {
        response.writeHead(304, BACKEND).end()
        return
      }
      response.writeHead(200, BACKEND)
      response.write('first')
      setImmediate(() => response.end('last'))
    })
    const gateway = await openTestGateway({ backend: { origin }, transform })
    for (const [headers, status] of [
      ['If-None-Match: "a"\r\n', '304'],
      ['', '200'],
    ] as const) {
      const answer = await gateway.raw(get(headers))
      expect(answer.slice(9, 12)).toBe(status)
      expect(answer.toLowerCase()).toContain('cache-control: no-store')
      expect(answer.toLowerCase()).not.toContain('nginx')
    }
  })

  it('changes the responses to a client of HTTP/2', async () => {
    const { gateway } = await openEcho({ transform, isHttp2: true }, BACKEND)
    const { headers } = await call(openClient(gateway), { ':path': '/things-v1/open' })
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'set-cookie': ['a=1', 'b=2'] })
    expect(headers).not.toHaveProperty('server')
  })

  it('does not change the problem documents of the gateway', async () => {
    const set = [{ name: 'X-Set', value: '1' }]
    const { gateway } = await openEcho({ transform: { response: { set } } })
    expect(await gateway.raw(get('', '/keyed'))).not.toContain('X-Set')
    const broken = await openBackend((incoming) => void incoming.socket.destroy())
    const other = await openTestGateway({ backend: { origin: broken }, transform: { response: { set } } })
    const answer = await other.raw(get())
    expect(answer).toMatch(/^HTTP\/1\.1 502/)
    expect(answer).not.toContain('X-Set')
  })

  it('does not reach the responses of another API on the same connection', async () => {
    const { gateway: changed } = await openEcho({ transform }, BACKEND)
    const { gateway: plain, received } = await openEcho({}, BACKEND)
    expect((await changed.raw(get('X-Tag: client\r\n'))).toLowerCase()).toContain('b=2')
    expect((await plain.raw(get('X-Tag: client\r\n'))).toLowerCase()).not.toContain('b=2')
    expect(valuesOf(received[0]!, 'x-tag')).toEqual(['client'])
  })

  it('changes both handshakes of a WebSocket', async () => {
    const { connect, backend } = await openWebSocketGateway(
      { respond: (_, accept) => switching(accept, 'Server: nginx\r\nX-Own: 1\r\n') },
      { transform },
    )
    const { head } = await connect('/open', { 'X-Trace': '1', 'X-Stage': 'test' })
    expect(head).toMatch(/^HTTP\/1\.1 101 /)
    expect(head.toLowerCase()).toContain('x-own: 1')
    expect(head.toLowerCase()).not.toContain('nginx')
    const { headers } = backend.requests[0]!
    expect(headers).toMatchObject({ 'x-stage': 'live', upgrade: 'websocket' })
    expect(headers).not.toHaveProperty('x-trace')
  })
})

describe('A base path', () => {
  const paths = {
    '/v1/open/{id}': { get: PATHS['/open'].get, post: PATHS['/open'].post },
    '/other': { get: PATHS['/keyed'].get },
  }
  const id = { name: 'id', in: 'path', required: true, schema: { type: 'string' } }
  const withId = { ...paths, '/v1/open/{id}': { parameters: [id], ...paths['/v1/open/{id}'] } }
  const rewrite = { basePath: { from: '/v1/open', to: '/internal/pay' } }

  it.each([
    ['/v1/open/a%2eb?x=%2f', '/internal/pay/a%2eb?x=%2f'],
    ['/v%31/op%65n/7', '/internal/pay/7'],
  ])('replaces the beginning of %s and nothing else', async (path, expected) => {
    const { gateway, received } = await openEcho({ paths: withId, transform: rewrite })
    expect(await gateway.raw(get('', path))).toMatch(/^HTTP\/1\.1 200/)
    expect(received[0]!.url).toBe(expected)
  })

  it('comes after the path of the backend', async () => {
    const { gateway, received } = await openEcho({ paths: withId, transform: rewrite, basePath: '/base' })
    await gateway.raw(get('', '/v1/open/7'))
    expect(received[0]!.url).toBe('/base/internal/pay/7')
  })

  it('does not change other paths', async () => {
    const { gateway, received } = await openEcho({ paths: withId, transform: rewrite })
    await gateway.raw(get('X-Api-Key: key-a\r\n', '/other?a=/v1/open'))
    expect(received[0]!.url).toBe('/other?a=/v1/open')
  })

  it.each(['/v1/open/../../admin', '/v1/open/%2e%2e', '/v1/open/..%2fadmin', '/v1//open/7', '/v1/open/;/../x'])(
    'cannot be left by the path of a client: %s',
    async (path) => {
      const { gateway, received } = await openEcho({ paths: withId, transform: rewrite })
      expect(await gateway.raw(get('', path))).toMatch(/^HTTP\/1\.1 40[04]/)
      expect(received).toEqual([])
    },
  )
})

describe('A tool call', () => {
  it('gets the path, the secret headers and the changes of requests', async () => {
    const mcp = { root: { 'x-tollgate-mcp': true } }
    const { gateway, received } = await openEcho(
      {
        paths: { '/v1/things': { get: { operationId: 'listThings', responses: { 200: { description: 'ok' } } } } },
        secrets: secretHeaders,
        transform: { ...transform, basePath: { from: '/v1', to: '/api' } },
        ...mcp,
      },
      BACKEND,
    )
    const client = await openMcpClient(`http://127.0.0.1:${gateway.port}/things-v1/mcp`, 'key-a', '2025-11-25')
    const result = await client.callTool({ name: 'listThings', arguments: {} })
    expect(result.isError).not.toBe(true)
    expect(JSON.stringify(result)).not.toContain(SECRET)
    const [echo] = received
    expect(echo!.url).toBe('/api/things')
    expect(valuesOf(echo!, 'x-secret')).toEqual([SECRET])
    expect(valuesOf(echo!, 'x-stage')).toEqual(['live'])
  })
})

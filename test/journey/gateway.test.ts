/** The gateway from outside: every refusal with its code, invalid HTTP, and backends that misbehave. */

import { createServer, type Server } from 'node:http'
import { connect, createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createService, enrol, publish, type Enrolled, type Service } from './service.ts'

let service: Service
let backend: Server
let broken: ReturnType<typeof createTcpServer>
let caller: Enrolled
let brokenCaller: Enrolled
const seen: { url: string; headers: NodeJS.Dict<string | string[]> }[] = []

const schema = {
  type: 'object',
  required: ['name'],
  properties: { name: { type: 'string' } },
  additionalProperties: false,
}
const json = (of: object) => ({ required: true, content: { 'application/json': { schema: of } } })
const answers = { 200: { description: 'ok' } }

const document = (title: string) => ({
  openapi: '3.1.0',
  info: { title, version: '1.0.0' },
  servers: [{ url: 'http://127.0.0.1:1' }],
  components: {
    securitySchemes: {
      oauth: {
        type: 'oauth2',
        flows: { clientCredentials: { tokenUrl: '/t', scopes: { 'things:read': 'read', 'things:write': 'write' } } },
      },
      key: { type: 'apiKey', in: 'header', name: 'x-api-key' },
    },
  },
  security: [{ oauth: ['things:read'] }, { key: [] }],
  paths: {
    '/things': {
      get: { operationId: 'listThings', responses: answers },
      post: {
        operationId: 'makeThing',
        security: [{ oauth: ['things:write'] }],
        requestBody: json(schema),
        responses: answers,
      },
    },
    '/limited': { get: { operationId: 'limited', responses: answers } },
    '/dear': { get: { operationId: 'dear', responses: answers } },
    '/upload': {
      post: { operationId: 'upload', requestBody: { content: { 'application/octet-stream': {} } }, responses: answers },
    },
    '/public': { get: { operationId: 'open', security: [], responses: answers } },
    '/{how}': {
      get: {
        operationId: 'how',
        parameters: [{ name: 'how', in: 'path', required: true, schema: { type: 'string' } }],
        responses: answers,
      },
    },
  },
})

const declaration = {
  opensla: '1.0.0',
  info: { title: 'Things', version: '1.0.0' },
  limits: [{ name: 'few', operationIds: ['limited'], totals: { day: 2 } }],
  quotas: { period: 'Monthly', resourceUnits: 100 },
  resourceUnits: { default: 0, operations: { dear: 60 } },
}

beforeAll(async () => {
  backend = createServer((incoming, response) => {
    seen.push({ url: incoming.url ?? '', headers: incoming.headers })
    let bytes = 0
    incoming.on('data', (chunk: Buffer) => (bytes += chunk.length))
    incoming.on('end', () => response.end(JSON.stringify({ bytes })))
  })
  broken = createTcpServer(misbehave)
  await Promise.all(
    [backend, broken].map((server) => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))),
  )
  service = await createService({ args: ['--empty'] })
  await service.start()
  await publish(service, 'things-v1', document('Things'), urlOf(backend))
  await publish(service, 'broken-v1', document('Broken'), urlOf(broken))
  await publish(service, 'gone-v1', document('Gone'), 'http://127.0.0.1:1')
  const specification = Buffer.from(JSON.stringify(declaration)).toString('base64')
  await service.platform.post('/v1/openslaspecs', { api: 'things-v1', specification })
  caller = await enrol(service, 'things-v1', { scopes: ['things:read'] })
  brokenCaller = await enrol(service, 'broken-v1')
})

afterAll(async () => {
  await service.remove()
  backend.closeAllConnections()
  backend.close()
  broken.close()
})

function urlOf(server: Server | ReturnType<typeof createTcpServer>): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Answers by the requested path. */
function misbehave(socket: Socket): void {
  socket.on('error', () => {})
  socket.once('data', (data) => {
    const how = /^GET \/(\w+)/.exec(data.toString())?.[1]
    const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n'
    if (how === 'reset') socket.resetAndDestroy()
    else if (how === 'short') socket.end(`${head}Content-Length: 100\r\n\r\nonly this`)
    else if (how === 'middle') {
      socket.write(`${head}Content-Length: 1000000\r\n\r\n${'x'.repeat(200_000)}`, () =>
        setImmediate(() => socket.resetAndDestroy()),
      )
    } else if (how === 'chunked') socket.end(`${head}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`)
    else if (how === 'garbage') socket.end('this is not HTTP\r\n\r\n')
  })
}

async function call(path: string, options: Parameters<typeof request>[1] = {}) {
  const { statusCode, headers, body } = await request(service.gatewayUrl + path, options)
  const text = await body.text()
  const document = text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : {}
  return { status: statusCode, headers, code: document['code'], document, text }
}

const bearer = async (by = caller) => ({ authorization: `Bearer ${await by.token()}` })
const withType = async (type: string) => ({ ...(await bearer()), 'content-type': type })

describe('the gateway', () => {
  it('distinguishes the failures of a credential, with their challenges', async () => {
    const missing = await call('/things-v1/things')
    expect([missing.status, missing.code, missing.headers['www-authenticate']]).toEqual([
      401,
      'credential_missing',
      'Bearer',
    ])
    const wrong = await call('/things-v1/things', { headers: { authorization: 'Bearer a.b.c' } })
    expect([wrong.status, wrong.code, wrong.headers['www-authenticate']]).toEqual([
      401,
      'credential_invalid',
      'Bearer error="invalid_token"',
    ])
    const forbidden = await call('/things-v1/things', {
      method: 'POST',
      headers: await withType('application/json'),
      body: '{"name":"a"}',
    })
    expect([forbidden.status, forbidden.code]).toEqual([403, 'operation_forbidden'])
    expect(forbidden.headers['www-authenticate']).toContain('error="insufficient_scope"')
    const foreign = await call('/things-v1/things', { headers: { 'x-api-key': brokenCaller.apiKey } })
    expect([foreign.status, foreign.code]).toEqual([403, 'subscription_required'])
    const other = await call('/things-v1/things', { headers: await bearer(brokenCaller) })
    expect([other.status, other.code]).toEqual([401, 'credential_invalid'])
  })

  it('accepts a key in x-api-key, and a public operation without a credential', async () => {
    expect((await call('/things-v1/things', { headers: { 'x-api-key': caller.apiKey } })).status).toBe(200)
    expect((await call('/things-v1/things', { headers: { authorization: `Bearer ${caller.apiKey}` } })).status).toBe(
      401,
    )
    expect((await call('/things-v1/public')).status).toBe(200)
  })

  it('answers 404, 405, and refuses ambiguous paths', async () => {
    expect((await call('/nothing-v1/things')).code).toBe('not_found')
    expect((await call('/things-v1/a/b/c', { headers: await bearer() })).code).toBe('not_found')
    const method = await call('/things-v1/things', { method: 'DELETE', headers: await bearer() })
    expect([method.status, method.code]).toEqual([405, 'method_not_allowed'])
    expect(method.headers['allow']).toContain('GET')
    for (const path of [
      '/things-v1//things',
      '/things-v1/%2e%2e/things',
      '/things-v1/a%2Fb',
      '/things-v1/%zz',
      '/things-v1/a\\b',
    ]) {
      expect(await raw(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`), path).toContain(
        'path_not_canonical',
      )
    }
  })

  it('refuses over a total with 429 and Retry-After, and over a quota with 402', async () => {
    const headers = await bearer()
    const statuses = []
    for (let index = 0; index < 3; index++) statuses.push((await call('/things-v1/limited', { headers })).status)
    expect(statuses).toEqual([200, 200, 429])
    const limited = await call('/things-v1/limited', { headers })
    expect([limited.code, Number(limited.headers['retry-after']) > 0]).toEqual(['rate_limited', true])
    expect((await call('/things-v1/dear', { headers })).status).toBe(200)
    const dear = await call('/things-v1/dear', { headers })
    expect([dear.status, dear.code]).toEqual([402, 'quota_exhausted'])
  })
})

describe('a request body', () => {
  it('is validated if a schema is declared', async () => {
    const writer = await enrol(service, 'things-v1')
    const headers = { ...(await bearer(writer)), 'content-type': 'application/json' }
    const post = (body: string, type = 'application/json') =>
      call('/things-v1/things', { method: 'POST', headers: { ...headers, 'content-type': type }, body })

    expect((await post('{"name":"a"}')).status).toBe(200)
    expect((await post('{"name":1}')).document['errors']).toEqual([expect.objectContaining({ pointer: '/name' })])
    expect((await post('{"name":"a","name":"b"}')).code).toBe('payload_invalid')
    expect((await post('{"name":')).code).toBe('payload_invalid')
    expect((await post('{"name":"a"}', 'text/plain')).code).toBe('media_type_unsupported')
    expect((await post(`{"name":"${'a'.repeat(1_100_000)}"}`)).code).toBe('payload_too_large')
  })

  it('above the limit is refused while it is read, and the connection is closed', async () => {
    const writer = await enrol(service, 'things-v1')
    const socket = open()
    const { authorization } = await bearer(writer)
    socket.write(
      `POST /things-v1/things HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
    )
    const piece = 'x'.repeat(100_000)
    const pump = (): void => {
      if (!socket.destroyed) socket.write(`${piece.length.toString(16)}\r\n${piece}\r\n`, () => setImmediate(pump))
    }
    pump()
    expect(await answerOf(socket)).toContain('HTTP/1.1 413')
  })

  it('without a schema is streamed, whatever its length', async () => {
    const answer = await call('/things-v1/upload', {
      method: 'POST',
      headers: await withType('application/octet-stream'),
      body: Buffer.alloc(5_000_000, 1),
    })
    expect([answer.status, answer.document['bytes']]).toEqual([200, 5_000_000])
  })
})

describe('a request to the backend', () => {
  it('names the verified caller, and contains neither the credential nor claims of the client', async () => {
    seen.length = 0
    const headers = {
      ...(await bearer()),
      'x-consumer-id': 'con_boss',
      'X-Agent-Id': 'root',
      traceparent: 'mine',
      'x-mine': 'kept',
    }
    const answer = await call('/things-v1/things', { headers })
    const heard = seen[0]?.headers ?? {}

    expect(heard['x-consumer-id']).toBe(caller.consumer)
    expect(heard['x-subscription-id']).toBe(caller.subscription)
    expect(heard['x-mine']).toBe('kept')
    expect(heard['x-agent-id']).toBeUndefined()
    expect(heard['authorization']).toBeUndefined()
    expect(heard['traceparent']).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
    expect(heard['x-request-id']).toBe(answer.headers['x-request-id'])
  })
})

describe('a backend that misbehaves', () => {
  it.each([
    ['/broken-v1/reset', 502, 'upstream_broken'],
    ['/broken-v1/garbage', 502, 'upstream_broken'],
  ])('at %s is answered %i %s', async (path, status, code) => {
    const answer = await call(path, { headers: await bearer(brokenCaller) })
    expect([answer.status, answer.code]).toEqual([status, code])
  })

  it('by refusing connections is answered 502 upstream_refused', async () => {
    const gone = await enrol(service, 'gone-v1')
    const answer = await call('/gone-v1/things', { headers: await bearer(gone) })
    expect([answer.status, answer.code]).toEqual([502, 'upstream_refused'])
  })

  it('by not responding is answered 504 after the time limit', async () => {
    const { items } = await service.platform.get<{ items: readonly { id: string }[] }>('/v1/proxies?api=broken-v1')
    const specification = Buffer.from(JSON.stringify(document('Broken'))).toString('base64')
    await service.platform.post('/v1/proxies', {
      api: 'broken-v1',
      specification,
      backend: { url: urlOf(broken), timeoutMs: 100 },
    })
    await service.platform.post(`/v1/proxies/${items[0]?.id}/activate`)
    const answer = await call('/broken-v1/silent', { headers: await bearer(brokenCaller) })
    expect([answer.status, answer.code]).toEqual([504, 'upstream_timeout'])
  })

  it('by closing the connection during a response makes the gateway close that of the client', async () => {
    const headers = await bearer(brokenCaller)
    await expect(call('/broken-v1/middle', { headers })).rejects.toThrow()
    await expect(call('/broken-v1/chunked', { headers })).rejects.toThrow()
    await expect(call('/broken-v1/short', { headers })).rejects.toThrow()
  })
})

describe('a backend that leads back to the gateway', () => {
  it('is answered 508 loop_detected after one pass', async () => {
    await publish(service, 'loop-v1', document('Loop'), `${service.gatewayUrl}/loop-v1`)
    const answer = await call('/loop-v1/public')
    expect([answer.status, answer.code]).toEqual([508, 'loop_detected'])
  })
})

describe('invalid HTTP:', () => {
  it.each([
    [
      'both lengths',
      'POST /things-v1/upload HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      '400',
    ],
    [
      'two lengths',
      'POST /things-v1/upload HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc',
      '400',
    ],
    ['a bare line feed', 'GET /things-v1/public HTTP/1.1\nHost: a\n\n', '400'],
    ['a space before the colon', 'GET /things-v1/public HTTP/1.1\r\nHost: a\r\nX-A : b\r\n\r\n', '400'],
    ['a folded header', 'GET /things-v1/public HTTP/1.1\r\nHost: a\r\nX-A: b\r\n c\r\n\r\n', '400'],
    ['headers over 16 KB', `GET /things-v1/public HTTP/1.1\r\nHost: a\r\nX-A: ${'b'.repeat(17_000)}\r\n\r\n`, '431'],
  ])('%s is refused and the connection closed', async (_, text, status) => {
    expect(await raw(text)).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  })
})

function open(): Socket {
  const { hostname, port } = new URL(service.gatewayUrl)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  return socket
}

/** Returns all bytes that arrive until the peer closes the connection. */
function answerOf(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    socket.on('data', (chunk) => (text += chunk.toString('latin1')))
    socket.on('close', () => resolve(text))
  })
}

function raw(text: string): Promise<string> {
  const socket = open()
  socket.write(text)
  return answerOf(socket)
}

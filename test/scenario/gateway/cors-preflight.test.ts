/** Preflight requests, and hostile forms of them. */

import { describe, expect, it } from 'vitest'
import { ALLOWED, APP, CORS_PATHS, EVIL, openCorsApi, toCorsResponse } from '../../fixtures/cors-api.ts'
import { openBackend, openTestGateway, received, receivedUntil } from '../../fixtures/test-gateway.ts'

describe('A preflight request', () => {
  it('is answered with the methods and headers of its path, without credential, record and backend', async () => {
    const { gateway, preflight, forwarded } = await openCorsApi()
    const { status, body, cors, head } = await preflight('/things-v1/items?a=b', APP, [
      'Access-Control-Request-Headers: x-trace,x-other',
      'Access-Control-Request-Private-Network: true',
    ])
    expect([status, body]).toEqual([204, ''])
    expect(cors).toEqual({
      [ALLOWED]: APP,
      'access-control-allow-methods': 'GET, POST, HEAD',
      'access-control-allow-headers': 'authorization, content-type, x-api-key, x-trace',
      'access-control-max-age': '600',
      vary: 'Origin',
    })
    expect(head).not.toMatch(/content-length|transfer-encoding|ratelimit/i)
    expect((await preflight('/things-v1/items/7')).cors['access-control-allow-methods']).toBe('DELETE')
    expect(gateway.counts.get('preflight_answered')).toBe(2)
    expect([forwarded, gateway.records]).toEqual([[], []])
  })

  it.each([
    ['from another origin', '/things-v1/items', EVIL],
    ['from a sandboxed page', '/things-v1/items', 'null'],
    ['from an origin with a path', '/things-v1/items', `${APP}/`],
    ['from an origin in upper case', '/things-v1/items', 'https://APP.example'],
    ['from an origin with a trailing dot', '/things-v1/items', `${APP}.`],
    ['from an origin with the default port', '/things-v1/items', `${APP}:443`],
    ['from two origins in one header', '/things-v1/items', `${APP}, ${APP}`],
    ['from an origin that ends like an allowed one', '/things-v1/items', `https://evil.${APP.slice(8)}`],
    ['from a very long origin', '/things-v1/items', `https://${'a'.repeat(10_000)}`],
    ['to an unknown path', '/things-v1/nothing', APP],
    ['to the API itself', '/things-v1', APP],
  ])('%s gets 204 and no permission', async (_, path, origin) => {
    const { preflight } = await openCorsApi()
    const { status, cors } = await preflight(path, origin)
    expect([status, cors]).toEqual([204, { vary: 'Origin' }])
  })

  it('with two Origin headers gets no permission', async () => {
    const { preflight, send } = await openCorsApi()
    expect((await preflight('/things-v1/items', APP, [`Origin: ${APP}`])).cors).toEqual({ vary: 'Origin' })
    expect((await preflight('/things-v1/items', EVIL, [`Origin: ${APP}`])).cors).toEqual({ vary: 'Origin' })
    const many = Array.from({ length: 300 }, () => `Origin: ${APP}`)
    expect((await preflight('/things-v1/items', APP, many)).cors).toEqual({ vary: 'Origin' })
    const call = await send('GET /things-v1/items HTTP/1.1', [`Origin: ${APP}`, `Origin: ${APP}`])
    expect(call.cors).toEqual({ vary: 'Accept-Encoding, Origin' })
  })

  it.each(['CONNECT', 'post', 'G\x01T', '', '*', 'x'.repeat(8_000)])(
    'for the method %j repeats nothing of it',
    async (method) => {
      const { send } = await openCorsApi()
      const headers = [`Origin: ${APP}`, `Access-Control-Request-Method: ${method}`]
      const { status, cors } = await send('OPTIONS /things-v1/items HTTP/1.1', headers)
      if (method.includes('\x01')) expect(status).toBe(400)
      else expect([status, cors['access-control-allow-methods']]).toEqual([204, 'GET, POST, HEAD'])
    },
  )

  it('with a very long list of headers gets a short answer', async () => {
    const { preflight } = await openCorsApi()
    const asked = `Access-Control-Request-Headers: ${'x-a,'.repeat(3_000)}x-b`
    const { status, head } = await preflight('/things-v1/items', APP, [asked])
    expect(status).toBe(204)
    expect(head.length).toBeLessThan(600)
  })

  it.each([
    [['Content-Length: 4'], 'body', ['HTTP/1.1 204', 'HTTP/1.1 200']],
    // It could be long.
    [['Transfer-Encoding: chunked'], '4\r\nbody\r\n0\r\n\r\n', ['HTTP/1.1 204']],
  ])('with a body (%j) is answered, and the next request if its length is known', async (framing, body, expected) => {
    const { gateway } = await openCorsApi()
    const asked = ['Host: a', `Origin: ${APP}`, 'Access-Control-Request-Method: POST', ...framing]
    const next = 'GET /things-v1/items HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
    const answers = await gateway.raw(['OPTIONS /things-v1/items HTTP/1.1', ...asked, '', body + next].join('\r\n'))
    expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(expected)
    expect(answers).toMatch(/^connection: close/im)
  })

  it('that waits for 100 Continue is answered at once, and ends the connection', async () => {
    const { send } = await openCorsApi()
    const asked = ['Access-Control-Request-Method: POST', 'Content-Length: 9', 'Expect: 100-continue']
    const { status, head } = await send('OPTIONS /things-v1/items HTTP/1.1', [`Origin: ${APP}`, ...asked])
    expect([status, /^connection: close/im.test(head)]).toEqual([204, true])
  })

  it('is answered many times on one connection, in order', async () => {
    const { gateway } = await openCorsApi()
    const socket = await gateway.open()
    const one = `OPTIONS /things-v1/items HTTP/1.1\r\nHost: a\r\nOrigin: ${APP}\r\nAccess-Control-Request-Method: GET\r\n\r\n`
    socket.write(one.repeat(500) + 'GET /things-v1/items HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    const answers = (await received(socket)).match(/HTTP\/1\.1 \d+/g) ?? []
    expect(answers).toHaveLength(501)
    expect(new Set(answers.slice(0, 500))).toEqual(new Set(['HTTP/1.1 204']))
    expect(answers[500]).toBe('HTTP/1.1 200')
  })

  it('cannot smuggle headers through its origin', async () => {
    const { gateway } = await openCorsApi({ cors: { origins: '*' } })
    const socket = await gateway.open()
    socket.write(
      `OPTIONS /things-v1/items HTTP/1.1\r\nHost: a\r\nOrigin: ${APP}\rX-Evil: y\r\nAccess-Control-Request-Method: GET\r\n\r\n`,
    )
    expect(await receivedUntil(socket, /\r\n\r\n/)).toMatch(/^HTTP\/1\.1 400 /)
  })
})

it('An API has its own setting: that of another API at the same gateway does not count', async () => {
  const one = await openCorsApi({ cors: { origins: [APP] } })
  const other = await openCorsApi({ cors: { origins: [EVIL] } })
  const gateway = await openTestGateway({
    backend: { origin: 'http://127.0.0.1:1' },
    server: {
      revisionOf: (api) => ({ 'one-v1': one.gateway.revision, 'other-v1': other.gateway.revision })[api],
      wake: () => null,
    },
  })
  const preflight = async (path: string) =>
    toCorsResponse(
      await gateway.raw(
        `OPTIONS ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nOrigin: ${APP}\r\nAccess-Control-Request-Method: GET\r\n\r\n`,
      ),
    )
  expect((await preflight('/one-v1/items')).cors[ALLOWED]).toBe(APP)
  expect((await preflight('/other-v1/items')).cors).toEqual({ vary: 'Origin' })
  expect((await preflight('/other-v1/../one-v1/items')).status).toBe(400)
  expect((await preflight('/unknown-v1/items')).status).toBe(404)
})

it('The MCP endpoint of an API is not open to pages of other origins', async () => {
  const gateway = await openTestGateway({
    backend: { origin: 'http://127.0.0.1:1' },
    paths: CORS_PATHS,
    root: { 'x-tollgate-cors': { origins: [APP] }, 'x-tollgate-mcp': true },
  })
  const send = async (method: string) =>
    toCorsResponse(
      await gateway.raw(
        `${method} /things-v1/mcp HTTP/1.1\r\nHost: a\r\nConnection: close\r\nOrigin: ${APP}\r\nAccess-Control-Request-Method: POST\r\n\r\n`,
      ),
    )
  const [asked, called] = [await send('OPTIONS'), await send('POST')]
  expect([asked.status, asked.cors]).toEqual([204, { vary: 'Origin' }])
  expect([called.status, called.cors]).toEqual([403, {}])
})

it('A sleeping API is woken by a preflight request', async () => {
  const origin = await openBackend((_, response) => void response.end())
  const gateway = await openTestGateway({
    backend: { origin },
    paths: CORS_PATHS,
    root: { 'x-tollgate-cors': { origins: [APP] } },
    wake: async () => {},
  })
  const answer = await gateway.raw(
    `OPTIONS /things-v1/items HTTP/1.1\r\nHost: a\r\nConnection: close\r\nOrigin: ${APP}\r\nAccess-Control-Request-Method: GET\r\n\r\n`,
  )
  expect(toCorsResponse(answer).cors[ALLOWED]).toBe(APP)
  expect(gateway.inFlight()).toBe(0)
})

/** Pages of other origins call the platform API. */

import { connect, type AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { received } from '../../../fixtures/test-backend.ts'
import { openTestPlatform } from '../../../fixtures/test-platform.ts'

const APP = 'https://app.example'
const EVIL = 'https://evil.example'

interface Sent {
  readonly status: number
  /** Headers of CORS and `Vary`. */
  readonly cors: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, unknown>>
}

async function open(corsOrigins?: readonly string[]) {
  const platform = await openTestPlatform(corsOrigins === undefined ? {} : { corsOrigins })
  const { app } = platform.server
  const send = async (method: string, url: string, headers: Record<string, string> = {}): Promise<Sent> => {
    const answer = await app.inject({ method: method as 'GET', url, headers })
    const entries = Object.entries(answer.headers)
    const cors = Object.fromEntries(entries.filter(([name]) => /^(access-control-|vary$)/.test(name)))
    return { status: answer.statusCode, cors, headers: answer.headers }
  }
  const preflight = (url: string, origin = APP, method = 'POST'): Promise<Sent> =>
    send('OPTIONS', url, { origin, 'access-control-request-method': method })
  return { platform, send, preflight }
}

describe('A preflight request to the platform', () => {
  it('is answered before authentication, with the methods of the path, and is not recorded', async () => {
    const { platform, preflight } = await open([APP])
    const { status, cors, headers } = await preflight('/v1/apis/orders-v1/policy?x=y')
    expect(status).toBe(204)
    expect(cors).toEqual({
      'access-control-allow-origin': APP,
      'access-control-allow-methods': 'GET, HEAD, PATCH, PUT',
      'access-control-allow-headers':
        'authorization, content-type, x-api-key, if-match, if-none-match, last-event-id, idempotency-key, x-consumer-id',
      'access-control-max-age': '600',
      vary: 'Origin',
    })
    expect(headers).not.toHaveProperty('www-authenticate')
    expect([platform.calls, platform.recordings]).toEqual([[], 0])
  })

  it.each([
    ['from another origin', '/v1/apis', EVIL],
    ['from a sandboxed page', '/v1/apis', 'null'],
    ['from an origin with a path', '/v1/apis', `${APP}/`],
    ['from an origin in upper case', '/v1/apis', 'https://APP.example'],
    ['from two origins', '/v1/apis', `${APP}, ${APP}`],
  ])('%s gets 204 and no permission', async (_, url, origin) => {
    const { preflight } = await open([APP])
    const { status, cors } = await preflight(url, origin)
    expect([status, cors]).toEqual([204, { vary: 'Origin' }])
  })

  it.each(['/console', '/console/api/v1/apis', '/console/sign-out', '/mcp', '/metrics', '/metrics?a', '/v1/nothing'])(
    'to %s, which is no operation or not open to other origins, gets no permission',
    async (url) => {
      const { preflight } = await open([APP])
      const { status, cors } = await preflight(url)
      expect(status).toBeGreaterThanOrEqual(401)
      expect(cors).toEqual({ vary: 'Origin' })
    },
  )

  it('is refused as before without a setting', async () => {
    const { preflight, send } = await open()
    const { status, cors } = await preflight('/v1/apis')
    expect([status, cors]).toEqual([405, {}])
    expect((await send('GET', '/v1/apis', { origin: APP })).cors).toEqual({})
  })

  it('needs one Origin header: with two of them it gets no permission', async () => {
    const { platform } = await open([APP])
    const { app } = platform.server
    await app.listen({ host: '127.0.0.1', port: 0 })
    onTestFinished(() => app.close())
    const send = async (...origins: readonly string[]): Promise<string> => {
      const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
      const answer = received(socket)
      const lines = origins.map((origin) => `Origin: ${origin}\r\n`).join('')
      socket.write(
        `OPTIONS /v1/apis HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${lines}Access-Control-Request-Method: GET\r\n\r\n`,
      )
      return answer
    }
    expect(await send(APP)).toMatch(/^HTTP\/1\.1 204 [^]*access-control-allow-origin: https:\/\/app\.example\r\n/i)
    for (const origins of [
      [APP, APP],
      [APP, EVIL],
      [EVIL, APP],
    ])
      expect(await send(...origins)).not.toMatch(/access-control-/i)
  })
})

describe('A response of the platform', () => {
  it('permits the page to read it and the headers of the platform, and never to send cookies', async () => {
    const { platform, send } = await open([APP])
    const headers = { authorization: `Bearer ${platform.token('acme')}`, origin: APP }
    const { status, cors } = await send('GET', '/v1/apis', headers)
    expect(status).toBe(200)
    expect(cors).toMatchObject({ 'access-control-allow-origin': APP })
    expect(cors['access-control-expose-headers']).toMatch(/ETag, .*Retry-After, .*Tollgate-Pending-Nodes$/)
    expect(cors).not.toHaveProperty('access-control-allow-credentials')
  })

  it('depends on the origin, also for a request without one, and beside what else it depends on', async () => {
    const { platform, send } = await open([APP])
    const headers = { authorization: `Bearer ${platform.token('acme')}` }
    expect((await send('GET', '/v1/apis', headers)).cors).toEqual({ vary: 'Origin' })
    expect((await send('GET', '/v1/apis', { ...headers, origin: EVIL })).cors).toEqual({ vary: 'Origin' })
    const table = await send('GET', '/v1/summaries', headers)
    expect([table.status, table.cors]).toEqual([200, { vary: 'Accept, Origin' }])
  })

  it.each([
    ['GET', '/v1/apis', 401],
    ['DELETE', '/v1/apis', 405],
    ['GET', '/v1/apis?unknown=1', 401],
  ])('that refuses %s %s can be read by the page', async (method, url, status) => {
    const { send } = await open([APP])
    const refused = await send(method, url, { origin: APP })
    expect([refused.status, refused.cors['access-control-allow-origin'], refused.cors['vary']]).toEqual([
      status,
      APP,
      'Origin',
    ])
  })

  it('is open to the page if it is a stream', async () => {
    const { platform } = await open([APP])
    const { app } = platform.server
    const url = await app.listen({ host: '127.0.0.1', port: 0 })
    onTestFinished(() => app.close())
    const ended = new AbortController()
    const { status, headers } = await fetch(`${url}/v1/events/subscribe`, {
      headers: { authorization: `Bearer ${platform.token('acme')}`, origin: APP },
      signal: ended.signal,
    })
    ended.abort()
    expect([status, headers.get('access-control-allow-origin')]).toEqual([200, APP])
  })

  it('of the port of risks follows the same setting', async () => {
    const { platform } = await open([APP])
    const app = platform.server.createRiskApp()
    const headers = { origin: APP, 'access-control-request-method': 'GET' }
    const known = await app.inject({ method: 'OPTIONS', url: '/v1/risks', headers })
    expect(known.headers['access-control-allow-origin']).toBe(APP)
    const unknown = await app.inject({ method: 'OPTIONS', url: '/v1/apis', headers })
    expect(unknown.headers).not.toHaveProperty('access-control-allow-origin')
  })
})

describe('The policy of an API', () => {
  it('takes a setting, refuses an invalid one with a pointer, and shows it as it was written', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const { status, body } = await platform.send('PUT', '/v1/apis/none-v1/policy', {
      token,
      body: { cors: { origins: '*' } },
    })
    expect([status, body['code']]).toEqual([404, 'not_found'])
    for (const cors of [
      {},
      { origins: 'https://app.example' },
      { origins: [], more: 1 },
      { origins: [], maxAge: -1 },
    ]) {
      const refused = await platform.send('PUT', '/v1/apis/none-v1/policy', { token, body: { cors } })
      expect([refused.status, refused.body['code']]).toEqual([400, 'payload_invalid'])
    }
  })
})

import fastify from 'fastify'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createConsoleCookies } from '../../../../src/interfaces/console-server/console-cookies.ts'
import { createConsoleRequests } from '../../../../src/interfaces/console-server/console-requests.ts'
import { installProblems } from '../../../../src/interfaces/platform/problems.ts'
import { createLog } from '../../../../src/foundation/runtime/log.ts'

const BASE = 'https://platform.example'
const CONSOLE = { 'tollgate-console': '1' }
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

function open() {
  const cookies = createConsoleCookies({ baseUrl: BASE, gatewayUrl: 'https://gateway.example' })
  const requests = createConsoleRequests({
    cookies,
    sessions: { tokenOf: async (id) => (id === 'signed-in' ? 'token-of-session' : null) },
    admission: { admits: async () => true },
    baseUrl: `${BASE}/`,
  })
  const app = fastify({ rewriteUrl: requests.rewriteUrl })
  onTestFinished(() => app.close())
  installProblems(app, { log: createLog('silent'), allowedMethods: () => [] })
  requests.install(app)
  const served: (readonly [url: string, authorization: string | undefined])[] = []
  app.route({
    method: [...METHODS],
    url: '*',
    async handler({ url, headers }) {
      served.push([url, headers.authorization])
      return {}
    },
  })
  const cookie = cookies.session.set('signed-in').split(';')[0]!
  const send = async (headers: Record<string, string | string[]>, url = '/console/api/v1/me', method = METHODS[0]) =>
    app.inject({ method, url, headers: { cookie, ...headers } })
  return { served, send }
}

describe('a request to the console', () => {
  it.each(METHODS)('answers 403 to %s that no page of the console sent', async (method) => {
    const { served, send } = open()
    const simple = { 'content-type': 'text/plain' }
    for (const headers of [
      {},
      simple,
      { ...simple, origin: BASE },
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'same-origin' },
      { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'none' },
      { ...CONSOLE, origin: 'https://evil.example' },
      { ...CONSOLE, origin: 'null' },
      { ...CONSOLE, origin: '' },
      { ...CONSOLE, origin: `${BASE}.evil.example` },
      { ...CONSOLE, origin: 'http://platform.example' },
      { ...CONSOLE, origin: `${BASE}:8443` },
      ...['cross-site', 'same-site', 'none', '', 'SAME-ORIGIN'].map((site) => ({ ...CONSOLE, 'sec-fetch-site': site })),
      { 'tollgate-console': ['1', '1'] },
      { 'tollgate-console': 'true' },
      { 'x-http-method-override': 'GET' },
    ]) {
      const { statusCode } = await send(headers, '/console/api/v1/me', method as 'GET')
      expect({ headers, statusCode }).toEqual({ headers, statusCode: 403 })
    }
    expect(served).toEqual([])
  })

  it.each([
    {},
    { 'sec-fetch-site': 'same-origin' },
    { origin: BASE },
    { origin: BASE, 'sec-fetch-site': 'same-origin' },
  ])('is served with the token of its session for a page of the console (%j)', async (headers) => {
    const { served, send } = open()
    await send({ ...CONSOLE, ...headers, authorization: 'Bearer other', 'x-api-key': 'other' })
    expect(served).toEqual([['/v1/me', 'Bearer token-of-session']])
  })

  it.each(['/v1/me', '/v1', '/v1?from=a', '/v1/apis/%2Fconsole', '/.well-known/tollgate'])(
    'has %s by the name that it has in the API',
    async (path) => {
      const { served, send } = open()
      await send(CONSOLE, `/console/api${path}`)
      expect(served).toEqual([[path, 'Bearer token-of-session']])
    },
  )

  it.each([
    '/console/api',
    '/console/api/',
    '/console/api/console/try',
    '/console/api/%63onsole/try',
    '/console/api/console/sign-out',
    '/console/api/mcp',
    '/console/api/metrics',
    '/console/api/v1x',
    '/console/api/%761/me',
    '/console/api//v1/me',
    '/console/apis/v1/me',
    '/console%2Fapi/v1/me',
    '//console/api/v1/me',
    '/v1/me',
    '/mcp',
  ])('gives no credential to %s', async (path) => {
    const { served, send } = open()
    await send(CONSOLE, path)
    expect(served).toEqual([[path, undefined]])
  })

  it('is kept by no cache but that of the browser, whether it is answered or refused', async () => {
    const { send } = open()
    for (const headers of [CONSOLE, {}, { ...CONSOLE, cookie: '' }])
      expect((await send(headers)).headers['cache-control']).toBe('private, no-cache')
  })
})

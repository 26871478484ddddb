/** Pages of other origins at the OAuth paths, on a real socket. */

import { describe, expect, it, onTestFinished } from 'vitest'
import { createCorsRules, type CorsRules } from '../../../../src/gateway/cors/cors-rules.ts'
import { createOauthHandler, type OauthHandler } from '../../../../src/gateway/oauth/oauth-server.ts'
import { readRequestHeaders } from '../../../../src/gateway/headers/upstream-request.ts'
import { createRequestRules } from '../../../../src/gateway/headers/header-rules.ts'
import type { OauthCall } from '../../../../src/boundary/plan/oauth-call.ts'
import { openClientServer } from '../../../fixtures/client-server.ts'
import { API, SCOPES } from '../../../fixtures/token-endpoints.ts'

const APP = 'https://app.example'
const ADMIN = 'https://admin.example'
const EVIL = 'https://evil.example'
const ALLOWED = 'access-control-allow-origin'
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

/** The API allows `APP`, the setting of the service `ADMIN`. */
async function start(ofApi: CorsRules | null = createCorsRules({ origins: [APP] }), corsOrigins = [ADMIN]) {
  const calls: OauthCall[] = []
  const rules = createRequestRules()
  let paths: OauthHandler | null = null
  const { server, url } = await openClientServer((request, response) => {
    const path = (request.url ?? '').split('?', 1)[0] ?? ''
    if (!paths?.(request, response, path, readRequestHeaders(request, rules), ofApi)) response.refuse(418)
  })
  paths = createOauthHandler({
    ...{ gatewayUrl: url, jwks: () => ({ keys: [] }), corsOrigins, allowsRegistration: true },
    async execute(call) {
      calls.push(call)
      return { status: 200, headers: { 'Cache-Control': 'no-store' }, body: {}, signal: null }
    },
    scopesOf: (api) => (api === API ? SCOPES.allowed : null),
  })
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const send = async (method: string, path: string, headers: Record<string, string>) => {
    const answer = await fetch(url + path, { method, headers, redirect: 'manual' })
    await answer.arrayBuffer()
    const cors = Object.fromEntries([...answer.headers].filter(([name]) => /^(access-control-|vary$)/.test(name)))
    return { status: answer.status, cors }
  }
  const preflight = (path: string, origin: string) =>
    send('OPTIONS', path, { origin, 'access-control-request-method': 'POST' })
  return { calls, send, preflight }
}

describe('the token endpoints of an API', () => {
  it.each(['token', 'revoke', 'userinfo'])('answer preflight requests by the setting of the API: %s', async (name) => {
    const { preflight, calls } = await start()
    for (const prefix of ['oauth2/v2', 'v1/oauth2/v2']) {
      const allowed = await preflight(`/${API}/${prefix}/${name}`, APP)
      expect(allowed.status).toBe(204)
      expect(allowed.cors).toEqual({
        [ALLOWED]: APP,
        'access-control-allow-methods': name === 'userinfo' ? 'GET, HEAD, POST' : 'POST',
        'access-control-allow-headers': 'authorization, content-type',
        'access-control-max-age': '600',
        vary: 'Origin',
      })
      for (const origin of [EVIL, ADMIN, 'null', `${APP}, ${APP}`]) {
        const refused = await preflight(`/${API}/${prefix}/${name}`, origin)
        expect([refused.status, refused.cors]).toEqual([204, { vary: 'Origin' }])
      }
    }
    expect(calls).toEqual([])
  })

  it('can be read by an allowed page, also when they refuse', async () => {
    const { send } = await start()
    const granted = await send('POST', `/${API}/oauth2/v2/token`, { ...FORM, origin: APP })
    expect([granted.status, granted.cors[ALLOWED], granted.cors['vary']]).toEqual([200, APP, 'Origin'])
    expect(granted.cors).not.toHaveProperty('access-control-allow-credentials')
    const refused = await send('POST', `/${API}/oauth2/v2/token`, { 'content-type': 'text/plain', origin: APP })
    expect([refused.status, refused.cors[ALLOWED]]).toEqual([415, APP])
    expect((await send('POST', `/${API}/oauth2/v2/token`, { ...FORM, origin: EVIL })).cors).toEqual({ vary: 'Origin' })
    expect((await send('POST', `/${API}/oauth2/v2/token`, FORM)).cors).toEqual({ vary: 'Origin' })
  })

  it('have no headers of CORS if the API has no setting', async () => {
    const { preflight, send } = await start(null)
    const asked = await preflight(`/${API}/oauth2/v2/token`, APP)
    expect([asked.status, asked.cors]).toEqual([405, {}])
    expect((await send('POST', `/${API}/oauth2/v2/token`, { ...FORM, origin: APP })).cors).toEqual({})
  })

  it.each([`/${API}/oauth2/v2/introspect`, `/${API}/oauth2/v2/register`])(
    'do not include %s, which no page needs',
    async (path) => {
      const { preflight, send } = await start()
      const asked = await preflight(path, APP)
      expect([asked.status, asked.cors]).toEqual([405, {}])
      expect((await send('POST', path, { ...FORM, origin: APP })).cors).toEqual({})
    },
  )
})

describe('the endpoints of all APIs', () => {
  const DEVICE = '/oauth2/v2/device_authorization'

  it('allow the origins of the service, not those of an API', async () => {
    const { preflight, send } = await start()
    expect((await preflight(DEVICE, ADMIN)).cors[ALLOWED]).toBe(ADMIN)
    expect((await preflight(DEVICE, APP)).cors).toEqual({ vary: 'Origin' })
    expect((await send('POST', DEVICE, { ...FORM, origin: ADMIN })).cors[ALLOWED]).toBe(ADMIN)
  })

  it('allow none without a setting of the service', async () => {
    const { preflight } = await start(undefined, [])
    const asked = await preflight(DEVICE, ADMIN)
    expect([asked.status, asked.cors]).toEqual([405, {}])
  })

  it.each(['authorize', 'password', 'device', 'callback/idp_1'])('never allow a page at %s', async (name) => {
    const { preflight, send } = await start()
    for (const origin of [APP, ADMIN]) {
      const asked = await preflight(`/oauth2/v2/${name}`, origin)
      expect([asked.status, asked.cors]).toEqual([405, {}])
      expect((await send('GET', `/oauth2/v2/${name}`, { origin })).cors).toEqual({})
    }
  })
})

describe('keys and discovery documents', () => {
  it.each([
    '/.well-known/jwks',
    `/${API}/.well-known/openid-configuration`,
    `/.well-known/oauth-authorization-server/${API}`,
    `/.well-known/oauth-protected-resource/${API}`,
    `/.well-known/oauth-protected-resource/${API}/mcp`,
  ])('are public, whatever the API allows: %s', async (path) => {
    const { send, preflight } = await start(null, [])
    for (const headers of [{}, { origin: EVIL }, { origin: 'null' }]) {
      expect(await send('GET', path, headers)).toEqual({ status: 200, cors: { [ALLOWED]: '*' } })
    }
    expect((await preflight(path, EVIL)).cors).toMatchObject({
      [ALLOWED]: '*',
      'access-control-allow-methods': 'GET, HEAD',
      'access-control-allow-headers': '*',
    })
  })
})

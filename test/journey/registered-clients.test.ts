/** Clients that register themselves (RFC 7591), with real gateway threads: on, off, and off again. */

import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPlatformClient } from '../../src/interfaces/cli/platform-client.ts'
import { buttonOf, createBrowser } from './browser.ts'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { getCode, logIn, redeem, type LoginOptions } from './person.ts'
import { createService, publish, type Service, TWO_THREADS } from './service.ts'
import { authorizeUrl, callLedger, claimsOf, createConsumer, invite, PASSWORD, subscribe } from './shared-client.ts'

const REDIRECTS = ['https://agent.example/back', 'http://127.0.0.1/callback']

let service: Service
let backend: LedgerBackend

beforeAll(async () => {
  backend = await startLedgerBackend()
  service = await createService({ args: ['--empty'], env: { ...TWO_THREADS, MCP_DYNAMIC_REGISTRATION: 'on' } })
  await service.start()
  await publish(service, 'ledger-v1', ledgerDocument(), backend.url)
})

afterAll(async () => {
  await service.remove()
  await backend.close()
})

interface NewTenant {
  readonly id: string
  readonly credential: { readonly clientId: string; readonly clientSecret: string }
}

interface Answered {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

async function post(path: string, body: string, type = 'application/json', to = service): Promise<Answered> {
  const answer = await request(`${to.gatewayUrl}${path}`, { method: 'POST', body, headers: { 'content-type': type } })
  return { status: answer.statusCode, body: (await answer.body.json()) as Answered['body'] }
}

const register = (metadata: object, api = 'ledger-v1'): Promise<Answered> =>
  post(`/${api}/oauth2/v2/register`, JSON.stringify(metadata))

async function newClient(): Promise<string> {
  const { status, body } = await register({ client_name: 'Agent <b>', redirect_uris: REDIRECTS })
  expect(status).toBe(201)
  return String(body['client_id'])
}

async function newPerson(clientId: string): Promise<LoginOptions & { readonly id: string }> {
  const shop = await createConsumer(service)
  await subscribe(service, shop)
  return { ...(await invite(service, { role: 'consumer', consumers: [shop] })), clientId }
}

async function open(clientId: string, redirectUri: string, to = service): Promise<number> {
  return (await createBrowser().open(authorizeUrl(to, clientId, { redirect_uri: redirectUri }))).status
}

describe('a client that registered itself', () => {
  it('has no access without a person', async () => {
    const clientId = await newClient()
    for (const [path, form] of [
      ['token', { grant_type: 'client_credentials', client_id: clientId }],
      ['token', { grant_type: 'client_credentials', client_id: clientId, client_secret: '' }],
      ['token', { grant_type: 'refresh_token', client_id: clientId, refresh_token: 'x' }],
      ['introspect', { token: 'x', client_id: clientId }],
    ] as const) {
      const body = new URLSearchParams(form).toString()
      const answer = await post(`/ledger-v1/oauth2/v2/${path}`, body, 'application/x-www-form-urlencoded')
      expect(answer.status, JSON.stringify(form)).toBeGreaterThanOrEqual(400)
      expect(answer.body).not.toHaveProperty('access_token')
    }
    const device = new URLSearchParams({ client_id: clientId }).toString()
    const begun = await post('/oauth2/v2/device_authorization', device, 'application/x-www-form-urlencoded')
    expect(begun).toMatchObject({ status: 400, body: { error: 'unauthorized_client' } })
  })

  it('gets a code only from a person who allows it, and returns only to where it registered', async () => {
    const clientId = await newClient()
    const { username } = await newPerson(clientId)
    const browser = createBrowser()
    const page = await browser.open(authorizeUrl(service, clientId))
    expect(page.html).toContain('Agent b (registered itself)')
    const consent = await browser.submit(page, { username, password: PASSWORD })
    expect(consent.html).toContain('nobody has checked its name')
    expect(consent.html).toContain('<strong>127.0.0.1:50123</strong>')
    const back = await browser.submit(consent, {}, buttonOf(consent, 'Deny'))
    const { searchParams } = new URL(String(back.headers['location']))
    expect([searchParams.get('error'), searchParams.get('code')]).toEqual(['access_denied', null])

    for (const uri of [REDIRECTS[0] ?? '', 'http://127.0.0.1:1/callback']) expect(await open(clientId, uri)).toBe(200)
    for (const uri of [
      'https://agent.example/back/',
      'https://agent.example/back?x',
      'https://agent.example:8443/back',
      'https://AGENT.example/back',
      'https://agent.example.evil.example/back',
      'http://agent.example/back',
      'http://localhost:50123/callback',
      'http://127.0.0.1:50123/callback/x',
      'http://127.0.0.1:50123@evil.example/callback',
      'javascript:alert(1)',
    ]) {
      expect(await open(clientId, uri), uri).toBe(400)
    }
  })

  it('acts under the subscription of the person, until it is removed', async () => {
    const clientId = await newClient()
    const person = await newPerson(clientId)
    const { token, refresh } = await logIn(service, person)
    expect(claimsOf(token)).toMatchObject({ sub: person.id, client_id: clientId, aud: 'ledger-v1' })
    expect(refresh).toBe('')
    expect(await callLedger(service, token)).toMatchObject({ status: 200 })
    const unused = await getCode(service, person)
    const listed = await service.platform.get<{ items: readonly object[] }>('/v1/registeredclients?limit=100')
    expect(listed.items).toContainEqual(expect.objectContaining({ id: clientId, lastUsedAt: expect.any(String) }))

    const path = `/v1/registeredclients/${clientId}`
    await service.platform.delete(path)
    expect(await callLedger(service, token)).toEqual({ status: 401, code: 'credential_invalid' })
    expect(await redeem(service, person, unused)).toMatchObject({ status: 401, token: '' })
    expect((await getCode(service, person)).code).toBe('')
  })

  it('signs in no person of another tenant, also if the form names that tenant', async () => {
    const tenant = await service.platform.post<NewTenant>('/v1/tenants', { name: 'Rival' })
    const { gatewayUrl, baseUrl } = service
    const rival = { ...service, platform: createPlatformClient({ gatewayUrl, baseUrl, ...tenant.credential }) }
    const { username } = await invite(rival)
    const clientId = await newClient()
    const browser = createBrowser()
    const page = await browser.open(authorizeUrl(service, clientId))
    expect(page.html).not.toContain('name="organisation"')
    for (const organisation of ['Rival', tenant.id]) {
      const refused = await browser.submit(page, { organisation, username, password: PASSWORD })
      expect([refused.status, refused.html.includes('name="decision"')]).toEqual([401, false])
    }
    expect(await rival.platform.get('/v1/registeredclients')).toEqual({ items: [], next: null })
    await expect(rival.platform.delete(`/v1/registeredclients/${clientId}`)).rejects.toThrow('404')
    expect(await open(clientId, REDIRECTS[0] ?? '')).toBe(200)
  })
})

describe('a registration', () => {
  it.each<readonly [string, string, number, string]>([
    ['deep JSON', `${'['.repeat(8_000)}${']'.repeat(8_000)}`, 400, 'invalid_client_metadata'],
    ['two readings', '{"redirect_uris":["https://a.example/"],"redirect_uris":[]}', 400, 'invalid_client_metadata'],
    ['17 KB', JSON.stringify({ x: 'x'.repeat(17_000) }), 413, 'invalid_client_metadata'],
    ['a script', '{"redirect_uris":["javascript:alert(1)"]}', 400, 'invalid_redirect_uri'],
    ['a host in other letters', '{"redirect_uris":["https://аgent.example/"]}', 400, 'invalid_redirect_uri'],
    ['a prototype', '{"__proto__":{"redirect_uris":["https://a.example/"]}}', 400, 'invalid_redirect_uri'],
    ['a number', '1', 400, 'invalid_client_metadata'],
    ['nothing', '', 400, 'invalid_client_metadata'],
  ])('with %s is refused', async (_, body, status, error) => {
    expect(await post('/ledger-v1/oauth2/v2/register', body)).toMatchObject({ status, body: { error } })
  })

  it('at an API that does not exist is refused', async () => {
    expect(await register({ redirect_uris: REDIRECTS }, 'none-v1')).toMatchObject({ status: 404 })
  })
})

it('Registration is off by default, and a client that registered before is unknown then', async () => {
  const clientId = await newClient()
  const person = await newPerson(clientId)
  const metadata = async (of: Service): Promise<object> => {
    const { body } = await request(`${of.gatewayUrl}/.well-known/oauth-authorization-server/ledger-v1`)
    return (await body.json()) as object
  }
  expect(await metadata(service)).toHaveProperty('registration_endpoint')
  await service.stop()
  const off = await createService({ args: ['--empty'], dataDir: service.dataDir })
  await off.start()
  try {
    expect(await metadata(off)).not.toHaveProperty('registration_endpoint')
    const answers = await Promise.all(
      ['register', 'unknown'].map((name) => post(`/ledger-v1/oauth2/v2/${name}`, '{}', 'application/json', off)),
    )
    expect(answers.map(({ status, body }) => [status, body['code']])).toEqual([
      [404, 'not_found'],
      [404, 'not_found'],
    ])
    expect(await open(clientId, 'http://127.0.0.1/callback', off)).toBe(400)
    expect((await getCode(off, person)).code).toBe('')
  } finally {
    await off.stop()
  }
})

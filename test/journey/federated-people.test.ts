/** An independent identity provider signs people in: their roles follow its claims, and their access ends with it. */

import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { CLIENT, startPeopleProvider, type PeopleProvider } from './people-provider.ts'
import { createPublicClient, logIn, refresh } from './person.ts'
import { createService, publish, type Service } from './service.ts'

let service: Service
let backend: LedgerBackend
let provider: PeopleProvider
let ledgerClient: string
let platformClient: string
let registered: { readonly id: string; readonly redirectUri: string }

beforeAll(async () => {
  provider = await startPeopleProvider()
  backend = await startLedgerBackend()
  service = await createService({ args: ['--empty'], env: { ALLOW_PRIVATE_ADDRESSES: 'federation' } })
  await service.start()
  await publish(service, 'ledger-v1', ledgerDocument(), backend.url)
  ledgerClient = await createPublicClient(service, 'ledger-v1')
  const { items } = await service.platform.get<{ items: { id: string; ApiId: string }[] }>('/v1/subscriptions')
  const { id = '' } = items.find(({ ApiId }) => ApiId === 'ledger-v1') ?? {}
  await send('PATCH', `/v1/subscriptions/${id}`, { refreshTokens: true })
  const { scopes } = await service.platform.get<{ scopes: string[] }>('/v1/roles/owner')
  platformClient = await createPublicClient(service, 'platform-v1', scopes)
  registered = await service.platform.post('/v1/identityproviders', { issuer: provider.issuer })
  provider.register(registered.redirectUri)
  const roles = ['auditor', 'billing'].map((role) => ({ claim: 'groups', value: `${role}s`, role }))
  await change({ signIn: { ...CLIENT, roles, scopes: ['profile', 'groups'], createPeople: true } })
})

afterAll(async () => {
  await service.remove()
  await backend.close()
  await provider.close()
})

const change = (body: object) => send('PATCH', `/v1/identityproviders/${registered.id}`, body)

async function send(method: 'PATCH' | 'POST' | 'DELETE', path: string, body?: object): Promise<number> {
  const headers = { authorization: `Bearer ${await service.platform.token()}`, 'content-type': 'application/json' }
  const answer = await request(service.baseUrl + path, {
    method,
    headers: body === undefined ? { authorization: headers.authorization } : headers,
    ...(body && { body: JSON.stringify(body) }),
  })
  expect(answer.statusCode, await answer.body.text()).toBeLessThan(300)
  return answer.statusCode
}

const enter = (api: 'ledger-v1' | 'platform-v1', subject: string) =>
  logIn(service, {
    api,
    clientId: api === 'ledger-v1' ? ledgerClient : platformClient,
    ...{ username: '', password: '', first: provider.logIn(subject) },
  })

async function call(url: string, token: string, method: 'GET' | 'PUT' = 'GET', body?: object) {
  const headers = { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) }
  const answer = await request(url, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  return { status: answer.statusCode, body: (await answer.body.json()) as Record<string, unknown> }
}

const callPlatform = (path: string, token: string) => call(service.baseUrl + path, token)
const statusOfLedger = async (token: string) =>
  (await call(`${service.gatewayUrl}/ledger-v1/entries?n=1`, token)).status

describe('people of an identity provider', () => {
  it('sign in with it, and have the roles of its claims', async () => {
    provider.people.set('ada', { name: 'Ada', preferred_username: 'ada', groups: ['auditors'] })
    const { token, scope } = await enter('platform-v1', 'ada')
    expect(scope.split(' ')).toContain('audit:read')
    expect(scope.split(' ').filter((each) => each.endsWith(':write'))).toEqual(['me:write'])
    const { body } = await callPlatform('/v1/me', token)
    expect(body).toMatchObject({ username: 'ada', roles: [{ role: 'auditor' }], identityProvider: registered.id })
    const passwords = { oldPassword: 'x', newPassword: 'nanoseconds are eleven inches' }
    expect((await call(`${service.baseUrl}/v1/me/password`, token, 'PUT', passwords)).status).toBe(409)
    expect(await statusOfLedger((await enter('ledger-v1', 'ada')).token)).toBe(200)
  })

  it('lose earlier tokens when their roles have changed, and all access when none is left', async () => {
    provider.people.set('bob', { name: 'Bob', preferred_username: 'bob', groups: ['auditors'] })
    const [first, ledger] = [await enter('platform-v1', 'bob'), await enter('ledger-v1', 'bob')]
    provider.people.set('bob', { name: 'Bob', preferred_username: 'bob', groups: ['billings'] })
    const second = await enter('platform-v1', 'bob')
    expect(second.scope.split(' ')).not.toContain('audit:read')
    expect((await callPlatform('/v1/me', first.token)).status).toBe(401)
    expect(await statusOfLedger(ledger.token)).toBe(401)
    const third = await enter('ledger-v1', 'bob')
    expect(await statusOfLedger(third.token)).toBe(200)
    provider.people.set('bob', { name: 'Bob', preferred_username: 'bob', groups: ['none'] })
    expect((await enter('platform-v1', 'bob')).status).toBe(403)
    expect(await statusOfLedger(third.token)).toBe(401)
    expect((await callPlatform('/v1/me', second.token)).status).toBe(401)
  })

  it('have refresh tokens only until their roles are gone', async () => {
    provider.people.set('kay', { name: 'Kay', preferred_username: 'kay', groups: ['auditors'] })
    const client = { api: 'ledger-v1', clientId: ledgerClient }
    const first = await enter('ledger-v1', 'kay')
    const second = await refresh(service, client, first.refresh)
    expect(await statusOfLedger(second.token)).toBe(200)
    provider.people.set('kay', { name: 'Kay', preferred_username: 'kay', groups: [] })
    expect((await enter('ledger-v1', 'kay')).status).toBe(403)
    expect(await statusOfLedger(second.token)).toBe(401)
    expect((await refresh(service, client, second.refresh)).status).toBe(400)
  })

  it('cannot sign in while they are disabled', async () => {
    provider.people.set('eve', { name: 'Eve', preferred_username: 'eve', groups: ['auditors'] })
    const { token } = await enter('platform-v1', 'eve')
    const { body } = await callPlatform('/v1/me', token)
    await send('POST', `/v1/users/${String(body['id'])}/disable`)
    expect((await callPlatform('/v1/me', token)).status).toBe(401)
    expect((await enter('platform-v1', 'eve')).status).toBe(403)
  })

  it('cannot sign in if the client secret is wrong, and can with the right one after a restart', async () => {
    await change({ signIn: { clientSecret: 'wrong' } })
    expect((await enter('ledger-v1', 'ada')).status).toBe(502)
    expect(service.output() + service.errors()).toContain('an identity provider could not sign a person in')
    await change({ signIn: { clientSecret: CLIENT.clientSecret } })
    await service.stop()
    await service.start()
    expect(await statusOfLedger((await enter('ledger-v1', 'ada')).token)).toBe(200)
  })

  it('have no access once the removal of the provider is answered', async () => {
    const { token } = await enter('ledger-v1', 'ada')
    expect(await statusOfLedger(token)).toBe(200)
    await send('DELETE', `/v1/identityproviders/${registered.id}`)
    expect(await statusOfLedger(token)).toBe(401)
    await expect(enter('ledger-v1', 'ada')).rejects.toThrow('the page has no button')
  })
})

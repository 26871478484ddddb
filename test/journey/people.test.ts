/** People with real gateway threads: invitation, sign-in, roles, and the end of their access when a command is answered. */

import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { appCode } from '../fixtures/authenticator-app.ts'
import { statusesAfter } from './calls-after.ts'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { createPublicClient, getCode, logIn, redeem, setPassword } from './person.ts'
import { createService, publish, type Service } from './service.ts'

const PASSWORD = 'nanoseconds are eleven inches'
const OTHER_PASSWORD = 'light travels far in a second'

let service: Service
let backend: LedgerBackend
let ledgerClient: string
let platformClient: string
let firstOutput: string

beforeAll(async () => {
  backend = await startLedgerBackend()
  service = await createService({ args: ['--empty'], env: { GATEWAY_THREADS: '3' } })
  await service.start()
  firstOutput = service.output()
  await publish(service, 'ledger-v1', ledgerDocument(), backend.url)
  ledgerClient = await createPublicClient(service, 'ledger-v1')
  const { scopes } = await service.platform.get<{ scopes: string[] }>('/v1/roles/owner')
  platformClient = await createPublicClient(service, 'platform-v1', scopes)
})

afterAll(async () => {
  await service.remove()
  await backend.close()
})

interface Invited {
  readonly id: string
  readonly invitation: { readonly url: string }
}

let people = 0

/** Invites a person, who sets a password by the link. */
async function invite(...roles: readonly string[]) {
  const username = `person-${++people}`
  const body = { username, name: 'Grace', roles: roles.map((role) => ({ role })) }
  const { id, invitation } = await service.platform.post<Invited>('/v1/users', body)
  expect(await setPassword(invitation.url, PASSWORD)).toBe(200)
  const login = { username, password: PASSWORD }
  return {
    id,
    invitation,
    ledger: { ...login, api: 'ledger-v1', clientId: ledgerClient },
    platform: { ...login, api: 'platform-v1', clientId: platformClient },
  }
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

async function statusOf(url: string, token: string, method: 'GET' | 'POST' = 'GET', body?: object): Promise<number> {
  const headers = { ...bearer(token), ...(body && { 'content-type': 'application/json' }) }
  const answer = await request(url, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  await answer.body.dump()
  return answer.statusCode
}

const callLedger = (token: string) => statusOf(`${service.gatewayUrl}/ledger-v1/entries?n=1`, token)
const callPlatform = (path: string, token: string) => statusOf(service.baseUrl + path, token)

describe('a person', () => {
  it('sets a password by a link that works once, and has the scopes of the roles at the platform', async () => {
    const { invitation, ledger, platform } = await invite('auditor')
    expect(await setPassword(invitation.url, OTHER_PASSWORD)).toBe(400)
    expect(await logIn(service, { ...ledger, password: OTHER_PASSWORD })).toMatchObject({ status: 401 })
    expect(await callLedger((await logIn(service, ledger)).token)).toBe(200)

    const { token, scope } = await logIn(service, platform)
    expect(scope.split(' ').filter((each) => !each.endsWith(':read'))).toEqual(['me:write'])
    expect(await callPlatform('/v1/users', token)).toBe(200)
    expect(await statusOf(`${service.baseUrl}/v1/users`, token, 'POST', { username: 'x', name: 'X' })).toBe(403)
  })

  it('without a role has all scopes of an API and only the own account at the platform', async () => {
    const { ledger, platform } = await invite()
    expect(await callLedger((await logIn(service, ledger)).token)).toBe(200)
    expect((await logIn(service, platform)).scope.split(' ').toSorted()).toEqual(['me:read', 'me:write'])
  })
})

describe('the first owner', () => {
  it('sets a password by the link that the first start printed, and has every scope of the tenant', async () => {
    const [url = ''] = /http\S+\/oauth2\/v2\/password\?link=\S+/.exec(firstOutput) ?? []
    expect(await setPassword(url, PASSWORD)).toBe(200)
    const owner = { username: 'owner', password: PASSWORD, api: 'platform-v1', clientId: platformClient }
    const { scopes } = await service.platform.get<{ scopes: string[] }>('/v1/roles/owner')
    // The role is not bound to a consumer, so scopes with the own width cover nothing.
    const ofTenant = scopes.filter((scope) => !scope.endsWith(':own'))
    expect((await logIn(service, owner)).scope.split(' ').toSorted()).toEqual(ofTenant)
  })
})

describe('a sign-in with a second factor', () => {
  it('needs a code of the app, each of which works once, or a recovery code', async () => {
    const { ledger, platform } = await invite()
    const { token } = await logIn(service, platform)
    const post = async (body: object) => {
      const headers = { ...bearer(token), 'content-type': 'application/json' }
      const answer = await request(`${service.baseUrl}/v1/me/totp`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      })
      return (await answer.body.json()) as { secret: string; recoveryCodes: string[] }
    }
    const { secret } = await post({})
    const { recoveryCodes } = await post({ code: appCode(secret, Date.now()) })
    const withCode = (code: string) =>
      logIn(service, { ...ledger, second: (browser, page) => browser.submit(page, { code }) })
    expect(await withCode(recoveryCodes[0] ?? '')).toMatchObject({ status: 200 })
    expect(await withCode(recoveryCodes[0] ?? '')).toMatchObject({ status: 401 })
    // The step after the present one is accepted as well, and used for the first time.
    const next = appCode(secret, Date.now() + 30_000)
    expect(await withCode(next)).toMatchObject({ status: 200 })
    expect(await withCode(next)).toMatchObject({ status: 401 })
  })
})

describe('no call of a person is served after the answer', () => {
  it.each([
    ['disable', (id: string) => service.platform.post(`/v1/users/${id}/disable`)],
    ['remove', (id: string) => service.platform.delete(`/v1/users/${id}`)],
    ['resetPassword', (id: string) => service.platform.post(`/v1/users/${id}/resetPassword`)],
  ])('to %s', async (_, change) => {
    const { id, ledger, platform } = await invite('auditor')
    const other = (await logIn(service, (await invite()).ledger)).token
    const [onLedger, onPlatform] = [await logIn(service, ledger), await logIn(service, platform)]
    const pending = await getCode(service, ledger)
    const stream = await request(`${service.baseUrl}/v1/events/subscribe`, { headers: bearer(onPlatform.token) })
    expect(stream.statusCode).toBe(200)
    const ended = stream.body.text()

    expect(
      await statusesAfter(
        () => callLedger(onLedger.token),
        () => change(id),
      ),
    ).toEqual([401])
    expect(await callPlatform('/v1/apis', onPlatform.token)).toBe(401)
    expect(await ended).toMatch(/^retry: /)
    expect(await redeem(service, ledger, pending)).toMatchObject({ status: 400 })
    expect((await logIn(service, ledger)).status).toBe(401)
    expect(await callLedger(other)).toBe(200)
  })

  it('to a change of roles, also by a change of the role itself, nor after a kill', async () => {
    const scopes = ['apis:read', 'users:read']
    await service.platform.post('/v1/roles', { name: 'readers', scopes })
    const { id, platform } = await invite('readers')
    const before = await logIn(service, platform)
    expect(await callPlatform('/v1/users', before.token)).toBe(200)
    await service.platform.put('/v1/roles/readers', { scopes: ['apis:read'] })
    expect(await callPlatform('/v1/users', before.token)).toBe(401)
    const after = await logIn(service, platform)
    expect(after.scope.split(' ').toSorted()).toEqual(['apis:read', 'me:read', 'me:write'])

    const headers = { ...bearer(await service.platform.token()), 'content-type': 'application/json' }
    const body = JSON.stringify({ roles: [] })
    const patch = await request(`${service.baseUrl}/v1/users/${id}`, { method: 'PATCH', headers, body })
    await patch.body.dump()
    expect(patch.statusCode).toBe(200)
    expect(await callPlatform('/v1/apis', after.token)).toBe(401)
    await service.kill()
    await service.start()
    expect(await callPlatform('/v1/apis', after.token)).toBe(401)
    expect((await logIn(service, platform)).scope.split(' ').toSorted()).toEqual(['me:read', 'me:write'])
  })
})

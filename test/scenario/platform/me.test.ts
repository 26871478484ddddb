/** `/v1/me` through the platform API: for people alone, with the old password, throttled. */

import { describe, expect, it } from 'vitest'
import { platformScopes } from '../../../src/interfaces/platform/operations.ts'
import { appCode } from '../../fixtures/authenticator-app.ts'
import { NOW_MS, openTestPlatform, type TestPlatform } from '../../fixtures/test-platform.ts'

const PASSWORD = 'a long password'
const OTHER_PASSWORD = 'another long password'

async function openAccount() {
  const platform = await openTestPlatform()
  const body = { username: 'grace', password: PASSWORD, name: 'Grace' }
  const made = await platform.send('POST', '/v1/users', { token: platform.token('acme'), body })
  const id = String(made.body['id'])
  const token = tokenOf(platform, id)
  const send = (method: string, path: string, sent?: object, with_ = token) =>
    platform.send(method, path, { token: with_, ...(sent && { body: sent }) })
  return { platform, id, token, send }
}

function tokenOf(platform: TestPlatform, person: string, tenant = 'acme'): string {
  return platform.token(tenant, ['me:read', 'me:write'], NOW_MS + 3_600_000, { person: person })
}

describe('the own account', () => {
  it('is read and renamed', async () => {
    const { id, send } = await openAccount()
    expect((await send('GET', '/v1/me')).body).toMatchObject({ id, username: 'grace', secondFactor: 'none' })
    expect((await send('PATCH', '/v1/me', { name: 'Hopper' })).body).toMatchObject({ id, name: 'Hopper' })
    for (const body of [{ username: 'x' }, { roles: [] }, { state: 'Active' }, { name: '' }]) {
      expect((await send('PATCH', '/v1/me', body)).status).toBe(400)
    }
  })

  it('says whether the tenant is that of the operator, as GET /v1/health decides', async () => {
    const platform = await openTestPlatform()
    const body = { username: 'ada', password: PASSWORD, name: 'Ada' }
    for (const [tenant, isOperator] of [
      ['acme', true],
      ['rival', false],
    ] as const) {
      const { body: made } = await platform.send('POST', '/v1/users', { token: platform.token(tenant), body })
      const person = { person: String(made['id']) }
      const token = platform.token(tenant, ['me:read', 'health:read'], NOW_MS + 3_600_000, person)
      expect((await platform.send('GET', '/v1/me', { token })).body).toMatchObject({ isOperator })
      expect((await platform.send('GET', '/v1/health', { token })).status).toBe(isOperator ? 200 : 403)
    }
  })

  it('is refused to machines, to federated tokens, and to people of other tenants or without an account', async () => {
    const { platform, id, send } = await openAccount()
    const federated = tokenOf(platform, id)
    const caller = platform.callers.get(federated)
    if (caller === undefined || 'code' in caller) throw new Error('the token is not known')
    platform.callers.set(federated, { ...caller, grant: { ...caller.grant, type: 'Federated' } })
    for (const [method, path, body] of [
      ['GET', '/v1/me'],
      ['PATCH', '/v1/me', { name: 'X' }],
      ['PUT', '/v1/me/password', { oldPassword: PASSWORD, newPassword: OTHER_PASSWORD }],
      ['POST', '/v1/me/totp'],
    ] as const) {
      const statuses = [platform.token('acme', platformScopes()), federated, tokenOf(platform, id, 'rival')]
      const answers = await Promise.all(statuses.map((token) => send(method, path, body, token)))
      expect(
        answers.map(({ status }) => status),
        path,
      ).toEqual([403, 403, 404])
    }
  })
})

describe('a change of the own password', () => {
  it('needs the old one, and ends earlier access', async () => {
    const { platform, id, send } = await openAccount()
    const change = { oldPassword: 'wrong', newPassword: OTHER_PASSWORD }
    expect(await send('PUT', '/v1/me/password', change)).toMatchObject({
      status: 400,
      body: { errors: [{ pointer: '/oldPassword' }] },
    })
    expect(platform.people.revocations.live()).toEqual([])
    expect((await send('PUT', '/v1/me/password', { ...change, oldPassword: PASSWORD })).status).toBe(204)
    expect(platform.people.revocations.live().map(({ person }) => person)).toEqual([id])
    expect(await platform.people.signIn.verify('acme', 'grace', PASSWORD)).toBeNull()
    expect(await platform.people.signIn.verify('acme', 'grace', OTHER_PASSWORD)).toMatchObject({ id })
  })

  it('is throttled after ten wrong passwords, also for the right one, until the window ends', async () => {
    const { platform, send } = await openAccount()
    const wrong = { oldPassword: 'wrong', newPassword: OTHER_PASSWORD }
    const statuses = await Promise.all(Array.from({ length: 12 }, () => send('PUT', '/v1/me/password', wrong)))
    expect(statuses.map(({ status }) => status).toSorted()).toEqual([...Array(10).fill(400), 429, 429])
    const right = { ...wrong, oldPassword: PASSWORD }
    const refused = await send('PUT', '/v1/me/password', right)
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '900'])
    await platform.clock.advance(15 * 60_000)
    expect((await send('PUT', '/v1/me/password', right)).status).toBe(204)
  })
})

describe('the second factor of the own account', () => {
  it('is set up with a code and removed with another; a reset can remove it', async () => {
    const { platform, id, send, token } = await openAccount()
    const begun = await send('POST', '/v1/me/totp')
    const { secret, uri } = begun.body as { secret: string; uri: string }
    expect(begun.headers['cache-control']).toBe('no-store')
    expect(uri).toContain(secret)
    const code = appCode(secret, platform.clock.nowMs())
    expect((await send('POST', '/v1/me/totp', { code: code === '000000' ? '000001' : '000000' })).status).toBe(400)
    const confirmed = await send('POST', '/v1/me/totp', { code })
    expect(confirmed.body['recoveryCodes']).toHaveLength(10)
    expect((await send('GET', '/v1/me')).body).toMatchObject({ secondFactor: 'totp' })
    expect((await send('POST', '/v1/me/totp')).status).toBe(409)
    const audit = await platform.send('GET', '/v1/audit?kind=user', { token: platform.token('acme') })
    for (const text of [secret, ...(confirmed.body['recoveryCodes'] as string[])]) {
      expect(audit.text).not.toContain(text)
    }
    const [recovery = ''] = confirmed.body['recoveryCodes'] as string[]
    const remove = (headers?: Record<string, string>) =>
      platform.send('DELETE', '/v1/me/totp', { token, ...(headers && { headers }) })
    expect((await remove()).status).toBe(400)
    expect((await remove({ 'x-second-factor': code })).status).toBe(400)
    expect((await remove({ 'x-second-factor': recovery })).status).toBe(204)
    expect((await send('GET', '/v1/me')).body).toMatchObject({ secondFactor: 'none' })

    const again = await send('POST', '/v1/me/totp')
    const next = appCode(String(again.body['secret']), platform.clock.nowMs())
    expect((await send('POST', '/v1/me/totp', { code: next })).status).toBe(200)
    const reset = (body?: object) => send('POST', `/v1/users/${id}/resetPassword`, body, platform.token('acme'))
    expect((await reset()).status).toBe(200)
    expect((await send('GET', '/v1/me')).body).toMatchObject({ secondFactor: 'totp' })
    expect((await reset({ removeSecondFactor: true })).status).toBe(200)
    expect((await send('GET', '/v1/me')).body).toMatchObject({ secondFactor: 'none' })
  })

  it('is throttled after ten wrong codes until `Retry-After`, also for the same idempotency key', async () => {
    const { platform, token, send } = await openAccount()
    await send('POST', '/v1/me/totp')
    const headers = { 'x-second-factor': '000000' }
    for (let attempt = 0; attempt < 10; attempt++)
      expect((await platform.send('DELETE', '/v1/me/totp', { token, headers })).status).toBe(400)
    const removal = await platform.send('DELETE', '/v1/me/totp', { token, headers })
    expect([removal.status, removal.headers['retry-after']]).toEqual([429, '900'])

    const confirm = () =>
      platform.send('POST', '/v1/me/totp', { token, body: { code: '000000' }, headers: { 'idempotency-key': 'k' } })
    const refused = await confirm()
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '900'])
    await platform.clock.advance(900_000)
    expect((await confirm()).status).not.toBe(429)
  })

  it('is not disclosed to another person who uses the same idempotency key and client', async () => {
    const { platform, token } = await openAccount()
    const body = { username: 'ada', password: PASSWORD, name: 'Ada' }
    const made = await platform.send('POST', '/v1/users', { token: platform.token('acme'), body })
    const other = tokenOf(platform, String(made.body['id']))
    const headers = { 'idempotency-key': 'k' }
    const [first, second] = await Promise.all(
      [token, other].map((each) => platform.send('POST', '/v1/me/totp', { token: each, headers })),
    )
    expect([first?.status, second?.status]).toEqual([200, 200])
    expect(first?.body['secret']).not.toBe(second?.body['secret'])
  })
})

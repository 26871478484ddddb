/** Users and roles through the platform API: life cycle, rights of the caller, isolation, hostile input. */

import { describe, expect, it } from 'vitest'
import { platformScopes } from '../../../src/interfaces/platform/operations.ts'
import { GATEWAY_URL, NOW_MS, openTestPlatform, type TestPlatform } from '../../fixtures/test-platform.ts'

const PASSWORD = 'a long password'
const GRACE = { username: 'grace', name: 'Grace' }
const FORBIDDEN = { status: 403, body: { code: 'operation_forbidden' } }

async function createUser(platform: TestPlatform, body: object = GRACE, token = platform.token('acme')) {
  const made = await platform.send('POST', '/v1/users', { token, body })
  expect(made.status, made.text).toBe(201)
  return { path: `/v1/users/${String(made.body['id'])}`, id: String(made.body['id']), ...made }
}

describe('a user of the platform API', () => {
  it('is invited by a link, and read back without it', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const { path, body, headers } = await createUser(platform)
    expect(body).toMatchObject({ ...GRACE, state: 'Pending', roles: [] })
    const { url, expiresAt } = body['invitation'] as { url: string; expiresAt: string }
    expect(url).toMatch(new RegExp(`^${GATEWAY_URL}/oauth2/v2/password\\?link=usr_\\w{26}\\.[\\w-]{43}$`))
    expect(expiresAt).toBe(new Date(NOW_MS + 72 * 3_600_000).toISOString())
    expect(headers['cache-control']).toBe('no-store')

    const read = await platform.send('GET', path, { token })
    expect(read.body).not.toHaveProperty('invitation')
    const audit = await platform.send('GET', '/v1/audit?kind=user', { token })
    for (const text of [read.text, audit.text]) expect(text).not.toContain(url.split('.').at(-1))
    const again = await platform.send('POST', `${path}/invite`, { token })
    expect((again.body['invitation'] as { url: string }).url).not.toBe(url)
  })

  it('is changed, disabled, enabled, reset and removed, each with an audit entry', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const { path } = await createUser(platform, { ...GRACE, password: PASSWORD })
    const send = async (method: string, to: string, body?: object) => {
      const answer = await platform.send(method, to, { token, ...(body && { body }) })
      return [answer.status, answer.body['state']]
    }
    expect(await send('PATCH', path, { name: 'Hopper', roles: [{ role: 'auditor' }] })).toEqual([200, 'Active'])
    expect(await send('POST', `${path}/disable`)).toEqual([200, 'Disabled'])
    expect(await send('POST', `${path}/enable`)).toEqual([200, 'Active'])
    expect(await send('POST', `${path}/resetPassword`)).toEqual([200, 'Pending'])
    expect(await send('DELETE', path)).toEqual([204, undefined])
    expect(await send('GET', path)).toEqual([404, undefined])
    expect(await send('DELETE', path)).toEqual([404, undefined])

    const { body } = await platform.send('GET', '/v1/audit?kind=user', { token })
    const entries = body['items'] as { action: string; actor: unknown; after: unknown }[]
    expect(entries.map(({ action }) => action).reverse()).toEqual([
      ...[
        'user.create',
        'user.update',
        'user.disable',
        'user.enable',
        'user.resetPassword',
        'user.remove',
        'user.remove',
      ],
    ])
    expect(JSON.stringify(entries)).not.toMatch(/scrypt|secretHash/)
  })

  it.each([
    [{ ...GRACE, roles: [{ role: 'none' }] }, '/roles/0/role'],
    [{ ...GRACE, roles: [{ role: '__proto__' }] }, '/roles/0/role'],
    [{ ...GRACE, roles: [{ role: 'auditor' }, { role: 'auditor' }] }, '/roles/1/role'],
    [{ ...GRACE, roles: Array.from({ length: 21 }, () => ({ role: 'auditor' })) }, '/roles'],
    [{ ...GRACE, roles: [{ role: 'consumer' }] }, '/roles/0/consumers'],
    [{ ...GRACE, roles: [{ role: 'consumer', consumers: ['con_none'] }] }, '/roles/0/consumers/0'],
    [{ ...GRACE, roles: [{ role: 'auditor', scopes: ['apis:read'] }] }, '/roles/0/scopes'],
    [{ ...GRACE, password: null }, '/password'],
    [{ ...GRACE, password: 'short' }, '/password'],
    [{ ...GRACE, passwordHash: 'x' }, '/passwordHash'],
    [{ ...GRACE, disabled: false }, '/disabled'],
  ])('%j is refused with a pointer', async (body, pointer) => {
    const platform = await openTestPlatform()
    const answer = await platform.send('POST', '/v1/users', { token: platform.token('acme'), body })
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ pointer }] } })
  })
})

describe('a caller that holds only some rights', () => {
  const CLERK = ['users:read', 'users:write', 'apis:read']

  it('manages people without roles, and assigns only roles whose scopes it holds', async () => {
    const platform = await openTestPlatform()
    const admin = platform.token('acme')
    const clerk = platform.token('acme', CLERK)
    for (const [name, scopes] of [
      ['reader', ['apis:read']],
      ['writer', ['apis:read', 'apis:write']],
    ]) {
      const role = await platform.send('POST', '/v1/roles', { token: admin, body: { name, scopes } })
      expect(role.status).toBe(201)
    }
    const { path } = await createUser(platform, { ...GRACE, roles: [{ role: 'reader' }] }, clerk)
    for (const role of ['writer', 'owner', 'admin', 'auditor']) {
      const roles = [{ role }]
      const patch = await platform.send('PATCH', path, { token: clerk, body: { roles } })
      expect(patch, role).toMatchObject(FORBIDDEN)
      const create = await platform.send('POST', '/v1/users', {
        token: clerk,
        body: { ...GRACE, username: role, roles },
      })
      expect(create).toMatchObject(FORBIDDEN)
    }
    expect((await platform.send('GET', '/v1/users', { token: admin })).body['items']).toHaveLength(1)
  })

  it('cannot change, remove, invite or reset a person who has more rights', async () => {
    const platform = await openTestPlatform()
    const admin = platform.token('acme')
    const adminRole = await platform.send('GET', '/v1/roles/admin', { token: admin })
    const { path } = await createUser(platform, { ...GRACE, password: PASSWORD, roles: [{ role: 'owner' }] })
    const before = (await platform.send('GET', path, { token: admin })).text
    for (const scopes of [CLERK, adminRole.body['scopes'] as string[]]) {
      const token = platform.token('acme', scopes)
      for (const [method, to, body] of [
        ['PATCH', path, { roles: [] }],
        ['PATCH', path, { username: 'mine' }],
        ['DELETE', path],
        ['POST', `${path}/disable`],
        ['POST', `${path}/enable`],
        ['POST', `${path}/resetPassword`],
        ['POST', `${path}/invite`],
      ] as const) {
        expect(await platform.send(method, to, { token, ...(body && { body }) }), to).toMatchObject(FORBIDDEN)
      }
    }
    expect((await platform.send('GET', path, { token: admin })).text).toBe(before)
  })
})

describe('a role', () => {
  it('is defined, replaced and removed, unless it is built in or held', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const body = { name: 'readers', description: 'Reads.', scopes: ['apis:read'] }
    expect((await platform.send('POST', '/v1/roles', { token, body })).body).toEqual({
      ...body,
      builtIn: false,
      labels: {},
    })
    expect(await platform.send('POST', '/v1/roles', { token, body })).toMatchObject({ status: 409 })
    const { path } = await createUser(platform, { ...GRACE, roles: [{ role: 'readers' }] })
    const scopes = ['apis:read', 'usage:read']
    const replaced = await platform.send('PUT', '/v1/roles/readers', { token, body: { scopes } })
    expect(replaced).toMatchObject({ status: 200, body: { scopes } })
    expect((await platform.send('DELETE', '/v1/roles/readers', { token })).status).toBe(409)
    await platform.send('PATCH', path, { token, body: { roles: [] } })
    expect((await platform.send('DELETE', '/v1/roles/readers', { token })).status).toBe(204)
    expect((await platform.send('GET', '/v1/roles/readers', { token })).status).toBe(404)

    for (const name of ['owner', 'consumer']) {
      expect((await platform.send('POST', '/v1/roles', { token, body: { ...body, name } })).status).toBe(409)
      expect((await platform.send('PUT', `/v1/roles/${name}`, { token, body: { scopes } })).status).toBe(409)
      expect((await platform.send('DELETE', `/v1/roles/${name}`, { token })).status).toBe(409)
    }
  })

  it.each([
    [{ name: 'a', scopes: ['none:read'] }, '/scopes/0'],
    [{ name: '__proto__', scopes: [] }, '/name'],
    [{ name: 'a/b', scopes: [] }, '/name'],
    [{ name: 'x'.repeat(65), scopes: [] }, '/name'],
    [{ name: 'a', scopes: [], builtIn: true }, '/builtIn'],
  ])('%j is refused with a pointer', async (body, pointer) => {
    const platform = await openTestPlatform()
    const answer = await platform.send('POST', '/v1/roles', { token: platform.token('acme'), body })
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ pointer }] } })
  })

  it('of one tenant has no effect in another, and only the operator has `platform:admin`', async () => {
    const platform = await openTestPlatform()
    const rival = platform.token('rival')
    const body = { name: 'readers', scopes: ['apis:read'] }
    await platform.send('POST', '/v1/roles', { token: platform.token('acme'), body })
    const user = { ...GRACE, roles: [{ role: 'readers' }] }
    expect((await platform.send('POST', '/v1/users', { token: rival, body: user })).status).toBe(400)
    const { body: owner } = await platform.send('GET', '/v1/roles/owner', { token: rival })
    expect(owner['scopes']).toEqual(platformScopes().filter((scope) => scope !== 'platform:admin'))
  })
})

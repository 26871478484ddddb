import { describe, expect, it } from 'vitest'
import type { Author } from '../../../../../src/storage/store/registry.ts'
import { ADA, openFederatedLogin, signIn, type FederatedLogin } from '../../../../fixtures/federated-login.ts'
import { ACME } from '../../../../fixtures/test-catalogue.ts'
import { PASSWORD } from '../../../../fixtures/test-people.ts'
import { GRANT } from '../../../../fixtures/token-authority.ts'

const NO_ACCESS = { status: 403, signal: { outcome: 'credential_invalid', grant: null } }

async function only({ users }: FederatedLogin) {
  const { items } = await users.list('acme', { limit: 10 })
  expect(items).toHaveLength(1)
  return items[0]!
}

describe('a person whom a provider signs in', () => {
  it('is created only if the provider may create people', async () => {
    const server = await openFederatedLogin({ createPeople: false })
    expect(await signIn(server)).toMatchObject(NO_ACCESS)
    expect((await server.users.list('acme', { limit: 10 })).items).toEqual([])
    await server.identityProviders.update(ACME, server.registered.id, { signIn: { createPeople: true } })
    expect(await signIn(server)).toMatchObject({ status: 200 })
    await server.identityProviders.update(ACME, server.registered.id, { signIn: { createPeople: false } })
    expect(await signIn(server)).toMatchObject({ status: 200 })
  })

  it('can be created before the first sign-in, without a password and without roles', async () => {
    const server = await openFederatedLogin({ createPeople: false })
    const { users, registered } = server
    const identity = { provider: registered.id, subject: ADA.sub }
    const input = { username: 'countess', name: 'Ada', identity }
    const made = await users.create(ACME, input)
    expect(made).toMatchObject({ state: 'Active', roles: [], identityProvider: registered.id })
    expect(made).not.toHaveProperty('invitation')
    expect(await signIn(server)).toMatchObject({ status: 200 })
    expect(await only(server)).toMatchObject({ id: made.id, username: 'countess', roles: [{ role: 'auditor' }] })
    await expect(users.create(ACME, { ...input, username: 'x' })).rejects.toMatchObject({ code: 'name_taken' })
    for (const [more, pointer] of [
      [{ password: PASSWORD }, '/password'],
      [{ roles: [] }, '/roles'],
      [{ identity: { ...identity, provider: 'idp_none' } }, '/identity/provider'],
    ] as const) {
      await expect(users.create(ACME, { ...input, ...more })).rejects.toMatchObject({ errors: [{ pointer }] })
    }
    const held = new Set(['users:write'])
    const other = { ...input, username: 'x', identity: { ...identity, subject: 'bob' } }
    await expect(users.create(ACME, other, held)).rejects.toMatchObject({ code: 'operation_forbidden' })
  })

  it('never becomes a user who has the same name or address, and gets another user name', async () => {
    const server = await openFederatedLogin()
    const ada = await server.users.create(ACME, { username: 'ada', name: 'Ada', password: PASSWORD })
    await signIn(server)
    const { items } = await server.users.list('acme', { limit: 10 })
    expect(items.map(({ identityProvider }) => identityProvider)).toEqual([null, server.registered.id])
    expect(items[1]?.username).toMatch(/^ada \([0-9a-z]{6}\)$/)
    expect(await server.signIn.verify('acme', 'ada', PASSWORD)).toMatchObject({ id: ada.id })
  })

  it.each<[string, object, string, string]>([
    [
      'without a user name',
      { preferred_username: undefined, email: 'ada@acme.example' },
      'ada@acme.example',
      'Ada Lovelace',
    ],
    ['with a subject alone', { preferred_username: undefined, name: undefined }, 'ada-1', 'ada-1'],
    ['with names of other types', { preferred_username: ['x'], name: 7, email: {} }, 'ada-1', 'ada-1'],
    ['with control characters', { preferred_username: ' a\u0000d\na ', name: '\ud800A' }, 'ada', '\ufffdA'],
    ['with blank names', { preferred_username: ' \n ', name: '' }, 'ada-1', 'ada-1'],
    [
      'with long names',
      { preferred_username: 'é'.repeat(999), name: '😀'.repeat(999) },
      'é'.repeat(100),
      '😀'.repeat(100),
    ],
  ])('%s gets a name that a user may have', async (_, claims, username, name) => {
    const server = await openFederatedLogin()
    server.provider.claims = { ...ADA, ...claims }
    expect((await signIn(server)).status).toBe(200)
    expect(await only(server)).toMatchObject({ username, name })
  })

  it('has the roles of the claims of the last sign-in, and a change ends the earlier access', async () => {
    const roles = ['auditor', 'billing'].map((role) => ({ claim: 'groups', value: role, role }))
    const server = await openFederatedLogin({ roles })
    const withGroups = async (...groups: string[]) => {
      server.provider.claims = { ...ADA, groups }
      const { status } = await signIn(server)
      return [status, (await only(server)).roles.map(({ role }) => role), server.gateway.revokedPeople.length]
    }
    expect(await withGroups('auditor')).toEqual([200, ['auditor'], 0])
    expect(await withGroups('auditor', 'other')).toEqual([200, ['auditor'], 0])
    expect(await withGroups('billing', 'auditor')).toEqual([200, ['auditor', 'billing'], 1])
    expect(await withGroups('billing')).toEqual([200, ['billing'], 2])
  })

  it('without a role is refused, and has no access when the answer comes', async () => {
    const server = await openFederatedLogin()
    await signIn(server)
    const { id } = await only(server)
    const before = await server.signIn.find('acme', id)
    expect(
      await server.grantPerson({ client: GRANT, tenant: 'acme', api: 'platform-v1', person: before! }),
    ).not.toBeNull()
    server.provider.claims = { ...ADA, groups: [] }
    expect(await signIn(server)).toMatchObject(NO_ACCESS)
    expect(server.gateway.revokedPeople.map(({ person }) => person)).toEqual([id])
    expect(await server.grantPerson({ client: GRANT, tenant: 'acme', api: 'platform-v1', person: before! })).toBeNull()
    expect(await only(server)).toMatchObject({ roles: [] })
    server.provider.claims = ADA
    expect(await signIn(server)).toMatchObject({ status: 200 })
  })

  it('without a role is not created', async () => {
    const server = await openFederatedLogin()
    server.provider.claims = { ...ADA, groups: ['staff'] }
    expect(await signIn(server)).toMatchObject(NO_ACCESS)
    expect((await server.users.list('acme', { limit: 10 })).items).toEqual([])
  })

  it('is refused while disabled, and does not come back after a removal with earlier rights', async () => {
    const server = await openFederatedLogin()
    await signIn(server)
    const { id } = await only(server)
    await server.users.disable(ACME, id)
    expect(await signIn(server)).toMatchObject(NO_ACCESS)
    await server.users.enable(ACME, id)
    expect(await signIn(server)).toMatchObject({ status: 200 })
    await server.users.remove(ACME, id)
    expect(await signIn(server)).toMatchObject({ status: 200 })
    expect((await only(server)).id).not.toBe(id)
  })

  it('is created once by sign-ins at the same time', async () => {
    const server = await openFederatedLogin()
    const pages = await Promise.all(Array.from({ length: 5 }, () => signIn(server)))
    expect(pages.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    await only(server)
  })

  it('has no password, no link, no second factor, and no roles that a user gives', async () => {
    const server = await openFederatedLogin()
    await signIn(server)
    const { id, username } = await only(server)
    const author: Author & { person: string } = { ...ACME, person: id }
    const conflict = { status: 409, code: 'state_conflict' }
    const { users, accounts } = server
    await expect(users.resetPassword(ACME, id)).rejects.toMatchObject(conflict)
    await expect(users.invite(ACME, id)).rejects.toMatchObject(conflict)
    await expect(users.update(ACME, id, { roles: [{ role: 'owner' }] })).rejects.toMatchObject(conflict)
    await expect(accounts.changePassword(author, PASSWORD, PASSWORD)).rejects.toMatchObject(conflict)
    await expect(accounts.beginTotp(author)).rejects.toMatchObject(conflict)
    expect(await server.signIn.verify('acme', username, '')).toBeNull()
    expect(await users.update(ACME, id, { name: 'Countess' })).toMatchObject({ name: 'Countess' })
  })

  it('is no owner on whom the tenant can rely', async () => {
    const server = await openFederatedLogin({ roles: [{ claim: 'groups', value: 'auditors', role: 'owner' }] })
    const input = { username: 'root', name: 'Root', password: PASSWORD, roles: [{ role: 'owner' }] }
    const { id } = await server.users.create(ACME, input)
    await signIn(server)
    await expect(server.users.disable(ACME, id)).rejects.toMatchObject({ code: 'state_conflict' })
    server.provider.claims = { ...ADA, groups: [] }
    expect(await signIn(server)).toMatchObject(NO_ACCESS)
  })
})

import { describe, expect, it } from 'vitest'
import { ACME, openTestCatalogue } from '../../../../fixtures/test-catalogue.ts'
import { openTestPeople } from '../../../../fixtures/test-people.ts'

const OWN = new Set(['usage:read:own'])
const WIDE = new Set(['usage:read'])

async function openConsumers() {
  const catalogue = openTestCatalogue()
  const people = await openTestPeople(catalogue)
  const create = (name: string) => catalogue.consumers.create(ACME, { name, kind: 'application' })
  const [one, two] = [(await create('One')).id, (await create('Two')).id]
  const roleFor = (...consumers: string[]) => [{ role: 'consumer', consumers }]
  const { id: clerk } = await people.users.create(ACME, { username: 'clerk', name: 'Clerk', roles: roleFor(one) })
  const { id: user } = await people.users.create(ACME, { username: 'user', name: 'User' })
  return { ...people, one, two, clerk, user, roleFor }
}

describe('a caller that holds a scope for its own consumers', () => {
  it('grants it for these consumers and no others', async () => {
    const { users, one, two, clerk, user, roleFor } = await openConsumers()
    const author = { ...ACME, person: clerk }
    const grant = (...consumers: string[]) => users.update(author, user, { roles: roleFor(...consumers) }, OWN)
    for (const consumers of [[two], [one, two]]) {
      await expect(grant(...consumers)).rejects.toMatchObject({ code: 'operation_forbidden' })
    }
    expect(await grant(one)).toMatchObject({ roles: roleFor(one) })
  })

  it('manages no person of another consumer, and defines no role with the scope', async () => {
    const { users, roles, two, clerk, user, roleFor } = await openConsumers()
    await users.update(ACME, user, { roles: roleFor(two) })
    const author = { ...ACME, person: clerk }
    const forbidden = { code: 'operation_forbidden' }
    await expect(users.resetPassword(author, user, OWN)).rejects.toMatchObject(forbidden)
    const role = { name: 'a', scopes: ['usage:read:own'] }
    await expect(roles.create(author, role, OWN)).rejects.toMatchObject(forbidden)
    expect(await users.resetPassword(author, user, WIDE)).toMatchObject({ id: user })
  })

  it('is its own consumer if it is no person', async () => {
    const { users, one, user, roleFor } = await openConsumers()
    const update = (consumer: string) => users.update({ tenant: 'acme', consumer }, user, { roles: roleFor(one) }, OWN)
    await expect(update('con_other')).rejects.toMatchObject({ code: 'operation_forbidden' })
    expect(await update(one)).toMatchObject({ roles: roleFor(one) })
  })
})

describe('the rights of a person', () => {
  it('cover only the consumers of the assignment that a scope comes from', async () => {
    const { entitlements, roles, users, one, two, user } = await openConsumers()
    await roles.create(ACME, { name: 'reader', scopes: ['apis:read', 'usage:read:own'] })
    const assigned = [
      { role: 'consumer', consumers: [one] },
      { role: 'reader', consumers: [two] },
    ]
    await users.update(ACME, user, { roles: assigned })
    const both = await entitlements.ofUser('acme', user)
    expect([...(both?.consumers.get('usage:read:own') ?? [])]).toEqual([one, two])
    await users.update(ACME, user, { roles: [{ role: 'reader' }] })
    const none = await entitlements.ofUser('acme', user)
    expect([...(none?.scopes ?? [])]).toEqual(['apis:read', 'me:read', 'me:write'])
    expect(await entitlements.ofUser('rival', user)).toBeNull()
  })
})

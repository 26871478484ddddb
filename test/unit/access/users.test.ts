import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createUsers, type Users } from '../../../src/access/users.ts'
import { createPasswordHasher } from '../../../src/runtime/password-hash.ts'
import { ACME, openTestCatalogue, RIVAL, type TestCatalogue } from '../../fixtures/test-catalogue.ts'

const PASSWORD = 'nanoseconds are eleven inches'

function usersOf({ registry, createId }: TestCatalogue): Users {
  return createUsers({ registry, createId, passwords: createPasswordHasher({ randomBytes }) })
}

describe('a user', () => {
  it('logs in only with the right password and in the right tenant', async () => {
    const users = usersOf(openTestCatalogue())
    const { id } = await users.create(ACME, { username: 'grace', password: PASSWORD, name: 'Grace Hopper' })

    expect(await users.verify('acme', 'grace', PASSWORD)).toEqual({ id, username: 'grace', name: 'Grace Hopper' })
    expect(await users.verify('acme', 'grace', `${PASSWORD} `)).toBeNull()
    expect(await users.verify('acme', 'Grace', PASSWORD)).toBeNull()
    expect(await users.verify('rival', 'grace', PASSWORD)).toBeNull()
    expect(await users.find('rival', id)).toBeNull()
  })

  it('has a user name that is unique in the tenant; another tenant can use the same', async () => {
    const users = usersOf(openTestCatalogue())
    const input = { username: 'grace', password: PASSWORD, name: 'Grace' }
    await users.create(ACME, input)

    await expect(users.create(ACME, input)).rejects.toMatchObject({ status: 409, code: 'name_taken' })
    expect(await users.create(RIVAL, input)).toMatchObject({ username: 'grace' })
  })

  it('is found by any Unicode composition of the user name', async () => {
    const users = usersOf(openTestCatalogue())
    await users.create(ACME, { username: 'Ame\u0301lie', password: `${PASSWORD} \u00e9`, name: 'A' })
    expect(await users.verify('acme', 'Am\u00e9lie', `${PASSWORD} e\u0301`)).toMatchObject({ name: 'A' })
  })

  it('has no readable password in the registry or its feed', async () => {
    const catalogue = openTestCatalogue()
    const users = usersOf(catalogue)
    const { id } = await users.create(ACME, { username: 'grace', password: PASSWORD, name: 'Grace' })
    const changes: string[] = []
    catalogue.registry.watch(0, (change) => changes.push(JSON.stringify(change)))()
    const shown = JSON.stringify([await users.get('acme', id), await users.list('acme', { limit: 9 })])

    for (const text of [...changes, shown]) expect(text).not.toContain(PASSWORD)
    expect(shown).not.toContain('scrypt')
  })
})

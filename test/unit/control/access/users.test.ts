import { describe, expect, it } from 'vitest'
import { ACME, openTestCatalogue, RIVAL } from '../../../fixtures/test-catalogue.ts'
import { openTestPeople, PASSWORD } from '../../../fixtures/test-people.ts'

const GRACE = { username: 'grace', password: PASSWORD, name: 'Grace Hopper' }

describe('a user', () => {
  it('has a user name that is unique in the tenant; another tenant can use the same', async () => {
    const { users } = await openTestPeople(openTestCatalogue())
    await users.create(ACME, GRACE)
    const { id } = await users.create(ACME, { ...GRACE, username: 'ada' })

    await expect(users.create(ACME, GRACE)).rejects.toMatchObject({ status: 409, code: 'name_taken' })
    await expect(users.update(ACME, id, { username: 'grace' })).rejects.toMatchObject({ code: 'name_taken' })
    expect(await users.create(RIVAL, GRACE)).toMatchObject({ username: 'grace' })
  })

  it('has no readable password or link in the registry or its feed', async () => {
    const catalogue = openTestCatalogue()
    const { users } = await openTestPeople(catalogue)
    const { id } = await users.create(ACME, GRACE)
    const { invitation } = await users.resetPassword(ACME, id)
    const secret = invitation?.url.split('.').at(-1) ?? ''
    const changes: string[] = []
    catalogue.registry.watch(0, (change) => changes.push(JSON.stringify(change)))()
    const shown = JSON.stringify([await users.get('acme', id), await users.list('acme', { limit: 9 })])

    expect(secret).toHaveLength(43)
    for (const text of [...changes, shown]) {
      expect(text).not.toContain(PASSWORD)
      expect(text).not.toContain(secret)
    }
    expect(shown).not.toMatch(/scrypt|Hash/)
  })

  it('keeps the rest when one member changes, and loses no access by a change of name', async () => {
    const catalogue = openTestCatalogue()
    const { users, signIn } = await openTestPeople(catalogue)
    const { id, createdAt } = await users.create(ACME, { ...GRACE, roles: [{ role: 'auditor' }] })
    const changed = await users.update(ACME, id, { username: 'hopper' })
    const roles = [{ role: 'auditor' }]
    const rest = { id, name: 'Grace Hopper', state: 'Active', roles, identityProvider: null, labels: {}, createdAt }
    expect(changed).toEqual({ ...rest, username: 'hopper' })
    expect(catalogue.gateway.revokedPeople).toEqual([])
    expect(await signIn.verify('acme', 'hopper', PASSWORD)).toMatchObject({ id })
    expect(await signIn.verify('acme', 'grace', PASSWORD)).toBeNull()
  })

  it.each(['disable', 'remove', 'resetPassword'] as const)(
    'loses its access on every thread by %s',
    async (command) => {
      const catalogue = openTestCatalogue()
      const { users, signIn } = await openTestPeople(catalogue)
      const { id } = await users.create(ACME, GRACE)
      await users[command](ACME, id)
      expect(catalogue.gateway.revokedPeople.map(({ person }) => person)).toEqual([id])
      expect(await signIn.verify('acme', 'grace', PASSWORD)).toBeNull()
      if (command !== 'remove') await users.enable(ACME, id)
      expect(await signIn.verify('acme', 'grace', PASSWORD)).toEqual(
        command === 'disable' ? expect.objectContaining({ id }) : null,
      )
    },
  )

  it('is revoked again by a repetition, because the first command may have ended before every thread knew', async () => {
    const catalogue = openTestCatalogue()
    const { users } = await openTestPeople(catalogue)
    const { id } = await users.create(ACME, GRACE)
    await users.disable(ACME, id)
    await users.disable(ACME, id)
    expect(catalogue.gateway.revokedPeople).toHaveLength(2)
  })

  it('has only the state that allows the link that is asked for', async () => {
    const { users } = await openTestPeople(openTestCatalogue())
    const { id } = await users.create(ACME, GRACE)
    await expect(users.invite(ACME, id)).rejects.toMatchObject({ code: 'state_conflict' })
    await users.disable(ACME, id)
    await expect(users.invite(ACME, id)).rejects.toMatchObject({ code: 'state_conflict' })
    await expect(users.resetPassword(ACME, id)).rejects.toMatchObject({ code: 'state_conflict' })
    await users.enable(ACME, id)
    expect(await users.resetPassword(ACME, id)).toMatchObject({ state: 'Pending' })
    expect(await users.invite(ACME, id)).toMatchObject({ state: 'Pending' })
  })
})

describe('the last owner', () => {
  it('cannot be disabled, removed or demoted, until another owner can sign in', async () => {
    const { users } = await openTestPeople(openTestCatalogue())
    const owner = { roles: [{ role: 'owner' }] }
    const { id } = await users.create(ACME, { ...GRACE, ...owner })
    const { password: _, ...invited } = { ...GRACE, ...owner, username: 'ada' }
    const other = await users.create(ACME, invited)
    const attempts = [
      () => users.disable(ACME, id),
      () => users.remove(ACME, id),
      () => users.update(ACME, id, { roles: [] }),
      () => users.update(ACME, id, { roles: [{ role: 'admin' }] }),
    ]
    for (const attempt of attempts) await expect(attempt()).rejects.toMatchObject({ code: 'state_conflict' })
    expect(await users.update(ACME, id, { name: 'G' })).toMatchObject({ name: 'G', roles: owner.roles })

    await users.create(ACME, { ...GRACE, ...owner, username: 'mary' })
    await users.remove(ACME, other.id)
    expect(await users.update(ACME, id, { roles: [] })).toMatchObject({ roles: [] })
  })

  it('remains if two owners demote each other at once', async () => {
    const { users } = await openTestPeople(openTestCatalogue())
    const roles = [{ role: 'owner' }]
    const ids = await Promise.all(
      ['a', 'b', 'c'].map(async (username) => (await users.create(ACME, { ...GRACE, username, roles })).id),
    )
    const results = await Promise.allSettled(ids.map((id) => users.update(ACME, id, { roles: [] })))
    expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(1)
  })
})

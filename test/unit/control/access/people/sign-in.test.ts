import { describe, expect, it } from 'vitest'
import { ACME, openTestCatalogue } from '../../../../fixtures/test-catalogue.ts'
import { linkOf, openTestPeople, PASSWORD } from '../../../../fixtures/test-people.ts'

const GRACE = { username: 'grace', name: 'Grace Hopper' }
const HOUR_MS = 3_600_000

describe('a sign-in', () => {
  it('needs the right password and the right tenant', async () => {
    const { users, signIn } = await openTestPeople(openTestCatalogue())
    const { id } = await users.create(ACME, { ...GRACE, password: PASSWORD })
    expect(await signIn.verify('acme', 'grace', PASSWORD)).toEqual({ id, ...GRACE, epoch: 0 })
    expect(await signIn.verify('acme', 'grace', `${PASSWORD} `)).toBeNull()
    expect(await signIn.verify('acme', 'Grace', PASSWORD)).toBeNull()
    expect(await signIn.verify('rival', 'grace', PASSWORD)).toBeNull()
    expect(await signIn.find('rival', id)).toBeNull()
  })

  it('accepts any Unicode composition of the user name', async () => {
    const { users, signIn } = await openTestPeople(openTestCatalogue())
    await users.create(ACME, { username: 'Ame\u0301lie', password: `${PASSWORD} \u00e9`, name: 'A' })
    expect(await signIn.verify('acme', 'Am\u00e9lie', `${PASSWORD} e\u0301`)).toMatchObject({ name: 'A' })
  })

  it('fails without a password, with each text that could pass for none', async () => {
    const { users, signIn } = await openTestPeople(openTestCatalogue())
    await users.create(ACME, GRACE)
    for (const text of ['', 'null', 'undefined']) expect(await signIn.verify('acme', 'grace', text)).toBeNull()
  })
})

describe('a one-time link', () => {
  it('sets the password once', async () => {
    const { users, signIn } = await openTestPeople(openTestCatalogue())
    const link = linkOf(await users.create(ACME, GRACE))
    expect(await signIn.openLink(link)).toMatchObject(GRACE)
    expect(await signIn.openLink(link)).toMatchObject(GRACE)
    const used = await Promise.all([signIn.useLink(link, PASSWORD), signIn.useLink(link, `${PASSWORD}!`)])
    expect(used.filter(Boolean)).toHaveLength(1)
    expect(await signIn.verify('acme', 'grace', used[0] === true ? PASSWORD : `${PASSWORD}!`)).toMatchObject(GRACE)
    expect([await signIn.openLink(link), await signIn.useLink(link, PASSWORD)]).toEqual([null, false])
  })

  it.each([
    ['an invitation', 72 * HOUR_MS],
    ['a reset', HOUR_MS],
  ])('of %s expires after %i ms', async (kind, lifetimeMs) => {
    const catalogue = openTestCatalogue()
    const { users, signIn } = await openTestPeople(catalogue)
    const made = await users.create(ACME, GRACE)
    const link = linkOf(kind === 'a reset' ? await users.resetPassword(ACME, made.id) : made)
    catalogue.clock.nowMs += lifetimeMs - 1
    expect(await signIn.openLink(link)).toMatchObject(GRACE)
    catalogue.clock.nowMs += 1
    expect([await signIn.openLink(link), await signIn.useLink(link, PASSWORD)]).toEqual([null, false])
  })

  it.each(['invite', 'resetPassword', 'disable', 'remove'] as const)('stops working by %s', async (command) => {
    const { users, signIn } = await openTestPeople(openTestCatalogue())
    const made = await users.create(ACME, GRACE)
    await users[command](ACME, made.id)
    if (command === 'disable') await users.enable(ACME, made.id)
    expect(await signIn.useLink(linkOf(made), PASSWORD)).toBe(false)
  })

  it('with another secret, user or form does not work', async () => {
    const { users, signIn } = await openTestPeople(openTestCatalogue())
    const made = await users.create(ACME, GRACE)
    const other = await users.create(ACME, { ...GRACE, username: 'ada' })
    const [id = '', secret = ''] = linkOf(made).split('.')
    const wrong = [`${other.id}.${secret}`, `${id}.${'A'.repeat(43)}`, id, `.${secret}`, `${id}.`, '__proto__', '']
    for (const text of [...wrong, 'x'.repeat(100_000)]) expect(await signIn.openLink(text)).toBeNull()
  })
})

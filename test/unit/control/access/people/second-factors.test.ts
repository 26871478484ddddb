import { describe, expect, it } from 'vitest'
import type { TestCatalogue } from '../../../../fixtures/test-catalogue.ts'
import { ACME, openTestCatalogue } from '../../../../fixtures/test-catalogue.ts'
import { appCode } from '../../../../fixtures/authenticator-app.ts'
import { openTestPeople, PASSWORD, type TestPeople } from '../../../../fixtures/test-people.ts'

const GRACE = { username: 'grace', password: PASSWORD, name: 'Grace' }

async function enrol(catalogue: TestCatalogue, { users, secondFactors }: TestPeople) {
  const { id } = await users.create(ACME, GRACE)
  const { secret } = await secondFactors.begin(ACME, id)
  const codes = await secondFactors.confirm(ACME, id, appCode(secret, catalogue.clock.nowMs))
  return { id, secret, codes: codes ?? [] }
}

describe('a second factor', () => {
  it('is in force only after a code has confirmed it', async () => {
    const catalogue = openTestCatalogue()
    const people = await openTestPeople(catalogue)
    const { users, secondFactors } = people
    const { id } = await users.create(ACME, GRACE)
    await expect(secondFactors.confirm(ACME, id, '000000')).rejects.toMatchObject({ code: 'state_conflict' })
    const { secret } = await secondFactors.begin(ACME, id)
    const right = appCode(secret, catalogue.clock.nowMs)
    const wrong = right === '000000' ? '000001' : '000000'
    expect(await secondFactors.confirm(ACME, id, wrong)).toBeNull()
    expect([await secondFactors.stateOf('acme', id), await secondFactors.use('acme', id, right)]).toEqual([
      'none',
      false,
    ])
    const codes = await secondFactors.confirm(ACME, id, right)
    expect(new Set(codes).size).toBe(10)
    for (const code of codes ?? []) expect(code).toMatch(/^([A-Z2-7]{4}-){3}[A-Z2-7]{4}$/)
    expect(await secondFactors.stateOf('acme', id)).toBe('totp')
    await expect(secondFactors.begin(ACME, id)).rejects.toMatchObject({ code: 'state_conflict' })
  })

  it('accepts each code once, also by concurrent attempts', async () => {
    const catalogue = openTestCatalogue()
    const people = await openTestPeople(catalogue)
    const { id, secret } = await enrol(catalogue, people)
    const use = (code: string) => people.secondFactors.use('acme', id, code)
    expect(await use(appCode(secret, catalogue.clock.nowMs))).toBe(false)
    catalogue.clock.nowMs += 30_000
    const next = appCode(secret, catalogue.clock.nowMs)
    const used = await Promise.all(Array.from({ length: 5 }, () => use(next)))
    expect(used.filter(Boolean)).toHaveLength(1)
    expect(await use(next)).toBe(false)
  })

  it('accepts each recovery code once, in any spelling', async () => {
    const catalogue = openTestCatalogue()
    const people = await openTestPeople(catalogue)
    const { id, codes } = await enrol(catalogue, people)
    const [first = '', second = ''] = codes
    const use = (code: string) => people.secondFactors.use('acme', id, code)
    expect([await use(first), await use(first)]).toEqual([true, false])
    expect([await use(second.toLowerCase().replaceAll('-', ' ')), await use(second)]).toEqual([true, false])
    for (const text of ['', '-', 'AAAA-AAAA-AAAA-AAAA', 'x'.repeat(100_000)]) expect(await use(text)).toBe(false)
  })

  it('has neither its secret nor its recovery codes readable in the registry', async () => {
    const catalogue = openTestCatalogue()
    const { secret, codes } = await enrol(catalogue, await openTestPeople(catalogue))
    const changes: string[] = []
    catalogue.registry.watch(0, (change) => changes.push(JSON.stringify(change)))()
    for (const text of [secret, ...codes, ...codes.map((code) => code.replaceAll('-', ''))]) {
      expect(changes.join()).not.toContain(text)
    }
  })

  it('must be set up at the next sign-in if the policy requires one, and cannot be removed then', async () => {
    const catalogue = openTestCatalogue()
    const people = await openTestPeople(catalogue)
    const { secondFactors, users } = people
    const { id } = await enrol(catalogue, people)
    const other = await users.create(ACME, { ...GRACE, username: 'ada' })
    await people.setPolicy('required')
    expect(await secondFactors.stateOf('acme', other.id)).toBe('enrol')
    expect(await secondFactors.stateOf('acme', id)).toBe('totp')
    await expect(secondFactors.remove(ACME, id)).rejects.toMatchObject({ code: 'state_conflict' })
    await people.setPolicy('off')
    await secondFactors.remove(ACME, id)
    expect(await secondFactors.stateOf('acme', id)).toBe('none')
  })
})

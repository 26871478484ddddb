import { describe, expect, it } from 'vitest'
import { openPersonRevocations, type PersonRevocations } from '../../../src/access/person-revocations.ts'
import type { Change } from '../../../src/store/registry.ts'
import { openTestCatalogue, type TestCatalogue } from '../../fixtures/test-catalogue.ts'

const HOUR_MS = 3_600_000

function open({ registry, gateway, clock, createId }: TestCatalogue): Promise<PersonRevocations> {
  return openPersonRevocations({
    registry,
    gateway,
    clock: { nowMs: () => clock.nowMs },
    createId,
    tokenLifetimeMs: HOUR_MS,
  })
}

describe('the revocation of a person', () => {
  it('covers the tokens that were issued before, and no other', async () => {
    const catalogue = openTestCatalogue()
    const revocations = await open(catalogue)
    const before = catalogue.createId('tok')
    await revocations.revoke('acme', ['usr_1'])
    const after = catalogue.createId('tok')
    expect(revocations.isRevoked('usr_1', before)).toBe(true)
    expect(revocations.isRevoked('usr_1', after)).toBe(false)
    expect(revocations.isRevoked('usr_2', before)).toBe(false)
    await revocations.revoke('acme', ['usr_1'])
    expect(revocations.isRevoked('usr_1', after)).toBe(true)
  })

  it('has reached the threads and the listeners when it resolves', async () => {
    const catalogue = openTestCatalogue()
    const revocations = await open(catalogue)
    const ended: string[] = []
    revocations.watch((person) => ended.push(person))
    const people = Array.from({ length: 1_200 }, (_, at) => `usr_${at}`)
    await revocations.revoke('acme', people)
    expect(catalogue.gateway.revokedPeople.map(({ person }) => person)).toEqual(people)
    expect(ended).toEqual(people)
  })

  it('that was due at a crash is carried out at the next start, once', async () => {
    const catalogue = openTestCatalogue()
    const revocations = await open(catalogue)
    const author = { tenant: 'acme', consumer: 'system' }
    const [crashed, done] = [revocations.createDue('acme', ['usr_1']), revocations.createDue('acme', ['usr_2'])]
    await catalogue.registry.commit(author, 'user.update', [crashed.write, done.write])
    await revocations.revoke('acme', ['usr_2'], done)
    const [before, mark] = [catalogue.createId('tok'), revocations.markOf('usr_2')]
    catalogue.clock.nowMs += 1
    const again = await open(catalogue.restart())
    expect(again.isRevoked('usr_1', before)).toBe(true)
    expect(again.markOf('usr_2')).toBe(mark)
    expect((await open(catalogue.restart())).markOf('usr_1')).toBe(again.markOf('usr_1'))
  })

  it('stays across a restart until the tokens have expired, and is deleted some time later', async () => {
    const catalogue = openTestCatalogue()
    const before = catalogue.createId('tok')
    await (await open(catalogue)).revoke('acme', ['usr_1', 'usr_2'])
    const again = await open(catalogue.restart())
    expect(again.isRevoked('usr_1', before)).toBe(true)
    expect(again.live().map(({ person }) => person)).toEqual(['usr_1', 'usr_2'])
    catalogue.clock.nowMs += HOUR_MS
    expect(again.live()).toEqual([])
    await again.revoke('acme', ['usr_3'])
    expect((await open(catalogue.restart())).live().map(({ person }) => person)).toEqual(['usr_3'])
    expect(again.isRevoked('usr_1', before)).toBe(false)
    await again.revoke('acme', ['usr_1'])
    expect(again.isRevoked('usr_1', before)).toBe(true)
  })
})

describe('a revocation of another node', () => {
  it('has reached the threads and the listeners, and the next one of this node continues it', async () => {
    const catalogue = openTestCatalogue()
    const node = catalogue.restart()
    const here = await open(node)
    const changes: Change[] = []
    catalogue.registry.watch(0, (change) => changes.push(change))
    const before = catalogue.createId('tok')
    const there = await open(catalogue)
    await there.revoke('acme', ['usr_1'])
    await there.revoke('acme', ['usr_1'])
    const ended: string[] = []
    here.watch((person) => ended.push(person))
    // The second change twice, and the first one late.
    for (const change of [changes[1]!, changes[1]!, changes[0]!]) await here.follow(change)
    expect(ended).toEqual(['usr_1'])
    expect(node.gateway.revokedPeople).toEqual(catalogue.gateway.revokedPeople.slice(1))
    expect(here.isRevoked('usr_1', before)).toBe(true)
    expect(here.markOf('usr_1')).toBe(there.markOf('usr_1'))
    await here.revoke('acme', ['usr_1'])
  })

  it('is forgotten when the other node removes it', async () => {
    const catalogue = openTestCatalogue()
    const here = await open(catalogue.restart())
    const changes: Change[] = []
    catalogue.registry.watch(0, (change) => changes.push(change))
    const there = await open(catalogue)
    await there.revoke('acme', ['usr_1'])
    for (const change of changes.splice(0)) await here.follow(change)
    catalogue.clock.nowMs += HOUR_MS
    await there.revoke('acme', ['usr_2'])
    for (const change of changes) await here.follow(change)
    expect([here.markOf('usr_1'), here.markOf('usr_2')]).toEqual(['', there.markOf('usr_2')])
    await here.revoke('acme', ['usr_1'])
  })
})

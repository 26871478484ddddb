import { describe, expect, it } from 'vitest'
import { openPersonRevocations, type PersonRevocations } from '../../../../src/control/access/person-revocations.ts'
import type { Change } from '../../../../src/storage/store/registry.ts'
import { createIdFactory } from '../../../../src/foundation/runtime/ids.ts'
import { createRandom } from '../../../random.ts'
import { openTestCatalogue, type TestCatalogue } from '../../../fixtures/test-catalogue.ts'

const HOUR_MS = 3_600_000
const SEEDS = 12
/** A revocation outlasts the tokens by this, because clocks of nodes differ. */
const MARGIN_MS = 600_000

function open({ registry, gateway, clock, createId }: TestCatalogue): Promise<PersonRevocations> {
  return openPersonRevocations({
    registry,
    gateway,
    clock: { nowMs: () => clock.nowMs },
    createId,
    tokenLifetimeMs: HOUR_MS,
  })
}

/** Issues a token like `grantPerson` and `mint`: it names the latest revocation. */
async function issue({ createId }: TestCatalogue, node: PersonRevocations, person: string) {
  return { person, jti: createId('tok'), named: await node.latestOf(person) }
}

type Token = Awaited<ReturnType<typeof issue>>

const isRefused = (node: PersonRevocations, { person, jti, named }: Token): boolean =>
  node.isRevoked(person, jti, named)

describe('the revocation of a person', () => {
  it('covers the tokens that were issued before, and no other', async () => {
    const catalogue = openTestCatalogue()
    const revocations = await open(catalogue)
    const before = await issue(catalogue, revocations, 'usr_1')
    const other = await issue(catalogue, revocations, 'usr_2')
    await revocations.revoke('acme', ['usr_1'])
    const after = await issue(catalogue, revocations, 'usr_1')
    expect([before, after, other].map((token) => isRefused(revocations, token))).toEqual([true, false, false])
    await revocations.revoke('acme', ['usr_1'])
    expect(isRefused(revocations, after)).toBe(true)
  })

  it('covers the tokens of earlier versions with a lower id', async () => {
    const catalogue = openTestCatalogue()
    const revocations = await open(catalogue)
    const before = catalogue.createId('tok')
    await revocations.revoke('acme', ['usr_1'])
    expect(revocations.isRevoked('usr_1', before, undefined)).toBe(true)
    expect(revocations.isRevoked('usr_1', catalogue.createId('tok'), undefined)).toBe(false)
  })

  it('that an earlier version has stored stays in force', async () => {
    const catalogue = openTestCatalogue()
    const before = await issue(catalogue, await open(catalogue), 'usr_1')
    const body = { before: catalogue.createId('tok'), untilMs: catalogue.clock.nowMs + HOUR_MS }
    const write = { kind: 'revoked_person', id: 'usr_1', tenant: 'acme', expected: 0, body }
    await catalogue.registry.commit({ tenant: 'acme', consumer: 'system' }, 'person.revoke', [write])
    const revocations = await open(catalogue.restart())
    expect(isRefused(revocations, before)).toBe(true)
    expect(revocations.isRevoked('usr_1', before.jti, undefined)).toBe(true)
    expect(isRefused(revocations, await issue(catalogue, revocations, 'usr_1'))).toBe(false)
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
    const [before, mark] = [await issue(catalogue, revocations, 'usr_1'), revocations.markOf('usr_2')]
    catalogue.clock.nowMs += 1
    const again = await open(catalogue.restart())
    expect(isRefused(again, before)).toBe(true)
    expect(again.markOf('usr_2')).toBe(mark)
    expect((await open(catalogue.restart())).markOf('usr_1')).toBe(again.markOf('usr_1'))
  })

  it('stays across a restart until the tokens have expired, and is deleted some time later', async () => {
    const catalogue = openTestCatalogue()
    const first = await open(catalogue)
    const before = await issue(catalogue, first, 'usr_1')
    await first.revoke('acme', ['usr_1', 'usr_2'])
    const again = await open(catalogue.restart())
    expect(isRefused(again, before)).toBe(true)
    expect(again.live().map(({ person }) => person)).toEqual(['usr_1', 'usr_2'])
    catalogue.clock.nowMs += HOUR_MS + MARGIN_MS
    expect(again.live()).toEqual([])
    await again.revoke('acme', ['usr_3'])
    expect((await open(catalogue.restart())).live().map(({ person }) => person)).toEqual(['usr_3'])
    expect(isRefused(again, before)).toBe(false)
    await again.revoke('acme', ['usr_1'])
    expect(isRefused(again, before)).toBe(true)
  })
})

describe('a revocation of another node', () => {
  it('has reached the threads and the listeners, and the next one of this node continues it', async () => {
    const catalogue = openTestCatalogue()
    const node = catalogue.restart()
    const here = await open(node)
    const changes: Change[] = []
    catalogue.registry.watch(0, (change) => changes.push(change))
    const there = await open(catalogue)
    const before = await issue(catalogue, here, 'usr_1')
    await there.revoke('acme', ['usr_1'])
    await there.revoke('acme', ['usr_1'])
    const ended: string[] = []
    here.watch((person) => ended.push(person))
    // The second change twice, and the first one late.
    for (const change of [changes[1]!, changes[1]!, changes[0]!]) await here.follow(change)
    expect(ended).toEqual(['usr_1'])
    expect(node.gateway.revokedPeople).toEqual(catalogue.gateway.revokedPeople.slice(1))
    expect(isRefused(here, before)).toBe(true)
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
    catalogue.clock.nowMs += HOUR_MS + MARGIN_MS
    await there.revoke('acme', ['usr_2'])
    for (const change of changes) await here.follow(change)
    expect([here.markOf('usr_1'), here.markOf('usr_2')]).toEqual(['', there.markOf('usr_2')])
    await here.revoke('acme', ['usr_1'])
  })
})

describe('revocations of several nodes', () => {
  it('made at the same time for the same people all succeed, and the latest one is in force everywhere', async () => {
    const catalogue = openTestCatalogue()
    const [one, other] = [await open(catalogue), await open({ ...catalogue.restart(), registry: catalogue.registry })]
    const changes: Change[] = []
    catalogue.registry.watch(0, (change) => changes.push(change))
    const people = ['usr_1', 'usr_2', 'usr_3']
    const due = one.createDue('acme', people)
    await catalogue.registry.commit({ tenant: 'acme', consumer: 'system' }, 'user.update', [due.write])
    // The other node completes the due revocation as well, as if it had started meanwhile.
    await Promise.all([
      one.revoke('acme', people, due),
      other.revoke('acme', people, due),
      one.revoke('acme', ['usr_2']),
      other.revoke('acme', ['usr_2', 'usr_3']),
    ])
    for (const change of changes) for (const node of [one, other]) await node.follow(change)
    for (const person of people) {
      expect(one.markOf(person)).toBe(await one.latestOf(person))
      expect(other.markOf(person)).toBe(one.markOf(person))
    }
    expect(await catalogue.registry.list('due_revocation' as never, { limit: 1 })).toEqual([])
  })

  it(`never let a token pass that was issued before them, by clocks that differ, over ${SEEDS} seeds`, async () => {
    for (let seed = 1; seed <= SEEDS; seed++) await checkRandomHistory(seed)
  })
})

interface Node {
  readonly catalogue: TestCatalogue
  readonly revocations: PersonRevocations
  /** Changes that the node has not received yet. */
  readonly unseen: Change[]
}

/** Nodes with wrong clocks issue tokens and revoke people in random order, and receive the changes late. */
async function checkRandomHistory(seed: number): Promise<void> {
  const random = createRandom(seed)
  const shared = openTestCatalogue()
  const nodes: Node[] = []
  for (let index = 0; index < 3; index++) {
    const clock = { nowMs: shared.clock.nowMs + random.below(240_000) - 120_000 }
    const catalogue = { ...shared, clock, createId: createIdFactory(() => clock.nowMs) }
    nodes.push({ catalogue, revocations: await open(catalogue), unseen: [] })
  }
  shared.registry.watch(0, (change) => nodes.forEach(({ unseen }) => unseen.push(change)))
  const people = ['usr_1', 'usr_2']
  const tokens: { token: Token; isOld: boolean }[] = []
  const anyOf = <Item>(items: readonly Item[]): Item => items[random.below(items.length)]!
  for (let step = 0; step < 80; step++) {
    const { catalogue, revocations, unseen } = anyOf(nodes)
    const person = anyOf(people)
    const action = random.below(4)
    if (action === 0) {
      await revocations.revoke('acme', [person])
      for (const known of tokens) if (known.token.person === person) known.isOld = true
    } else if (action === 1) {
      for (const change of unseen.splice(0, random.below(4))) await revocations.follow(change)
    } else {
      tokens.push({ token: await issue(catalogue, revocations, person), isOld: false })
    }
  }
  for (const { revocations, unseen } of nodes) for (const change of unseen) await revocations.follow(change)
  for (const { revocations } of nodes) {
    expect(
      tokens.map(({ token }) => isRefused(revocations, token)),
      `seed ${seed}`,
    ).toEqual(tokens.map(({ isOld }) => isOld))
  }
}

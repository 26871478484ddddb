import { describe, expect, it } from 'vitest'
import { LeaseBook, type LeaseKeeper } from '../../../src/limits/lease-book.ts'
import type { LeaseBlockRef } from '../../../src/limits/lease-block.ts'
import { SharedPages } from '../../../src/limits/shared-pages.ts'
import { LEASE_CELL, LEASE_CELL_SIZE } from '../../../src/boundary/leases/lease-cell.ts'
import type { LeaseDeclaration } from '../../../src/boundary/leases/lease-declaration.ts'
import type { LeasePlace } from '../../../src/boundary/leases/lease-place.ts'
import type { SlaPlan } from '../../../src/boundary/plan/sla-plan.ts'
import { planOf } from '../../fixtures/test-limits.ts'

const PAGE_BYTES = 65_536 * 8

interface Kept {
  readonly place: LeasePlace
  readonly declared: LeaseDeclaration[]
}

/** Records what the book asks of the protocol; a declaration that changes ends what is held, as there. */
function openBook(bytesMax = 4 * PAGE_BYTES) {
  const kept = new Map<string, Kept>()
  /** Those of slices. */
  const long = new Map<string, Kept>()
  const refilled: [string, number][] = []
  const unreached = new Set<string>()
  const keeperIn = (kept: Map<string, Kept>): LeaseKeeper => ({
    add: (key, declaration, place) => void kept.set(key, { place, declared: [declaration] }),
    has: (key) => kept.has(key),
    redeclare(key, declaration) {
      const { place, declared } = kept.get(key)!
      declared.push(declaration)
      place.exclusively(() => (place.cell[place.at + LEASE_CELL.allowed] = 0))
    },
    look: async (key) => !unreached.has(key),
    async refill(key, calls) {
      refilled.push([key, calls])
      return !unreached.has(key)
    },
  })
  const pages = new SharedPages(bytesMax)
  const book = new LeaseBook({ keepers: { short: keeperIn(kept), long: keeperIn(long) }, pages, threads: 2 })
  const leasesOf = (plan: SlaPlan, subscription = 'sub_1', revision = 1): LeaseBlockRef | null =>
    book.blockFor(
      subscription,
      plan,
      plan.limits.map(() => null),
      revision,
    )
  return { book, pages, kept, long, refilled, unreached, leasesOf, all: () => [...kept.values()] }
}

const idsOf = (leases: LeaseBlockRef | null): readonly (number | undefined)[] | undefined =>
  leases?.cells.map(({ id }) => id)
const minute = (name: string, value: number, more: object = {}) => ({ name, totals: { minute: value }, ...more })

describe('The leases of a subscription', () => {
  it('belong to the calls that a limit counts, whatever its name', () => {
    const { leasesOf, kept } = openBook()
    const before = idsOf(
      leasesOf(planOf({ limits: [minute('reads', 5, { operationIds: ['read'] }), minute('all', 9)] })),
    )
    const after = idsOf(
      leasesOf(planOf({ limits: [minute('renamed', 5, { operationIds: ['read'] }), minute('other', 9)] })),
    )
    expect(after).toEqual(before)
    expect(new Set(before).size).toBe(2)
    expect(kept.size).toBe(2)
  })

  it('are others if the limit counts other calls, or is of another kind', () => {
    const { leasesOf, kept } = openBook()
    leasesOf(planOf({ limits: [minute('a', 5, { operationIds: ['read'] })] }))
    leasesOf(planOf({ limits: [minute('a', 5, { operationIds: ['write'] })] }))
    leasesOf(planOf({ limits: [{ name: 'a', totals: { hour: 5 }, operationIds: ['read'] }] }))
    leasesOf(planOf({ limits: [{ name: 'a', rate: { value: 5, duration: 'minute' }, operationIds: ['read'] }] }))
    leasesOf(planOf({ limits: [{ name: 'a', concurrent: 5, operationIds: ['read'] }] }))
    expect(kept.size).toBe(5)
  })

  it('are two for two limits that count the same calls, in the order of the limits', () => {
    const { leasesOf, all } = openBook()
    const twice = planOf({ limits: [minute('a', 5), minute('b', 7)] })
    const ids = idsOf(leasesOf(twice))
    expect(new Set(ids).size).toBe(2)
    expect(idsOf(leasesOf(twice))).toEqual(ids)
    expect(all().map(({ declared }) => declared.map((each) => 'value' in each && each.value))).toEqual([[5], [7]])
  })

  it('are never those of another subscription or of another API', () => {
    const { leasesOf, kept } = openBook()
    const plan = planOf({ limits: [minute('a', 5)] })
    leasesOf(plan, 'sub_1')
    leasesOf(plan, 'sub_2')
    leasesOf({ ...plan, api: 'other-v1' }, 'sub_1')
    expect(kept.size).toBe(3)
  })

  it.each([
    ['a day', { limits: [{ name: 'a', totals: { day: 5 } }] }],
    ['a month', { limits: [{ name: 'a', totals: { month: 5 } }] }],
    [
      'a period',
      { limits: [{ name: 'a', totals: { period: 5 }, validity: [{ name: 'v', start: '10:00', end: '11:00' }] }] },
    ],
    ['a quota', { quotas: { period: 'Annual', resourceUnits: 5 } }],
  ])('are slices for %s', (_, declaration) => {
    const { leasesOf, kept, long } = openBook()
    leasesOf(planOf(declaration))
    expect([kept.size, long.size]).toEqual([0, 1])
  })

  it('do not exist for a quota that admits everything', () => {
    const { leasesOf, long } = openBook()
    expect(leasesOf(planOf({ quotas: { period: 'PayAsYouGo', resourceUnits: 5 } }))?.quota).toBeNull()
    expect(long.size).toBe(0)
  })

  it('know the window of a period by the time of the grantor', () => {
    const { leasesOf, long } = openBook()
    leasesOf(
      planOf({
        limits: [{ name: 'a', totals: { period: 5 }, validity: [{ name: 'v', start: '23:30', end: '00:30' }] }],
      }),
    )
    const [declared] = [...long.values()][0]!.declared
    const windowAt = declared?.kind === 'total' ? declared.windowAt : null
    expect(windowAt?.(Date.parse('2026-03-05T00:10:00Z'))).toEqual({
      startMs: Date.parse('2026-03-04T23:30:00Z'),
      endMs: Date.parse('2026-03-05T00:30:00Z'),
    })
  })

  it('cannot be had if the memory has reached its bound', () => {
    const { leasesOf, pages, kept } = openBook(PAGE_BYTES)
    pages.allocate(65_536 - 1 - LEASE_CELL_SIZE)
    const plan = planOf({ limits: [minute('a', 5), minute('b', 7)] })
    expect(leasesOf(plan)).toBeNull()
    expect(kept.size).toBe(1)
    expect(leasesOf(plan, 'sub_2')).toBeNull()
  })
})

describe('A declaration whose numbers change', () => {
  const plan = planOf({ limits: [minute('a', 50)] })

  it('is followed by all leases before the change returns', () => {
    const { book, leasesOf, all } = openBook()
    leasesOf(plan, 'sub_1')
    leasesOf(plan, 'sub_2')
    for (const { place } of all()) place.cell[place.at + LEASE_CELL.allowed] = 40
    book.redeclare(planOf({ limits: [minute('renamed', 10)] }))
    expect(all().map(({ place }) => place.cell[place.at + LEASE_CELL.allowed])).toEqual([0, 0])
    expect(all().map(({ declared }) => declared.map((each) => 'value' in each && each.value))).toEqual([
      [50, 10],
      [50, 10],
    ])
  })

  it('is followed at the next call of a subscription that has changed to it', () => {
    const { leasesOf, all } = openBook()
    leasesOf(plan)
    leasesOf({ ...planOf({ limits: [minute('a', 10)] }), variant: 'small' })
    expect(all()[0]!.declared).toHaveLength(2)
  })

  it('changes no lease of another variant or API, and none whose number is the same', () => {
    const { book, leasesOf, all } = openBook()
    leasesOf(plan)
    book.redeclare({ ...planOf({ limits: [minute('a', 10)] }), variant: 'small' })
    book.redeclare({ ...planOf({ limits: [minute('a', 10)] }), api: 'other-v1' })
    book.redeclare(planOf({ limits: [minute('b', 50)] }))
    expect(all()[0]!.declared).toHaveLength(1)
  })

  it('has a higher version after each declaration of the API and each change of the subscription', () => {
    const { book, leasesOf, all } = openBook()
    const small = { ...planOf({ limits: [minute('a', 10)] }), variant: 'small' }
    leasesOf({ ...plan, number: 7 }, 'sub_1', 3)
    book.redeclare({ ...plan, number: 8 })
    leasesOf({ ...small, number: 8 }, 'sub_1', 4)
    expect(all()[0]!.declared.map((each) => 'value' in each && [each.value, each.version])).toEqual([
      [50, 10],
      [50, 11],
      [10, 12],
    ])
  })

  it.each([
    ['a thread that has not applied the change yet', 1],
    ['a reader that does not know the revision', 0],
  ])('does not return to the plan before for %s', (_, revision) => {
    const { book, leasesOf, all } = openBook()
    const small = { ...planOf({ limits: [minute('a', 10)] }), variant: 'small' }
    leasesOf(plan, 'sub_1', 1)
    leasesOf(small, 'sub_1', 2)
    expect(leasesOf(plan, 'sub_1', revision)?.cells).toHaveLength(1)
    book.redeclare(planOf({ limits: [minute('a', 70)] }))
    expect(all()[0]!.declared.map((each) => 'value' in each && each.value)).toEqual([50, 10])
  })

  it('sends no rate of 0 to the grantor, and follows the next one', () => {
    const { book, leasesOf, all } = openBook()
    const rate = (value: number) => planOf({ limits: [{ name: 'a', rate: { value, duration: 'minute' } }] })
    leasesOf(rate(5))
    book.redeclare(rate(0))
    book.redeclare(rate(6))
    expect(all()[0]!.declared.map((each) => each.kind === 'rate' && each.capacity / each.step)).toEqual([5, 6])
  })
})

describe('A need of calls', () => {
  it('is passed on with the number of calls; one that cannot be met decides', async () => {
    const { book, leasesOf, kept, refilled, unreached } = openBook()
    const ids = leasesOf(planOf({ limits: [minute('a', 5), minute('b', 7)] }))!.cells.map(({ id }) => id)
    const [first, second] = [...kept.keys()]
    expect(await book.refill(ids.map((id) => [id, 3, 1] as const))).toBe(true)
    expect(refilled).toEqual([
      [first, 3],
      [second, 3],
    ])
    unreached.add(second!)
    expect(await book.refill(ids.map((id) => [id, 1, 1] as const))).toBe(false)
    expect(await book.refill([[ids[0]!, 1, 1]])).toBe(true)
  })

  it('of a lease that does not exist asks for nothing', async () => {
    const { book, refilled } = openBook()
    expect(
      await book.refill([
        [7, 1, 1],
        [-1, 1, 1],
      ]),
    ).toBe(true)
    expect(refilled).toEqual([])
  })
})

describe('The lock of a thread that died', () => {
  it('is freed, and that of another thread is not', () => {
    const { book, leasesOf } = openBook()
    const plan = planOf({ limits: [minute('a', 5)] })
    const words = ['sub_1', 'sub_2'].map((subscription) => {
      const { page, lockAt } = leasesOf(plan, subscription)!
      return new Int32Array(page, lockAt * 4, 1)
    })
    words[0]![0] = 1
    words[1]![0] = 2
    book.releaseThread(1)
    expect(words.map((word) => word[0])).toEqual([0, 2])
  })
})

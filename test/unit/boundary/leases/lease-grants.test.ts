import { describe, expect, it } from 'vitest'
import { LeaseBook } from '../../../../src/limits/lease-book.ts'
import { SharedPages } from '../../../../src/limits/shared-pages.ts'
import type { LeaseCellRef } from '../../../../src/limits/lease-block.ts'
import { LEASE_TIMINGS } from '../../../../src/boundary/leases/lease-timings.ts'
import { hasLease, LEASE_CELL, LEASE_CELL_SIZE, takeLease } from '../../../../src/boundary/leases/lease-cell.ts'
import type { LeaseDeclaration } from '../../../../src/boundary/leases/lease-declaration.ts'
import { createTestGrantor, openTestKeeper } from '../../../fixtures/lease-keeper.ts'
import { planOf } from '../../../fixtures/test-limits.ts'

const NOON_MS = Date.parse('2026-03-04T12:00:00Z')
const MINUTE = 60_000
const SUBSCRIPTIONS = 100_000
const WAVES = 50
const HOUR = { startMs: NOON_MS, endMs: NOON_MS + 3_600_000 }
const total = (value: number): LeaseDeclaration => ({ kind: 'total', version: 0, value, windowAt: () => HOUR })

describe('The counters of 100,000 subscriptions that come and go', () => {
  it(
    'are dropped when they hold nothing, and continue when they are needed again',
    { timeout: 2 * MINUTE },
    async () => {
      const grantor = createTestGrantor(NOON_MS)
      const keeper = await openTestKeeper(grantor, 'a', { ...LEASE_TIMINGS, returnMs: 100, keepMs: 200 })
      const pages = new SharedPages(2 ** 28)
      const book = new LeaseBook({ keepers: { short: keeper, long: keeper }, pages, threads: 1 })
      const plan = planOf({ limits: [{ name: 'hourly', totals: { hour: 2 } }] })
      const keys = new Set<string>()
      const refs: LeaseCellRef[] = []
      const call = async ({ id, page, at }: LeaseCellRef): Promise<boolean> => {
        const now = { monotonicMs: grantor.clock.nowMs(), wallMs: grantor.clock.nowMs() }
        const cell = new Float64Array(page)
        if (!hasLease(cell, at, now)) await book.refill([[id, 1, 1]])
        const isAdmitted = hasLease(cell, at, now)
        if (isAdmitted) takeLease(cell, at)
        return isAdmitted
      }
      for (let wave = 0; wave < WAVES; wave++) {
        const come = Array.from({ length: SUBSCRIPTIONS / WAVES }, (_, index) => `sub ${wave} ${index}`)
        const cells = come.map((subscription) => book.blockFor(subscription, plan, [null], 1)!.cells[0]!)
        expect((await Promise.all(cells.map(call))).every(Boolean)).toBe(true)
        refs.push(...cells)
        for (const message of grantor.messages.splice(0))
          if (message.type === 'request') for (const { key } of message.items) keys.add(key)
        await grantor.clock.advance(1_500)
      }
      expect(keys.size).toBe(SUBSCRIPTIONS)
      expect([...keys].filter((key) => keeper.has(key))).toEqual([])

      const again = refs[7]!
      const { bytes } = pages
      expect([await call(again), await call(again), await call(again)]).toEqual([true, false, false])
      expect([...keys].filter((key) => keeper.has(key))).toHaveLength(1)
      expect(pages.bytes).toBe(bytes)
    },
  )
})

describe('A counter that was dropped', () => {
  it('has in its window what was used, and not what was returned', async () => {
    const grantor = createTestGrantor(NOON_MS)
    const keeper = await openTestKeeper(grantor)
    const cell = new Float64Array(LEASE_CELL_SIZE)
    const place = { cell, at: 0, exclusively: (task: () => void) => task() }
    keeper.add('counter', total(10), place)
    await keeper.refill('counter', 6)
    for (let calls = 0; calls < 4; calls++) takeLease(cell, 0)
    await grantor.clock.advance(2 * MINUTE)
    expect(keeper.has('counter')).toBe(false)
    keeper.add('counter', total(10), place)
    expect(cell[LEASE_CELL.used]).toBe(4)
    await keeper.refill('counter', 6)
    expect(cell[LEASE_CELL.allowed]).toBe(10)
  })

  it('is not dropped while a call holds its slot', async () => {
    const grantor = createTestGrantor(NOON_MS)
    const keeper = await openTestKeeper(grantor)
    const cell = new Float64Array(LEASE_CELL_SIZE)
    const slots: LeaseDeclaration = { kind: 'concurrent', version: 0, value: 3, callMsMax: 600_000 }
    keeper.add('slots', slots, { cell, at: 0, exclusively: (task) => task() })
    await keeper.refill('slots', 1)
    takeLease(cell, 0)
    await grantor.clock.advance(2 * MINUTE)
    expect(keeper.has('slots')).toBe(true)
  })
})

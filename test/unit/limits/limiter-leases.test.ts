/** Decisions of the limiter from leases: several nodes with a grantor, on one clock. */

import { describe, expect, it } from 'vitest'
import { LEASE_CELL } from '../../../src/boundary/leases/lease-cell.ts'
import type { SlaPlan } from '../../../src/boundary/plan/sla-plan.ts'
import { LACKING } from '../../../src/limits/limiter.ts'
import {
  createLeasedLimits,
  createTestGrantor,
  openTestKeeper,
  type LeasedLimits,
  type TestGrantor,
} from '../../fixtures/lease-keeper.ts'
import { OPERATIONS, planOf } from '../../fixtures/test-limits.ts'

const NOON_MS = Date.parse('2026-03-04T12:00:00Z')
const limits = (...definitions: object[]): SlaPlan =>
  planOf({ limits: definitions.map((each, index) => ({ name: 'abc'[index], ...each })) })

/** A subscription on one node: its block, and calls on one thread of the node. */
function openOn({ memory, limiters }: LeasedLimits, { clock }: TestGrantor, plan: SlaPlan, thread = 0) {
  const limiter = limiters[thread]!
  const sla = limiter.compile(plan, OPERATIONS)
  const ref = memory.blockFor('sub', plan)!
  const block = limiter.open(ref)
  const { verdict } = limiter
  const take = (operation = 0, isAlone = false) => limiter.take(sla, block, operation, clock.nowMs(), isAlone)
  return {
    verdict,
    take,
    release: (gauge: number) => limiter.release(block, gauge),
    /** Calls and waits as the gateway does; returns the result of the last decision. */
    async call(calls = 1): Promise<number> {
      for (let round = 0; take() === LACKING && round < 20; round++) {
        await memory.refill(verdict.lacking.map(([id, amount]) => [id, calls * amount, amount] as const))
      }
      return verdict.refusedBy
    },
    cellOf(position: number, slot: keyof typeof LEASE_CELL): number {
      const { page, at } = ref.leases!.cells[position]!
      return new Float64Array(page)[at + LEASE_CELL[slot]]!
    },
  }
}

async function openNodes(plan: SlaPlan, names: readonly string[] = ['a'], threads = 1) {
  const grantor = createTestGrantor(NOON_MS)
  const nodes = []
  for (const name of names) {
    const keeper = await openTestKeeper(grantor, name)
    const leased = createLeasedLimits(keeper, grantor.clock, threads)
    nodes.push({ keeper, ...leased, ...openOn(leased, grantor, plan) })
  }
  await grantor.clock.advance(1_000)
  return { grantor, nodes, first: nodes[0]! }
}

describe('A call that several limits count', () => {
  const plan = limits({ totals: { minute: 2 } }, { totals: { hour: 9 } })

  it('is counted in none of them while the lease of one is missing', async () => {
    const { first } = await openNodes(plan)
    expect(first.take()).toBe(LACKING)
    expect(first.verdict.lacking).toHaveLength(2)
    const [minute] = first.verdict.lacking
    await first.memory.refill([[minute![0], 1, 1]])
    expect(first.take()).toBe(LACKING)
    expect(first.verdict.lacking).toHaveLength(1)
    expect([first.cellOf(0, 'used'), first.cellOf(1, 'used')]).toEqual([0, 0])
    expect(await first.call()).toBe(-1)
    expect([first.cellOf(0, 'used'), first.cellOf(1, 'used')]).toEqual([1, 1])
  })

  it('is refused by the one that is used up, and uses none of the other', async () => {
    const { first } = await openNodes(plan)
    expect([await first.call(), await first.call(), await first.call()]).toEqual([-1, -1, 0])
    expect(first.verdict).toMatchObject({ remaining: 0, retryAfterMs: 58_000 })
    expect([first.cellOf(0, 'used'), first.cellOf(1, 'used')]).toEqual([2, 2])
  })

  it('is counted in its quota only if all leases are there', async () => {
    const { first } = await openNodes(
      planOf({ limits: [{ name: 'a', totals: { minute: 2 } }], quotas: { period: 'Daily', resourceUnits: 5 } }),
    )
    first.take()
    expect(first.verdict.quotaUsedMicro).toBe(0)
    expect(await first.call()).toBe(-1)
    expect(first.verdict.quotaUsedMicro).toBe(1_000_000)
  })
})

describe('A limit that nodes share', () => {
  it('is refused on a node whose calls the others have used, without another question', async () => {
    const { grantor, nodes } = await openNodes(limits({ totals: { hour: 4 } }), ['a', 'b'])
    const results = []
    for (let turn = 0; turn < 6; turn++) results.push(await nodes[turn % 2]!.call())
    expect(results).toEqual([-1, -1, -1, -1, 0, 0])
    const before = grantor.messages.length
    for (let call = 0; call < 1_000; call++) expect(nodes[0]!.take()).toBe(0)
    expect(grantor.messages.length).toBe(before)
  })

  it('is described by the calls that all nodes may still admit', async () => {
    const { nodes } = await openNodes(limits({ totals: { hour: 10 } }), ['a', 'b'])
    const remaining = []
    for (let turn = 0; turn < 6; turn++) {
      await nodes[turn % 2]!.call()
      remaining.push(nodes[turn % 2]!.verdict.remaining)
    }
    // A node knows of the others' leases since its last exchange only.
    expect(remaining[0]).toBe(9)
    expect(Math.max(...remaining.slice(1))).toBeLessThan(9)
    expect(remaining).toEqual(remaining.map((left) => Math.max(0, left)))
    await nodes[0]!.keeper.refill('none', 1)
    expect(nodes.map(({ cellOf }) => cellOf(0, 'used'))).toEqual([3, 3])
  })

  it('is counted on this node alone while no lease can be had', async () => {
    const { first } = await openNodes(limits({ totals: { hour: 2 } }))
    const results = Array.from({ length: 3 }, () => first.take(0, true))
    expect(results).toEqual([-1, -1, 0])
    expect(first.cellOf(0, 'used')).toBe(0)
  })

  it('admits no call from a lease that has ended', async () => {
    const { grantor, first } = await openNodes(limits({ rate: { value: 100, duration: 'minute' } }))
    expect(await first.call(10)).toBe(-1)
    expect(first.take()).toBe(-1)
    grantor.clock.kill()
    await grantor.clock.advance(10_000)
    expect(first.take()).toBe(LACKING)
  })

  it('admits no more after a lower number was declared than that number, from the moment on', async () => {
    const { grantor, nodes } = await openNodes(limits({ totals: { hour: 100 } }), ['a', 'b'])
    for (const { call } of nodes) expect(await call(20)).toBe(-1)
    const lower = limits({ totals: { hour: 5 } })
    const lowered = nodes.map((node) => {
      node.memory.redeclare(lower)
      return openOn(node, grantor, lower)
    })
    expect(lowered.map(({ take }) => take())).toEqual([LACKING, LACKING])
    let admitted = nodes.length
    for (let turn = 0; turn < 20; turn++) {
      if ((await lowered[turn % 2]!.call()) === -1) admitted++
      await grantor.clock.advance(150)
    }
    expect(admitted).toBe(5)
  })
})

describe('Slots of concurrent calls that nodes share', () => {
  const plan = limits({ concurrent: 2 })

  it('are taken and freed by the calls of all nodes', async () => {
    const { grantor, nodes } = await openNodes(plan, ['a', 'b'])
    const [one, other] = nodes as [(typeof nodes)[0], (typeof nodes)[0]]
    expect([await one.call(), await one.call(), await other.call()]).toEqual([-1, -1, 0])
    one.release(one.verdict.gauge)
    expect(one.cellOf(0, 'used')).toBe(1)
    // An idle slot is returned once slots are scarce.
    await grantor.clock.advance(5_000)
    expect([await other.call(), await one.call()]).toEqual([-1, 0])
  })

  it('are freed by calls that began before the declaration was replaced', async () => {
    const { grantor, first } = await openNodes(plan)
    expect([await first.call(), await first.call()]).toEqual([-1, -1])
    const { gauge } = first.verdict
    const next = openOn(first, grantor, limits({ concurrent: 2 }, { totals: { day: 50 } }))
    await grantor.clock.advance(200)
    expect(await next.call()).toBe(0)
    first.release(gauge)
    expect(await next.call()).toBe(-1)
  })

  it('are freed for the calls of a thread that died, also of those in the block before, and for no others', async () => {
    const { grantor, first } = await openNodes(limits({ concurrent: 9 }), ['a'], 2)
    const dying = openOn(first, grantor, limits({ concurrent: 9 }), 1)
    for (const calls of [first, dying, dying]) expect(await calls.call()).toBe(-1)
    const replaced = limits({ concurrent: 9 }, { totals: { day: 50 } })
    const later = openOn(first, grantor, replaced)
    expect(await openOn(first, grantor, replaced, 1).call()).toBe(-1)
    expect(later.cellOf(0, 'used')).toBe(4)
    first.memory.releaseThread(1)
    expect(later.cellOf(0, 'used')).toBe(1)
  })

  it('stay taken by calls that were admitted without a lease', async () => {
    const { first } = await openNodes(plan)
    expect(first.take(0, true)).toBe(-1)
    expect(first.cellOf(0, 'used')).toBe(1)
    first.release(first.verdict.gauge)
    expect(first.cellOf(0, 'used')).toBe(0)
  })
})

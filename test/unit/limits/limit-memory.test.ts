import { describe, expect, it } from 'vitest'
import { createLimitMemory } from '../../../src/limits/limit-memory.ts'
import { openTestLimiter, OPERATIONS, planOf } from '../../fixtures/test-limits.ts'

const NOON = '2026-03-04T12:00:00'
const NOON_MS = Date.parse(`${NOON}Z`)

/** Returns the results of `count` calls. */
function takeMany(opened: { take(at: string): true | string }, count: number): (true | string)[] {
  return Array.from({ length: count }, () => opened.take(NOON))
}

describe('a new version of a declaration', () => {
  it('keeps the block of counters if only numbers differ', () => {
    const memory = createLimitMemory({ threads: 1 })
    const before = openTestLimiter(planOf({ limits: [{ name: 'a', totals: { day: 5 }, concurrent: 9 }] }), memory)
    expect(takeMany(before, 3)).toEqual([true, true, true])
    const { gauge } = before.limiter.verdict
    const after = openTestLimiter(planOf({ limits: [{ name: 'a', totals: { day: 6 }, concurrent: 4 }] }), memory)

    expect(takeMany(after, 2)).toEqual([true, 'a concurrent'])
    before.limiter.release(before.block, gauge)
    expect(takeMany(after, 2)).toEqual([true, 'a concurrent'])
  })

  it('continues a rate with the use of the earlier one', () => {
    const memory = createLimitMemory({ threads: 1 })
    const rate = (value: number, duration: string) => planOf({ limits: [{ name: 'a', rate: { value, duration } }] })
    expect(takeMany(openTestLimiter(rate(10, 'minute'), memory), 6)).toEqual([true, true, true, true, true, true])

    expect(takeMany(openTestLimiter(rate(8, 'hour'), memory), 3)).toEqual([true, true, 'a rate'])
    const wider = openTestLimiter(rate(9, 'second'), memory)
    expect(takeMany(wider, 2)).toEqual([true, 'a rate'])
    expect(wider.take('2026-03-04T12:00:00.112')).toBe(true)
  })

  it('copies counters to a new layout, and counts calls that still run in the earlier block', () => {
    const memory = createLimitMemory({ threads: 2 })
    const thread = { thread: 1, threads: 2 }
    const quotas = { period: 'Daily', resourceUnits: 8 }
    const first = openTestLimiter(
      planOf({ limits: [{ name: 'a', concurrent: 3, totals: { day: 9 } }], quotas }),
      memory,
      thread,
    )
    expect(takeMany(first, 2)).toEqual([true, true])
    const { gauge } = first.limiter.verdict
    const own = { ...thread, limiter: first.limiter }
    const limits = [
      { name: 'b', operationIds: ['list'], concurrent: 1 },
      { name: 'a', concurrent: 3, totals: { day: 4 } },
    ]
    const second = openTestLimiter(planOf({ limits, quotas }), memory, own)

    expect(takeMany(second, 2)).toEqual([true, 'a concurrent'])
    expect(second.limiter.verdict.quotaUsedMicro).toBe(3_000_000)
    first.limiter.release(first.block, gauge)
    expect(takeMany(second, 2)).toEqual([true, 'a day'])

    const lastPlan = planOf({ limits: [...limits, { name: 'c', totals: { week: 9 } }] })
    const third = openTestLimiter(lastPlan, memory, own)
    expect(third.block.earlierGauges).toHaveLength(2)
    const shownOf = (key: string) =>
      memory.usage('sub_1', lastPlan, NOON_MS).limits[lastPlan.limits.findIndex((limit) => limit.key === key)]
    expect(shownOf('a/concurrent')).toEqual({ used: 3, endMs: null })
    memory.releaseThread(1)
    expect(shownOf('a/concurrent')).toEqual({ used: 0, endMs: null })
  })

  it('does not copy a quota of another period, or limits of another meaning', () => {
    const memory = createLimitMemory({ threads: 1 })
    const limits = (definition: object, period: string) =>
      planOf({ limits: [{ totals: { day: 1 }, ...definition }], quotas: { period, resourceUnits: 5 } })
    expect(takeMany(openTestLimiter(limits({ name: 'a' }, 'Daily'), memory), 1)).toEqual([true])
    const after = openTestLimiter(limits({ name: 'b', operationIds: [OPERATIONS[0]] }, 'Monthly'), memory)

    expect(takeMany(after, 1)).toEqual([true])
    expect(after.limiter.verdict.quotaUsedMicro).toBe(1_000_000)
  })

  it.each([
    ['with another name', [{ name: 'b', totals: { day: 2 } }]],
    ['of the same name for fewer operations', [{ name: 'a', operationIds: ['read'], totals: { day: 2 } }]],
    [
      'of the same name, although another one has the same meaning',
      [
        { name: 'b', totals: { day: 9 } },
        { name: 'a', operationIds: ['read'], totals: { day: 2 } },
      ].reverse(),
    ],
  ])('continues a counter in a limit %s', (_, limits) => {
    const memory = createLimitMemory({ threads: 1 })
    const before = openTestLimiter(planOf({ limits: [{ name: 'a', totals: { day: 1 } }] }), memory)
    expect(takeMany(before, 1)).toEqual([true])
    const after = openTestLimiter(planOf({ limits }), memory)
    expect(takeMany(after, 2)).toEqual([true, expect.stringContaining('day')])
  })
})

describe('the memory of limits', () => {
  it('allocates a separate block for each subscription at each API', () => {
    const memory = createLimitMemory({ threads: 1 })
    const plan = planOf({ limits: [{ name: 'a', totals: { day: 1 } }] })
    const places = [
      memory.blockFor('sub_1', plan),
      memory.blockFor('sub_2', plan),
      memory.blockFor('sub_1', { ...plan, api: 'other-v1' }),
    ].map((ref) => ref?.offset)

    expect(new Set(places).size).toBe(3)
    expect(memory.blockFor('sub_1', plan)?.offset).toBe(places[0])
  })

  it('uses at most 200 bytes for a subscription with five limits, four threads and a quota', () => {
    const memory = createLimitMemory({ threads: 4 })
    const plan = planOf({
      limits: [
        { name: 'a', totals: { hour: 1, day: 1, month: 1 }, rate: { value: 1, duration: 'second' }, concurrent: 1 },
      ],
      quotas: { period: 'Monthly', resourceUnits: 1 },
    })
    for (let subscription = 0; subscription < 32_000; subscription++) memory.blockFor(`sub_${subscription}`, plan)

    expect(memory.bytes / 32_000).toBeLessThanOrEqual(200)
  })

  it('returns null for new subscriptions at its bound', () => {
    const memory = createLimitMemory({ threads: 1, bytesMax: 600_000 })
    const plan = planOf({ limits: [{ name: 'a', totals: { day: 1 } }] })
    const blocks = Array.from({ length: 20_000 }, (_, index) => memory.blockFor(`sub_${index}`, plan))

    expect(blocks.filter((block) => block !== null)).toHaveLength(16_384)
    expect(memory.bytes).toBeLessThanOrEqual(600_000)
    expect(memory.blockFor('sub_7', plan)).not.toBeNull()
  })

  it('returns the use of each limit', () => {
    const memory = createLimitMemory({ threads: 1 })
    const plan = planOf({
      limits: [{ name: 'a', totals: { hour: 9 }, rate: { value: 6, duration: 'minute' }, concurrent: 5 }],
      quotas: { period: 'Daily', resourceUnits: 9 },
    })
    takeMany(openTestLimiter(plan, memory), 2)
    const shown = (nowMs: number, subscription = 'sub_1') => {
      const { limits, quota } = memory.usage(subscription, plan, nowMs)
      return [...limits.map(({ used }) => used), quota?.usedMicro]
    }

    expect(shown(NOON_MS)).toEqual([2, 2, 2, 2_000_000])
    expect(shown(NOON_MS + 10_000)).toEqual([2, 1, 2, 2_000_000])
    expect(shown(NOON_MS + 86_400_000)).toEqual([0, 0, 2, 0])
    expect(shown(NOON_MS, 'sub_2')).toEqual([0, 0, 0, 0])
    expect(memory.usage('sub_1', plan, NOON_MS)).toMatchObject({
      limits: [{ endMs: NOON_MS + 3_600_000 }, { endMs: null }, { endMs: null }],
      quota: { endMs: NOON_MS + 43_200_000 },
    })
  })

  it('returns the use under a declaration without calls, and allocates no memory for it', () => {
    const memory = createLimitMemory({ threads: 1 })
    takeMany(openTestLimiter(planOf({ limits: [{ name: 'a', totals: { hour: 9 } }] }), memory), 3)
    const { bytes } = memory
    const next = planOf({
      limits: [
        { name: 'b', concurrent: 5 },
        { name: 'a', totals: { hour: 20 } },
      ],
    })

    expect(memory.usage('sub_1', next, NOON_MS).limits.map(({ used }) => used)).toEqual([0, 3])
    expect(memory.bytes).toBe(bytes)
  })

  it('returns the restored use after a restart', () => {
    const plan = planOf({ limits: [{ name: 'a', totals: { hour: 9 } }] })
    const before = createLimitMemory({ threads: 1 })
    takeMany(openTestLimiter(plan, before), 4)
    const memory = createLimitMemory({ threads: 1, restore: (subscription, api) => before.counters(subscription, api) })

    expect(memory.usage('sub_1', plan, NOON_MS).limits).toMatchObject([{ used: 4 }])
  })
})

import { describe, expect, it } from 'vitest'
import { createLimitMemory } from '../../../../src/gateway/limits/limit-memory.ts'
import { openDesk, OPERATIONS, planOf } from '../../../fixtures/test-limits.ts'

const NOON = '2026-03-04T12:00:00'
const NOON_MS = Date.parse(`${NOON}Z`)

/** What `count` calls become. */
function takes(desk: { take(at: string): true | string }, count: number): (true | string)[] {
  return Array.from({ length: count }, () => desk.take(NOON))
}

describe('a new version of a declaration', () => {
  it('finds the counters where they are, if it differs in numbers alone', () => {
    const memory = createLimitMemory({ threads: 1 })
    const before = openDesk(planOf({ limits: [{ name: 'a', totals: { day: 5 }, concurrent: 9 }] }), memory)
    expect(takes(before, 3)).toEqual([true, true, true])
    const { gauge } = before.limiter.verdict
    const after = openDesk(planOf({ limits: [{ name: 'a', totals: { day: 6 }, concurrent: 4 }] }), memory)

    expect(takes(after, 2)).toEqual([true, 'a concurrent'])
    before.limiter.release(before.block, gauge)
    expect(takes(after, 2)).toEqual([true, 'a concurrent'])
  })

  it('goes on with a rate from what was used of the one before', () => {
    const memory = createLimitMemory({ threads: 1 })
    const rate = (value: number, duration: string) => planOf({ limits: [{ name: 'a', rate: { value, duration } }] })
    expect(takes(openDesk(rate(10, 'minute'), memory), 6)).toEqual([true, true, true, true, true, true])

    expect(takes(openDesk(rate(8, 'hour'), memory), 3)).toEqual([true, true, 'a rate'])
    const wider = openDesk(rate(9, 'second'), memory)
    expect(takes(wider, 2)).toEqual([true, 'a rate'])
    expect(wider.take('2026-03-04T12:00:00.112')).toBe(true)
  })

  it('carries counters over to another layout, and counts calls that still run in the one before', () => {
    const memory = createLimitMemory({ threads: 2 })
    const thread = { thread: 1, threads: 2 }
    const quotas = { period: 'Daily', resourceUnits: 8 }
    const first = openDesk(
      planOf({ limits: [{ name: 'a', concurrent: 3, totals: { day: 9 } }], quotas }),
      memory,
      thread,
    )
    expect(takes(first, 2)).toEqual([true, true])
    const { gauge } = first.limiter.verdict
    const own = { ...thread, limiter: first.limiter }
    const limits = [
      { name: 'b', operationIds: ['list'], concurrent: 1 },
      { name: 'a', concurrent: 3, totals: { day: 4 } },
    ]
    const second = openDesk(planOf({ limits, quotas }), memory, own)

    expect(takes(second, 2)).toEqual([true, 'a concurrent'])
    expect(second.limiter.verdict.quotaUsedMicro).toBe(3_000_000)
    first.limiter.release(first.block, gauge)
    expect(takes(second, 2)).toEqual([true, 'a day'])

    const lastPlan = planOf({ limits: [...limits, { name: 'c', totals: { week: 9 } }] })
    const third = openDesk(lastPlan, memory, own)
    expect(third.block.earlierGauges).toHaveLength(2)
    const shownOf = (key: string) =>
      memory.usage('sub_1', lastPlan, NOON_MS).limits[lastPlan.limits.findIndex((limit) => limit.key === key)]
    expect(shownOf('a/concurrent')).toEqual({ used: 3, endMs: null })
    memory.releaseThread(1)
    expect(shownOf('a/concurrent')).toEqual({ used: 0, endMs: null })
  })

  it('forgets a quota of another period, and limits of another meaning', () => {
    const memory = createLimitMemory({ threads: 1 })
    const limits = (definition: object, period: string) =>
      planOf({ limits: [{ totals: { day: 1 }, ...definition }], quotas: { period, resourceUnits: 5 } })
    expect(takes(openDesk(limits({ name: 'a' }, 'Daily'), memory), 1)).toEqual([true])
    const after = openDesk(limits({ name: 'b', operationIds: [OPERATIONS[0]] }, 'Monthly'), memory)

    expect(takes(after, 1)).toEqual([true])
    expect(after.limiter.verdict.quotaUsedMicro).toBe(1_000_000)
  })

  it.each([
    ['that is called otherwise', [{ name: 'b', totals: { day: 2 } }]],
    ['of the same name that holds for fewer operations', [{ name: 'a', operationIds: ['read'], totals: { day: 2 } }]],
    [
      'of the same name, beside another that means the same',
      [
        { name: 'b', totals: { day: 9 } },
        { name: 'a', operationIds: ['read'], totals: { day: 2 } },
      ].reverse(),
    ],
  ])('goes on in a limit %s', (_, limits) => {
    const memory = createLimitMemory({ threads: 1 })
    const before = openDesk(planOf({ limits: [{ name: 'a', totals: { day: 1 } }] }), memory)
    expect(takes(before, 1)).toEqual([true])
    const after = openDesk(planOf({ limits }), memory)
    expect(takes(after, 2)).toEqual([true, expect.stringContaining('day')])
  })
})

describe('limit memory', () => {
  it('gives each subscription at each API a block of its own', () => {
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

  it('takes at most 200 bytes for a subscription of five limits, four threads and a quota', () => {
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

  it('ends at its bound', () => {
    const memory = createLimitMemory({ threads: 1, bytesMax: 600_000 })
    const plan = planOf({ limits: [{ name: 'a', totals: { day: 1 } }] })
    const blocks = Array.from({ length: 20_000 }, (_, index) => memory.blockFor(`sub_${index}`, plan))

    expect(blocks.filter((block) => block !== null)).toHaveLength(16_384)
    expect(memory.bytes).toBeLessThanOrEqual(600_000)
    expect(memory.blockFor('sub_7', plan)).not.toBeNull()
  })

  it('shows what is used', () => {
    const memory = createLimitMemory({ threads: 1 })
    const plan = planOf({
      limits: [{ name: 'a', totals: { hour: 9 }, rate: { value: 6, duration: 'minute' }, concurrent: 5 }],
      quotas: { period: 'Daily', resourceUnits: 9 },
    })
    takes(openDesk(plan, memory), 2)
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

  it('shows what is used under a declaration that has not been called by, and cuts no memory for it', () => {
    const memory = createLimitMemory({ threads: 1 })
    takes(openDesk(planOf({ limits: [{ name: 'a', totals: { hour: 9 } }] }), memory), 3)
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

  it('shows what was used before the process began', () => {
    const plan = planOf({ limits: [{ name: 'a', totals: { hour: 9 } }] })
    const before = createLimitMemory({ threads: 1 })
    takes(openDesk(plan, before), 4)
    const memory = createLimitMemory({ threads: 1, restore: (subscription, api) => before.counters(subscription, api) })

    expect(memory.usage('sub_1', plan, NOON_MS).limits).toMatchObject([{ used: 4 }])
  })
})

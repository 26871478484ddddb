import { describe, expect, it } from 'vitest'
import { createLimiter } from '../../../src/limits/limiter.ts'
import { createLimitMemory } from '../../../src/limits/limit-memory.ts'
import { GROUPS_MAX } from '../../../src/limits/decision-context.ts'
import { openTestLimiter, openLimit, planOf } from '../../fixtures/test-limits.ts'

describe('which definition applies', () => {
  const peak = { name: 'peak', validity: [{ name: 'v', start: '09:00', end: '12:00' }] }

  it('is the first one that is valid at the time, for each property', () => {
    const { take } = openTestLimiter(
      planOf({
        limits: [
          { ...peak, totals: { minute: 2 } },
          { name: 'normal', totals: { minute: 1, day: 5 } },
        ],
      }),
    )

    expect(take('2026-03-04T08:59:59.999')).toBe(true)
    expect(take('2026-03-04T08:59:59.999')).toBe('normal minute')
    expect(take('2026-03-04T09:00:00.000')).toBe(true)
    expect(take('2026-03-04T09:00:00.000')).toBe(true)
    expect(take('2026-03-04T09:00:00.000')).toBe('peak minute')
    expect(take('2026-03-04T12:00:00.000')).toBe(true)
    expect(take('2026-03-04T12:00:00.000')).toBe('normal minute')
    expect(take('2026-03-04T12:01:00.000')).toBe(true)
    expect(take('2026-03-04T12:02:00.000')).toBe('normal day')
  })

  it('is none for a property with the value 0, so that calls do not count in a later definition', () => {
    const { take } = openTestLimiter(
      planOf({
        limits: [
          { ...peak, totals: { day: 0 } },
          { name: 'normal', totals: { day: 1 } },
        ],
      }),
    )

    for (let call = 0; call < 10; call++) expect(take('2026-03-04T10:00:00')).toBe(true)
    expect(take('2026-03-04T13:00:00')).toBe(true)
    expect(take('2026-03-04T13:00:00')).toBe('normal day')
    expect(take('2026-03-04T11:00:00')).toBe(true)
  })

  it('has one counter for the operations that it lists, separate from others', () => {
    const { take } = openTestLimiter(
      planOf({
        limits: [
          { name: 'ours', operationIds: ['read', 'write'], totals: { day: 2 } },
          { name: 'rest', totals: { day: 1 } },
        ],
      }),
    )

    expect(take('2026-03-04T10:00:00', 0)).toBe(true)
    expect(take('2026-03-04T10:00:00', 1)).toBe(true)
    expect(take('2026-03-04T10:00:00', 0)).toBe('ours day')
    expect(take('2026-03-04T10:00:00', 2)).toBe(true)
    expect(take('2026-03-04T10:00:00', 2)).toBe('rest day')
  })
})

describe('a rate', () => {
  const noonMs = Date.parse('2026-03-04T12:00:00Z')

  it('admits a burst of its value, then one call whenever one has leaked', () => {
    const { take, limiter } = openLimit({ rate: { value: 3, duration: 'second' } })

    for (let call = 0; call < 3; call++) expect(take(noonMs)).toBe(true)
    expect(take(noonMs)).toBe('a rate')
    expect(limiter.verdict.retryAfterMs).toBe(334)
    expect(take(noonMs + 333)).toBe('a rate')
    expect(take(noonMs + 334)).toBe(true)
    expect(take(noonMs + 334)).toBe('a rate')
    expect(take(noonMs + 666)).toBe('a rate')
    expect(take(noonMs + 667)).toBe(true)
    expect(take(noonMs + 1_000)).toBe(true)
    expect(take(noonMs + 1_000)).toBe('a rate')
  })

  it('has no rounding error in ten million milliseconds', () => {
    const { take } = openLimit({ rate: { value: 7, duration: 'minute' } })
    let admitted = 0
    for (let atMs = noonMs; atMs < noonMs + 10_000_000; atMs += 97) if (take(atMs) === true) admitted++

    expect(admitted).toBe(7 + Math.floor((103_092 * 97 * 7) / 60_000))
  })
})

describe('a rate under a clock that is set back', () => {
  it('leaks nothing at that moment, and continues to leak from then on', () => {
    const { take } = openLimit({ rate: { value: 1, duration: 'minute' } })

    expect(take('2026-03-04T20:00:00')).toBe(true)
    expect(take('2026-03-04T10:00:00')).toBe('a rate')
    expect(take('2026-03-04T10:00:59.999')).toBe('a rate')
    expect(take('2026-03-04T10:01:00')).toBe(true)
  })
})

describe('a limit of concurrent calls', () => {
  it('admits another call for each call that ends', () => {
    const { take, limiter, block } = openLimit({ concurrent: 2 })
    expect(take(1)).toBe(true)
    const { gauge } = limiter.verdict
    expect(take(1)).toBe(true)
    expect(take(1)).toBe('a concurrent')
    expect(limiter.verdict).toMatchObject({ retryAfterMs: 0, gauge: 0 })

    limiter.release(block, gauge)
    expect(take(1)).toBe(true)
    expect(take(1)).toBe('a concurrent')
    for (let call = 0; call < 9; call++) limiter.release(block, gauge)
    expect([take(1), take(1), take(1)]).toEqual([true, true, 'a concurrent'])
  })

  it('counts the calls of all threads, and releases those of a thread that ended', () => {
    const plan = planOf({ limits: [{ name: 'a', concurrent: 3 }] })
    const memory = createLimitMemory({ threads: 3 })
    const [one, two] = [0, 2].map((thread) => openTestLimiter(plan, memory, { thread, threads: 3 }))

    expect([one?.take(1), two?.take(1), two?.take(1), one?.take(1)]).toEqual([true, true, true, 'a concurrent'])
    memory.releaseThread(2)
    expect([one?.take(1), one?.take(1), one?.take(1)]).toEqual([true, true, 'a concurrent'])
  })
})

describe('a decision', () => {
  it('counts a call in all limits or in none', () => {
    const { take, limiter, block } = openLimit(
      { totals: { minute: 2, hour: 5 }, concurrent: 3, rate: { value: 4, duration: 'hour' } },
      { quotas: { period: 'Daily', resourceUnits: 3 } },
    )
    const minute = (number: number) => `2026-03-04T10:0${number}:00`

    expect([take(minute(0)), take(minute(0))]).toEqual([true, true])
    const { gauge } = limiter.verdict
    for (let call = 0; call < 20; call++) expect(take(minute(0))).toBe('a minute')
    expect(take(minute(1))).toBe(true)
    for (let call = 0; call < 20; call++) expect(take(minute(1))).toBe('a concurrent')
    limiter.release(block, gauge)
    for (let call = 0; call < 20; call++) expect(take(minute(1))).toBe('quota')
    expect(limiter.verdict.quotaUsedMicro).toBe(3_000_000)
  })

  it('names the limit with the longest wait if several refuse', () => {
    const { take, limiter } = openLimit({
      totals: { minute: 1, day: 1, hour: 1 },
      rate: { value: 1, duration: 'second' },
    })

    expect(take('2026-03-04T23:00:00')).toBe(true)
    expect(take('2026-03-04T23:00:00')).toBe('a day')
    expect(limiter.verdict.retryAfterMs).toBe(3_600_000)
  })

  it('leaves no data of one caller in the verdict of another', () => {
    const limiter = createLimiter({ thread: 0, threads: 1 })
    const memory = createLimitMemory({ threads: 1 })
    const own = { thread: 0, threads: 1, limiter }
    const rich = openTestLimiter(planOf({ quotas: { period: 'Daily', resourceUnits: 9 } }), memory, own)
    const poor = openTestLimiter(
      {
        ...planOf({ limits: [{ name: 'a', totals: { day: 1 } }], quotas: { period: 'Daily', resourceUnits: 9 } }),
        api: 'other-v1',
      },
      memory,
      own,
    )

    expect([rich.take(1), rich.take(1), poor.take(1), poor.take(1)]).toEqual([true, true, true, 'a day'])
    expect(limiter.verdict.quotaUsedMicro).toBe(1_000_000)
  })

  it('releases the lock if it fails', () => {
    const { limiter, sla, block, take } = openLimit({ concurrent: 1 })

    expect(() => limiter.take(sla, block, 99, 1)).toThrow(TypeError)
    expect([take(1), limiter.verdict.retryAfterMs]).toEqual([true, 0])
  })

  it('refuses a call with a block of another layout', () => {
    const limiter = createLimiter({ thread: 0, threads: 1 })
    const own = { thread: 0, threads: 1, limiter }
    const { block } = openTestLimiter(planOf({ limits: [{ name: 'a', concurrent: 5 }] }), undefined, own)
    const { sla } = openTestLimiter(planOf({ limits: [{ name: 'b', concurrent: 5 }] }), undefined, own)

    expect(limiter.take(sla, block, 0, 1)).toBe(0)
    expect(limiter.verdict).toMatchObject({ retryAfterMs: 1_000, gauge: 0 })
  })
})

describe('a plan with many groups of limits', () => {
  /** The first groups allow many calls, the last one allows one. */
  const planWith = (groups: number) => {
    const limits = Array.from({ length: groups }, (_, index) => ({ name: `d${index}`, totals: { day: index + 1 } }))
    const plan = planOf({ limits: limits.toReversed() })
    return { ...plan, byOperation: { '*': limits.map((_, position) => [position]) } }
  }

  it('is enforced to its last group', () => {
    const { take } = openTestLimiter(planWith(GROUPS_MAX))

    expect(take('2026-03-04T10:00:00')).toBe(true)
    expect(take('2026-03-04T10:00:00')).toBe('d0 day')
  })

  it('is refused if a decision could not check all of them', () => {
    expect(() => openTestLimiter(planWith(GROUPS_MAX + 1))).toThrow(`at most ${GROUPS_MAX}`)
  })
})

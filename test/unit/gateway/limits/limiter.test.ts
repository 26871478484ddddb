import { describe, expect, it } from 'vitest'
import { createLimiter } from '../../../../src/gateway/limits/limiter.ts'
import { createLimitMemory } from '../../../../src/gateway/limits/limit-memory.ts'
import { openTestLimiter, openLimit, planOf } from '../../../fixtures/test-limits.ts'

describe('a total counts in calendar windows of UTC', () => {
  it.each([
    ['minute', '2026-03-04T10:15:00.000', '2026-03-04T10:15:59.999', '2026-03-04T10:16:00.000'],
    ['hour', '2026-03-04T10:00:00.000', '2026-03-04T10:59:59.999', '2026-03-04T11:00:00.000'],
    ['day', '2026-03-04T00:00:00.000', '2026-03-04T23:59:59.999', '2026-03-05T00:00:00.000'],
    ['day', '2026-12-31T00:00:00.000', '2026-12-31T23:59:59.999', '2027-01-01T00:00:00.000'],
    ['week', '2026-03-02T00:00:00.000', '2026-03-08T23:59:59.999', '2026-03-09T00:00:00.000'],
    ['week', '2026-12-28T00:00:00.000', '2027-01-03T23:59:59.999', '2027-01-04T00:00:00.000'],
    ['month', '2026-02-01T00:00:00.000', '2026-02-28T23:59:59.999', '2026-03-01T00:00:00.000'],
    ['month', '2028-02-01T00:00:00.000', '2028-02-29T23:59:59.999', '2028-03-01T00:00:00.000'],
    ['month', '2100-02-01T00:00:00.000', '2100-02-28T23:59:59.999', '2100-03-01T00:00:00.000'],
    ['month', '2026-12-01T00:00:00.000', '2026-12-31T23:59:59.999', '2027-01-01T00:00:00.000'],
  ])('%s: from %s to %s', (window, first, last, next) => {
    const { take, limiter } = openLimit({ totals: { [window]: 1 } })
    const before = Date.parse(`${first}Z`) - 1

    expect(take(before)).toBe(true)
    expect(take(before)).toBe(`a ${window}`)
    expect(limiter.verdict.retryAfterMs).toBe(1)
    expect(take(first)).toBe(true)
    expect(take(first)).toBe(`a ${window}`)
    expect(take(last)).toBe(`a ${window}`)
    expect(limiter.verdict.retryAfterMs).toBe(1)
    expect(take(next)).toBe(true)
  })

  it('does not start a window twice if two threads read the clock around its edge', () => {
    const { take } = openLimit({ totals: { minute: 1 } })

    expect(take('2026-03-04T10:16:00.001')).toBe(true)
    expect(take('2026-03-04T10:15:59.999')).toBe('a minute')
    expect(take('2026-03-04T10:16:00.002')).toBe('a minute')
  })

  it('starts a new window when a clock that was hours ahead is corrected', () => {
    const { take } = openLimit({ totals: { minute: 1 } })

    expect(take('2026-03-04T20:00:00')).toBe(true)
    expect(take('2026-03-04T10:00:00')).toBe(true)
    expect(take('2026-03-04T10:00:00')).toBe('a minute')
  })
})

describe('a total of a period counts in the span of its validity', () => {
  it.each([
    ['06:00', '10:13:50', '2026-03-04T06:00:00.000', '2026-03-04T10:13:49.999', '2026-03-04T10:13:50.000'],
    ['21:00', '03:00', '2026-03-04T21:00:00.000', '2026-03-05T02:59:59.999', '2026-03-05T03:00:00.000'],
    ['21:00', '24:00', '2026-02-28T21:00:00.000', '2026-02-28T23:59:59.999', '2026-03-01T00:00:00.000'],
    ['00:00', '03:00', '2028-02-29T00:00:00.000', '2028-02-29T02:59:59.999', '2028-02-29T03:00:00.000'],
    ['22:00', '22:00:01', '2026-12-31T22:00:00.000', '2026-12-31T22:00:00.999', '2026-12-31T22:00:01.000'],
  ])('%s to %s: from %s to %s', (start, end, first, last, after) => {
    const { take } = openLimit({ totals: { period: 1 }, validity: [{ name: 'v', start, end }] })

    expect(take(Date.parse(`${first}Z`) - 1)).toBe(true)
    expect(take(Date.parse(`${first}Z`) - 1)).toBe(true)
    expect(take(first)).toBe(true)
    expect(take(first)).toBe('a period')
    expect(take(last)).toBe('a period')
    expect(take(after)).toBe(true)
    expect(take(after)).toBe(true)
    expect(take(Date.parse(`${first}Z`) + 86_400_000)).toBe(true)
    expect(take(Date.parse(`${first}Z`) + 86_400_000)).toBe('a period')
  })

  it('treats the hours before and after midnight as one night', () => {
    const { take } = openLimit({
      totals: { period: 2 },
      validity: [
        { name: 'morning', start: '00:00', end: '03:00' },
        { name: 'evening', start: '21:00', end: '24:00' },
      ],
    })

    expect(take('2026-03-04T02:00:00')).toBe(true)
    expect(take('2026-03-04T22:00:00')).toBe(true)
    expect(take('2026-03-05T01:00:00')).toBe(true)
    expect(take('2026-03-05T02:59:59')).toBe('a period')
    expect(take('2026-03-05T21:00:00')).toBe(true)
  })
})

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

describe('a quota', () => {
  it.each([
    ['Daily', '2026-03-04T23:59:59.999', '2026-03-05T00:00:00.000'],
    ['Monthly', '2028-02-29T23:59:59.999', '2028-03-01T00:00:00.000'],
    ['Quarterly', '2026-06-30T23:59:59.999', '2026-07-01T00:00:00.000'],
    ['Annual', '2026-12-31T23:59:59.999', '2027-01-01T00:00:00.000'],
  ])('of the period %s ends with %s', (period, last, next) => {
    const { take, limiter } = openLimit({}, { quotas: { period, resourceUnits: 1 } })

    expect(take(last)).toBe(true)
    expect(take(last)).toBe('quota')
    expect(limiter.verdict.retryAfterMs).toBe(1)
    expect(take(next)).toBe(true)
    expect(take(next)).toBe('quota')
  })

  it('counts millionths, and refuses only calls that exceed it', () => {
    const { take, limiter } = openLimit(
      {},
      { quotas: { period: 'Monthly', resourceUnits: 1 }, resourceUnits: { default: 0, operations: { write: 0.3 } } },
    )

    expect([take(1, 1), take(1, 1), take(1, 1), take(1, 1), take(1, 0)]).toEqual([true, true, true, 'quota', true])
    expect(limiter.verdict.quotaUsedMicro).toBe(900_000)
  })

  it('gets units back only in the period in which they were charged', () => {
    const { take, limiter, sla, block } = openLimit({}, { quotas: { period: 'Daily', resourceUnits: 2 } })
    const [today, tomorrow] = ['2026-03-04T23:00:00', '2026-03-05T01:00:00']
    expect(take(today)).toBe(true)
    const { quotaStartMs } = limiter.verdict
    expect(take(today)).toBe(true)
    limiter.giveBack(sla, block, 1_000_000, quotaStartMs)
    expect([take(today), take(today)]).toEqual([true, 'quota'])

    expect([take(tomorrow), take(tomorrow)]).toEqual([true, true])
    limiter.giveBack(sla, block, 1_000_000, quotaStartMs)
    expect(take(tomorrow)).toBe('quota')
  })

  it('has no end for PayAsYouGo', () => {
    const { take, limiter } = openLimit({}, { quotas: { period: 'PayAsYouGo' } })
    for (let call = 0; call < 100; call++) expect(take(1)).toBe(true)

    expect(limiter.verdict).toMatchObject({ quotaUsedMicro: 100_000_000, approaching: false })
  })
})

describe('the warning that a limit is near', () => {
  /** Returns the positions of the calls that warned. */
  function warnings(definition: object, more: object, calls: readonly (string | number)[], operation = 0): number[] {
    const { take, limiter } = openLimit(definition, more)
    return calls.flatMap((at, index) => {
      take(at, operation)
      return limiter.verdict.approaching ? [index] : []
    })
  }
  const at = (count: number) => Array.from({ length: count }, () => '2026-03-04T10:00:00')

  it.each([
    ['total', { totals: { day: 10 } }, {}, 7],
    ['rate', { rate: { value: 10, duration: 'hour' } }, {}, 7],
    ['gauge', { concurrent: 10 }, {}, 7],
    ['quota', {}, { quotas: { period: 'Daily', resourceUnits: 10 } }, 7],
    ['total with a declared threshold', { totals: { day: 100 } }, { quotas: { alertThreshold: 7 } }, 6],
    ['total with a threshold of 100 %', { totals: { day: 3 } }, { quotas: { alertThreshold: 100 } }, 2],
    ['total of one call', { totals: { day: 1 } }, {}, 0],
  ])('is sent once for a %s', (_, definition, more, index) => {
    expect(warnings(definition, more, at(30))).toEqual([index])
  })

  it('is sent again in the next window', () => {
    const days = [4, 4, 4, 5, 5, 5].map((day) => `2026-03-0${day}T10:00:00`)
    expect(warnings({ totals: { day: 2 } }, {}, days)).toEqual([1, 4])
  })

  it('is sent again for a rate only after its level has fallen below half', () => {
    const seconds = [0, 0, 0, 0, 1, 2, 3, 4, 7, 7, 7].map((second) => `2026-03-04T10:00:0${second}`)
    const rate = { value: 4, duration: 'minute' }
    expect(
      warnings({ rate }, {}, [...seconds, '2026-03-04T10:00:31', '2026-03-04T10:00:31', '2026-03-04T10:00:31']),
    ).toEqual([3, 12])
  })

  it('is sent before the first refusal if the next call may exceed the quota', () => {
    const more = {
      quotas: { period: 'Daily', resourceUnits: 10, alertThreshold: 100 },
      resourceUnits: { default: 3 },
    }
    expect(warnings({}, more, at(6))).toEqual([2])
  })

  it('is sent with the first refusal if no call preceded it', () => {
    const more = { quotas: { period: 'Daily', resourceUnits: 10 }, resourceUnits: { default: 11 } }
    expect(warnings({}, more, at(3))).toEqual([0])
  })

  it('is sent before the refusal of a rate whose bucket is never full', () => {
    const { take, limiter } = openLimit({ rate: { value: 2, duration: 'second' } }, { quotas: { alertThreshold: 100 } })

    expect([take(0), limiter.verdict.approaching]).toEqual([true, false])
    expect([take(100), limiter.verdict.approaching]).toEqual([true, true])
    expect([take(100), limiter.verdict.approaching]).toEqual(['a rate', false])
  })
})

import { describe, expect, it } from 'vitest'
import { openLimit } from '../../fixtures/test-limits.ts'

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

import { describe, expect, it } from 'vitest'
import { limitState, quotaState } from '../../../src/limits/limit-state.ts'
import { openLimit, type TestLimiter } from '../../fixtures/test-limits.ts'

const OPENS_AT = '2027-01-01T00:00:00.000Z'

const stateOf = ({ sla, limiter }: TestLimiter, window: string | null) =>
  limitState(sla, limiter.verdict, window, OPENS_AT)

describe('the state of a limit that refused', () => {
  it('counts the calls of a rate', () => {
    const opened = openLimit({ rate: { value: 2, duration: 'minute' } })
    while (opened.take(0) === true);
    expect(stateOf(opened, '60 s')).toEqual({
      name: 'a rate',
      kind: 'rate',
      limit: 2,
      used: 2,
      remaining: 0,
      window: '60 s',
      opensAt: OPENS_AT,
    })
  })

  it('has no window for concurrent calls, and reopens when one of them ends', () => {
    const opened = openLimit({ concurrent: 3 })
    while (opened.take(0) === true);
    expect(stateOf(opened, null)).toMatchObject({
      kind: 'concurrent',
      used: 3,
      remaining: 0,
      window: null,
      opensAt: null,
    })
  })

  it('has the remaining units of a quota if the call costs more', () => {
    const opened = openLimit({}, { quotas: { period: 'Monthly', resourceUnits: 10 }, resourceUnits: { default: 4 } })
    while (opened.take(0) === true);
    expect(quotaState(opened.sla, 0, opened.limiter.verdict, 'Monthly', OPENS_AT)).toMatchObject({
      kind: 'quota',
      limit: 10,
      used: 8,
      remaining: 2,
      window: 'Monthly',
    })
  })

  it('is unknown if the counters could not be read', () => {
    const opened = openLimit({ totals: { day: 5 } })
    const other = openLimit({ totals: { hour: 5 } })
    const { sla, limiter } = opened
    // A block of another plan, so that no decision is possible.
    limiter.take(sla, { ...other.block, layout: -1 }, 0, 0)
    expect(stateOf(opened, 'day')).toMatchObject({ limit: 5, used: null, remaining: null })
  })
})

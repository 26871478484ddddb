/** Issue 14, point 14: the state of a limit at the moment at which it refused a call. */

import { describe, expect, it } from 'vitest'
import { limitState, quotaState } from '../../../../src/gateway/limits/limit-state.ts'
import { openLimit, type Desk } from '../../../fixtures/test-limits.ts'

const OPENS_AT = '2027-01-01T00:00:00.000Z'

const stateOf = ({ sla, limiter }: Desk, window: string | null) => limitState(sla, limiter.verdict, window, OPENS_AT)

describe('point 14: the state of a limit that refused', () => {
  it('counts the calls of a rate', () => {
    const desk = openLimit({ rate: { value: 2, duration: 'minute' } })
    while (desk.take(0) === true);
    expect(stateOf(desk, '60 s')).toEqual({
      name: 'a rate',
      kind: 'rate',
      limit: 2,
      used: 2,
      remaining: 0,
      window: '60 s',
      opensAt: OPENS_AT,
    })
  })

  it('of calls at once has no window, and opens when one of them ends', () => {
    const desk = openLimit({ concurrent: 3 })
    while (desk.take(0) === true);
    expect(stateOf(desk, null)).toMatchObject({
      kind: 'concurrent',
      used: 3,
      remaining: 0,
      window: null,
      opensAt: null,
    })
  })

  it('of a quota says what is left, if the call costs more than that', () => {
    const desk = openLimit({}, { quotas: { period: 'Monthly', resourceUnits: 10 }, resourceUnits: { default: 4 } })
    while (desk.take(0) === true);
    expect(quotaState(desk.sla, 0, desk.limiter.verdict, 'Monthly', OPENS_AT)).toMatchObject({
      kind: 'quota',
      limit: 10,
      used: 8,
      remaining: 2,
      window: 'Monthly',
    })
  })

  it('is unknown if the counters could not be read', () => {
    const desk = openLimit({ totals: { day: 5 } })
    const other = openLimit({ totals: { hour: 5 } })
    const { sla, limiter } = desk
    // A block that was made for another plan: no decision is possible.
    limiter.take(sla, { ...other.block, layout: -1 }, 0, 0)
    expect(stateOf(desk, 'day')).toMatchObject({ limit: 5, used: null, remaining: null })
  })
})

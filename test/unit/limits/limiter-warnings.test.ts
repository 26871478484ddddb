import { describe, expect, it } from 'vitest'
import { openLimit } from '../../fixtures/test-limits.ts'

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

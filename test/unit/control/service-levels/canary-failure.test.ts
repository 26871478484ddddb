/** When a canary counts as failing, for numbers at and around each threshold. */

import { describe, expect, it } from 'vitest'
import { isCanaryFailing } from '../../../../src/control/service-levels/canary-failure.ts'
import { createRandom } from '../../../random.ts'

const of = (calls: number, failed: number) => ({ calls, unanswered: failed >> 1, errors: failed - (failed >> 1) })

describe('A canary', () => {
  it.each([
    ['five of twenty calls failed', of(20, 5), of(1_000, 0), true],
    ['it has too few calls', of(19, 19), of(1_000, 0), false],
    ['too few of its calls failed', of(20, 4), of(1_000, 0), false],
    ['five of a hundred calls failed', of(100, 5), of(1_000, 0), true],
    ['it is five points worse', of(10_000, 500), of(10_000, 0), true],
    ['it is not five points worse', of(10_000, 499), of(10_000, 0), false],
    ['it is five points worse by chance', of(100, 20), of(900, 135), false],
    ['it is worse beyond chance', of(1_000, 200), of(9_000, 1_350), true],
    ['every call of both fails', of(1_000, 1_000), of(1_000, 1_000), false],
    ['all of its calls fail, as most of the others do', of(100, 100), of(900, 700), true],
    ['it is better', of(1_000, 100), of(1_000, 500), false],
    ['nothing is known about the active revision', of(20, 5), null, true],
    ['neither has calls', of(0, 0), of(0, 0), false],
  ])('that did not fail is judged if %s', (_, canary, active, isFailing) => {
    expect(isCanaryFailing(canary, active, false)).toBe(isFailing)
  })

  it.each([
    ['it is 2.5 points worse', of(1_000, 35), of(1_000, 10), true],
    ['it is less than 2.5 points worse', of(1_000, 34), of(1_000, 10), false],
    ['it has few calls now', of(19, 19), of(1_000, 0), false],
    ['the active revision fails as well', of(1_000, 500), of(1_000, 500), false],
  ])('that failed is judged if %s', (_, canary, active, isFailing) => {
    expect(isCanaryFailing(canary, active, true)).toBe(isFailing)
  })

  it('that fails as often as the active revision is hardly ever taken for one that fails', () => {
    const random = createRandom(7)
    const fail = (calls: number, share: number): number => {
      let failed = 0
      for (let call = 0; call < calls; call++) if (random.next() < share) failed++
      return failed
    }
    const taken: Record<string, number> = {}
    for (const share of [0.001, 0.01, 0.05, 0.2, 0.5, 0.9]) {
      for (const [calls, others] of [
        [20, 20],
        [20, 180],
        [50, 450],
        [90, 20],
      ] as const) {
        for (let comparison = 0; comparison < 1_000; comparison++) {
          const [canary, active] = [of(calls, fail(calls, share)), of(others, fail(others, share))]
          if (isCanaryFailing(canary, active, false)) taken[share] = (taken[share] ?? 0) + 1
        }
      }
    }
    // Of 4,000 each.
    expect(Object.values(taken).filter((times) => times > 4)).toEqual([])
  })
})

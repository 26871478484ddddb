/** The warning that a limit is near: its threshold, and the flag that limits it to one warning per window. */

import type { Verdict } from './limit-verdict.ts'

/** Rounds to 12 digits first: 7 % of 100 is 7, though 0.07 × 100 is slightly above 7 in floating point. */
export function alertThreshold(capacity: number, share: number): number {
  return capacity === Infinity ? capacity : Math.min(capacity, Math.ceil(Number((capacity * share).toPrecision(12))))
}

/** Marks the call if its limit is near and no call was marked since the flag at `warnedAt` was cleared. */
export function warn(verdict: Verdict, doubles: Float64Array, warnedAt: number, isNear: boolean): void {
  if (!isNear || doubles[warnedAt] === 1) return
  doubles[warnedAt] = 1
  verdict.approaching = true
}

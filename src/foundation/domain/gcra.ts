/**
 * Generic cell rate algorithm (ITU-T I.371) as a leaky bucket in whole units, exact for any number of calls.
 *
 * A call adds `step` units, a millisecond leaks `leak` units, and the bucket holds `value` calls. `step` and `leak` are the
 * declared rate in lowest terms, so nothing is rounded while capacities stay below 2^53, which `isExactRate` checks.
 */

export interface Bucket {
  /** Units of one call. */
  readonly step: number
  /** Units that leak in a millisecond. */
  readonly leak: number
  readonly capacity: number
}

/** Returns the rate of `value` calls in `spanMs`, all of which may arrive together. */
export function toBucket(value: number, spanMs: number): Bucket {
  const divisor = value === 0 ? spanMs : greatestDivisor(value, spanMs)
  const step = spanMs / divisor
  return { step, leak: value / divisor, capacity: value * step }
}

export function isExactRate(value: number, spanMs: number): boolean {
  return Number.isSafeInteger(toBucket(value, spanMs).capacity)
}

/** Returns the level at `nowMs` of a bucket whose level was set at `sinceMs`. Nothing leaks while a clock is set back. */
export function levelAt(level: number, sinceMs: number, nowMs: number, leak: number): number {
  if (nowMs <= sinceMs) return level
  const left = level - (nowMs - sinceMs) * leak
  return left > 0 ? left : 0
}

/** Returns the whole milliseconds until `units` have leaked. */
export function leakTimeMs(units: number, leak: number): number {
  return units <= 0 ? 0 : Math.ceil(units / leak)
}

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b)
}

/**
 * The generic cell rate algorithm (ITU-T I.371) as a leaking bucket in whole units: exact, however many
 * calls pass.
 *
 * A call costs `step` units, a millisecond leaks `leak` of them, and the bucket holds `value` calls. Both
 * are the declared rate in lowest terms, so that nothing is ever rounded while capacities stay below
 * 2^53: `isExactRate` says whether they do.
 */

export interface Bucket {
  /** Units of one call. */
  readonly step: number
  /** Units that leak in a millisecond. */
  readonly leak: number
  readonly capacity: number
}

/** `value` calls in `spanMs`, all of which may come at once. */
export function toBucket(value: number, spanMs: number): Bucket {
  const divisor = value === 0 ? spanMs : greatestDivisor(value, spanMs)
  const step = spanMs / divisor
  return { step, leak: value / divisor, capacity: value * step }
}

export function isExactRate(value: number, spanMs: number): boolean {
  return Number.isSafeInteger(toBucket(value, spanMs).capacity)
}

/** What is left at `nowMs` of a level noted at `sinceMs`. A clock that was set back leaks nothing. */
export function levelAt(level: number, sinceMs: number, nowMs: number, leak: number): number {
  if (nowMs <= sinceMs) return level
  const left = level - (nowMs - sinceMs) * leak
  return left > 0 ? left : 0
}

/** Whole milliseconds until `units` have leaked. */
export function leakTimeMs(units: number, leak: number): number {
  return units <= 0 ? 0 : Math.ceil(units / leak)
}

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b)
}

/**
 * Delays between retries: exponential or from a schedule, with optional jitter.
 *
 * Pure functions. The caller counts the failures, holds the timer and supplies the randomness.
 */

export interface ExponentialBackoff {
  /** Delay after the first failure. */
  readonly firstMs: number
  readonly maxMs: number
}

/** Returns the delay after the given number of consecutive failures (1 or more): `firstMs`, doubled each time up to `maxMs`. */
export function exponentialDelayMs(failures: number, { firstMs, maxMs }: ExponentialBackoff): number {
  return Math.min(maxMs, firstMs * 2 ** (failures - 1))
}

/** A schedule of at least one delay. */
export type Schedule = readonly [number, ...number[]]

/** Returns the delay after the given number of consecutive failures (1 or more); the last delay of the schedule repeats. */
export function scheduledDelayMs(failures: number, schedule: Schedule): number {
  return schedule[Math.min(failures, schedule.length) - 1] ?? schedule[0]
}

/**
 * Spreads `delayMs` evenly over ± `fraction` of itself, so that clients that failed together do not retry together.
 *
 * `random` is from 0 up to 1. The result is not rounded.
 */
export function withJitter(delayMs: number, fraction: number, random: number): number {
  return delayMs * (1 + fraction * (2 * random - 1))
}

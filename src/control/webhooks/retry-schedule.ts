/** Decides when a failed delivery is retried. */

import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../foundation/domain/calendar.ts'
import { scheduledDelayMs, withJitter } from '../../foundation/runtime/backoff.ts'

const DELAYS_MS = [
  5_000,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  DAY_MS,
] as const
const JITTER = 0.2
/** RFC 9110, 5.6.7. `Date.parse` alone would accept many other texts as a date. */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/
const RETRY_AFTER_MAX_MS = DAY_MS

/**
 * Returns the milliseconds until the next attempt, after `attempts` attempts and with `random` from 0 up to 1.
 *
 * A receiver may request a longer delay with `Retry-After` (RFC 9110, 10.2.3), up to one day.
 */
export function retryDelayMs(attempts: number, random: number, retryAfter: string | undefined, nowMs: number): number {
  const delayMs = withJitter(scheduledDelayMs(attempts, DELAYS_MS), JITTER, random)
  return Math.round(Math.max(delayMs, Math.min(RETRY_AFTER_MAX_MS, retryAfterMs(retryAfter, nowMs))))
}

function retryAfterMs(retryAfter: string | undefined, nowMs: number): number {
  if (retryAfter === undefined) return 0
  if (/^\d{1,9}$/.test(retryAfter)) return Number(retryAfter) * 1_000
  const atMs = HTTP_DATE.test(retryAfter) ? Date.parse(retryAfter) : Number.NaN
  return Number.isNaN(atMs) ? 0 : Math.max(0, atMs - nowMs)
}

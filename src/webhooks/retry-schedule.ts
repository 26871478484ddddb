/** When a delivery that failed is tried again. */

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const PAUSES_MS = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
] as const
/** So that what failed together does not come back together. */
const SPREAD = 0.2
/** RFC 9110, 5.6.7; the parser would take much else for a date. */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/
const ASKED_MAX_MS = 24 * HOUR

/**
 * Milliseconds until the next try. `tries`: how often it was tried; `random`: from 0 up to 1. A receiver may ask for
 * more time (`Retry-After`, RFC 9110, 10.2.3), a day at most.
 */
export function retryDelayMs(tries: number, random: number, retryAfter: string | undefined, nowMs: number): number {
  const pauseMs = PAUSES_MS[Math.min(tries, PAUSES_MS.length) - 1] ?? PAUSES_MS[0]
  const spreadMs = pauseMs * (1 + SPREAD * (2 * random - 1))
  return Math.round(Math.max(spreadMs, Math.min(ASKED_MAX_MS, askedMs(retryAfter, nowMs))))
}

function askedMs(retryAfter: string | undefined, nowMs: number): number {
  if (retryAfter === undefined) return 0
  if (/^\d{1,9}$/.test(retryAfter)) return Number(retryAfter) * SECOND
  const atMs = HTTP_DATE.test(retryAfter) ? Date.parse(retryAfter) : Number.NaN
  return Number.isNaN(atMs) ? 0 : Math.max(0, atMs - nowMs)
}

/**
 * Limits password guessing without locking out the owner of an account.
 *
 * Each user name has ten failed attempts in 15 minutes, shared by all browsers and counted whether or not the user
 * exists. A browser in which the owner has logged in before has ten attempts of its own (OWASP, device cookies), so the
 * attempts of others do not count against the owner. Above the limit no password is compared.
 */

import type { Clock } from '../../runtime/clock.ts'

export interface LoginThrottle {
  /** Returns the seconds until the next attempt is allowed; 0: now. */
  waitSeconds(key: string): number
  /** Counts a failed attempt. Call it before the comparison, and `removeFailure` if the password was right. */
  addFailure(key: string): void
  removeFailure(key: string): void
}

const WINDOW_MS = 15 * 60_000
const FAILURES_MAX = 10
/** More keys than an attacker can try in a window, so that trying other names does not evict one. */
const KEYS_MAX = 100_000

export function createLoginThrottle(clock: Pick<Clock, 'nowMs'>): LoginThrottle {
  const failures = new Map<string, readonly number[]>()

  function recent(key: string): readonly number[] {
    const sinceMs = clock.nowMs() - WINDOW_MS
    return (failures.get(key) ?? []).filter((timeMs) => timeMs > sinceMs)
  }

  return {
    waitSeconds(key) {
      const times = recent(key)
      const first = times[0]
      if (first === undefined || times.length < FAILURES_MAX) return 0
      return Math.ceil((first + WINDOW_MS - clock.nowMs()) / 1_000)
    },
    addFailure(key) {
      const times = [...recent(key), clock.nowMs()].slice(-FAILURES_MAX)
      failures.delete(key)
      failures.set(key, times)
      const oldest = failures.keys().next().value
      if (failures.size > KEYS_MAX && oldest !== undefined) failures.delete(oldest)
    },
    removeFailure(key) {
      const times = recent(key).slice(0, -1)
      if (times.length === 0) failures.delete(key)
      else failures.set(key, times)
    },
  }
}

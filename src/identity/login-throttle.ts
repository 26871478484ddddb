/**
 * Slows down who guesses passwords, without locking their owner out.
 *
 * Strangers share ten wrong passwords in 15 minutes for a name, whether anybody has that name or not. A
 * browser in which the owner has logged in before carries a mark and has ten of its own (OWASP, device
 * cookies): a stranger's guesses do not count against it. Over the bound nothing is compared at all.
 */

import type { Clock } from '../runtime/clock.ts'

export interface LoginThrottle {
  /** Seconds until another attempt is looked at; 0: it is now. */
  waitSeconds(key: string): number
  /** Notes an attempt, before it is known how it ends. */
  failed(key: string): void
  /** The attempt was a right one after all. */
  passed(key: string): void
}

const WINDOW_MS = 15 * 60_000
const FAILURES_MAX = 10
/** More names than can be tried in a window, so that nobody can make us forget one by trying others. */
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
    failed(key) {
      const times = [...recent(key), clock.nowMs()].slice(-FAILURES_MAX)
      failures.delete(key)
      failures.set(key, times)
      const oldest = failures.keys().next().value
      if (failures.size > KEYS_MAX && oldest !== undefined) failures.delete(oldest)
    },
    passed(key) {
      const times = recent(key).slice(0, -1)
      if (times.length === 0) failures.delete(key)
      else failures.set(key, times)
    },
  }
}

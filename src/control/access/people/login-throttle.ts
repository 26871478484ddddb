/**
 * Limits password guessing without locking out the owner of an account.
 *
 * Each user name has ten failed attempts in 15 minutes, shared by all browsers and nodes and counted whether or not the user
 * exists. A browser in which the owner has signed in before has ten attempts of its own (OWASP, device cookies), so the
 * attempts of others do not count against the owner. Above the limit no password is compared.
 */

import type { AttemptLimit, AttemptStore } from '../../../storage/store/attempts.ts'

export interface LoginThrottle {
  /**
   * Counts an attempt and returns 0; or returns the seconds until the next one is allowed. Call it before the comparison, so that
   * concurrent attempts count like consecutive ones. Throws `StoreUnwritable`; then nothing may be compared.
   */
  begin(key: string): Promise<number>
  /** Takes back an attempt that was right. */
  succeed(key: string): Promise<void>
}

export interface LoginThrottleOptions {
  readonly attempts: AttemptStore
  readonly keyedHash: (text: string) => string
}

const LIMIT: AttemptLimit = { max: 10, windowMs: 15 * 60_000, isSliding: true }

export function createLoginThrottle({ attempts, keyedHash }: LoginThrottleOptions): LoginThrottle {
  // The prefix separates these hashes from those of other attempts.
  const hashOf = (key: string): string => keyedHash(`login attempt ${key}`)
  return {
    begin: async (key) => Math.ceil((await attempts.take(hashOf(key), LIMIT)) / 1_000),
    succeed: (key) => attempts.giveBack(hashOf(key), LIMIT),
  }
}

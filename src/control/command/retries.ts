/**
 * Retries of work that has failed: one per key, with exponential back-off.
 *
 * After a failure of the store, work is repeated every two seconds: it succeeds as soon as the disk has space, or the server answers.
 */

import { exponentialDelayMs } from '../../foundation/runtime/backoff.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import { isFromDisk, UNWRITABLE_RETRY_MS } from '../../storage/store/unwritable.ts'

export interface Retries {
  /** Runs `work` later, because the work of this key has failed. Replaces the retry that is scheduled for the key. */
  schedule(key: string, cause: unknown, work: () => void): void
  /** Cancels the retry of a key, because its work has succeeded. */
  done(key: string): void
  /** Cancels all retries; none is scheduled from then on. */
  stop(): void
}

interface Retry {
  readonly failures: number
  readonly cancel: () => void
}

const BACKOFF = { firstMs: 5_000, maxMs: 3_600_000 }

export function createRetries({ clock }: { readonly clock: Pick<Clock, 'after'> }): Retries {
  const retries = new Map<string, Retry>()
  let isStopped = false

  return {
    schedule(key, cause, work) {
      if (isStopped) return
      const last = retries.get(key)
      last?.cancel()
      const failures = (last?.failures ?? 0) + 1
      retries.set(key, { failures, cancel: clock.after(retryDelayMs(cause, failures), work) })
    },
    done(key) {
      retries.get(key)?.cancel()
      retries.delete(key)
    },
    stop() {
      isStopped = true
      for (const { cancel } of retries.values()) cancel()
      retries.clear()
    },
  }
}

/** Returns the delay after a failure, which is one of a number of consecutive ones. */
export function retryDelayMs(cause: unknown, failures: number): number {
  return isFromDisk(cause) ? UNWRITABLE_RETRY_MS : exponentialDelayMs(failures, BACKOFF)
}

/**
 * Asks the main thread to fetch the keys of a provider, once for all tokens that wait for it.
 *
 * A forged token can name any key. So the thread backs off after a fetch without new keys, and bounds the tokens that
 * wait. The main thread enforces the longer pause between two fetches from the provider.
 */

import type { Clock } from '../../foundation/runtime/clock.ts'
import { restOfPause } from '../../foundation/runtime/rest-of-pause.ts'

export interface KeyRefetch {
  /** Returns whether the keys have changed; rejects if they cannot be fetched now. */
  (provider: string): Promise<boolean>
}

export interface KeyRefetchOptions {
  readonly refetch: (provider: string) => Promise<boolean>
  readonly clock: Pick<Clock, 'nowMs'>
}

interface PendingFetch {
  readonly result: Promise<boolean>
  waiting: number
}

const BACK_OFF_MS = 1_000
const WAITING_MAX = 1_000

export function createKeyRefetch({ refetch, clock }: KeyRefetchOptions): KeyRefetch {
  const pending = new Map<string, PendingFetch>()
  /** By provider, so bounded by the registered providers. */
  const backOffUntilMs = new Map<string, number>()

  async function fetch(provider: string): Promise<boolean> {
    try {
      const isChanged = await refetch(provider)
      if (isChanged) backOffUntilMs.delete(provider)
      else backOffUntilMs.set(provider, clock.nowMs() + BACK_OFF_MS)
      return isChanged
    } finally {
      pending.delete(provider)
    }
  }

  return (provider) => {
    const waitingFor = pending.get(provider)
    if (waitingFor !== undefined) {
      if (++waitingFor.waiting > WAITING_MAX) return Promise.reject(new Error('too many tokens are waiting for keys'))
      return waitingFor.result
    }
    const untilMs = backOffUntilMs.get(provider) ?? 0
    if (restOfPause(untilMs, BACK_OFF_MS, clock.nowMs()) > 0) return Promise.resolve(false)
    const result = fetch(provider)
    pending.set(provider, { result, waiting: 1 })
    return result
  }
}

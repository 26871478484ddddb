/**
 * Limits guessing of client secrets: from the 10th wrong secret in 60 s, further wrong secrets are answered with a wait.
 *
 * A right secret always passes, so that guessing cannot lock out the owner. The number of clients is bounded; the client
 * whose last failure is oldest is evicted first.
 */

import type { Clock } from '../../foundation/runtime/clock.ts'

export interface SecretThrottle {
  /** Counts a wrong secret. Returns the seconds to wait, or 0. */
  addFailure(clientId: string): number
}

const WINDOW_MS = 60_000
const FAILURES_MAX = 9
const CLIENTS_MAX = 10_000

export function createSecretThrottle(clock: Clock): SecretThrottle {
  const failures = new Map<string, number[]>()

  return {
    addFailure(clientId) {
      const nowMs = clock.nowMs()
      const recent = (failures.get(clientId) ?? []).filter((timeMs) => timeMs > nowMs - WINDOW_MS)
      recent.push(nowMs)
      failures.delete(clientId)
      failures.set(clientId, recent.slice(-FAILURES_MAX - 1))
      if (failures.size > CLIENTS_MAX) failures.delete(failures.keys().next().value!)
      return recent.length <= FAILURES_MAX ? 0 : Math.ceil((recent[0]! + WINDOW_MS - nowMs) / 1_000)
    },
  }
}

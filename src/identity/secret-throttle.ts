/**
 * Slows down who guesses a client's secret: from the 10th wrong one in 60 s the next wrong ones are told
 * to wait. A right secret always passes, so nobody can lock an owner out.
 *
 * Bounded: the clients that failed longest ago are forgotten first.
 */

import type { Clock } from '../runtime/clock.ts'

export interface SecretThrottle {
  /** Notes a wrong secret; seconds to wait, or 0. */
  failed(clientId: string): number
}

const WINDOW_MS = 60_000
const FREE_MAX = 9
const CLIENTS_MAX = 10_000

export function createSecretThrottle(clock: Clock): SecretThrottle {
  const failures = new Map<string, number[]>()

  return {
    failed(clientId) {
      const nowMs = clock.nowMs()
      const recent = (failures.get(clientId) ?? []).filter((timeMs) => timeMs > nowMs - WINDOW_MS)
      recent.push(nowMs)
      failures.delete(clientId)
      failures.set(clientId, recent.slice(-FREE_MAX - 1))
      if (failures.size > CLIENTS_MAX) failures.delete(failures.keys().next().value!)
      return recent.length <= FREE_MAX ? 0 : Math.ceil((recent[0]! + WINDOW_MS - nowMs) / 1_000)
    },
  }
}

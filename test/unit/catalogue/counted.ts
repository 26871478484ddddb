/** The counters of the gateway as a test leads them: real memory, and breaches it names. */

import type { LimitBook } from '../../../src/plan/limit-book.ts'
import { createLimitMemory, type LimitMemory } from '../../../src/gateway/limits/limit-memory.ts'
import type { Clock } from '../../../src/runtime/clock.ts'

export interface Counted extends LimitBook {
  readonly memory: LimitMemory
  /** By subscription. */
  readonly breaches: Map<string, readonly number[]>
}

export function openCounted(clock: Pick<Clock, 'nowMs'>): Counted {
  const memory = createLimitMemory({ threads: 1 })
  const breaches = new Map<string, readonly number[]>()
  return {
    memory,
    breaches,
    usage: (subscription, plan) => memory.usage(subscription, plan, clock.nowMs()),
    breachesMs: (subscription) => breaches.get(subscription) ?? [],
  }
}

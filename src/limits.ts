/**
 * The limits of the main thread put together: the memory in which the threads count, the desk that tells
 * them where, and the ledger by which counters outlive the process.
 */

import type { LimitBook } from './catalogue/limit-book.ts'
import { createLimitDesk, type LimitDesk } from './gateway/limits/limit-desk.ts'
import { createLimitLedger, type LimitLedger } from './gateway/limits/limit-ledger.ts'
import { createLimitMemory, type LimitMemory } from './gateway/limits/limit-memory.ts'
import type { Clock } from './runtime/clock.ts'
import type { LimitCheckpoint } from './store/limit-checkpoint.ts'

export interface Limits extends LimitBook {
  readonly desk: LimitDesk
  readonly memory: LimitMemory
  readonly ledger: LimitLedger
}

export interface LimitsOptions {
  readonly threads: number
  readonly checkpoint: LimitCheckpoint
  readonly clock: Clock
}

export function createLimits({ threads, checkpoint, clock }: LimitsOptions): Limits {
  const memory = createLimitMemory({ threads, restore: (subscription, api) => ledger.counters(subscription, api) })
  const desk = createLimitDesk(memory)
  const ledger = createLimitLedger({ desk, checkpoint })
  return {
    desk,
    memory,
    ledger,
    usage: (subscription, plan) => memory.usage(subscription, plan, clock.nowMs()),
    breachesMs: (subscription, api) => ledger.breachesMs(subscription, api, clock.nowMs()),
  }
}

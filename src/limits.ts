/**
 * The limits of the main thread put together: the memory in which the threads count, the desk that tells
 * them where, and the ledger by which counters outlive the process.
 */

import { createLimitDesk, type LimitDesk } from './gateway/limit-desk.ts'
import { createLimitLedger, type LimitLedger } from './gateway/limit-ledger.ts'
import { createLimitMemory, type LimitMemory } from './gateway/limit-memory.ts'
import type { LimitCheckpoint } from './store/limit-checkpoint.ts'

export interface Limits {
  readonly desk: LimitDesk
  readonly memory: LimitMemory
  readonly ledger: LimitLedger
}

export function createLimits(threads: number, checkpoint: LimitCheckpoint): Limits {
  const memory = createLimitMemory({ threads, restore: (subscription, api) => ledger.counters(subscription, api) })
  const desk = createLimitDesk(memory)
  const ledger = createLimitLedger({ desk, checkpoint })
  return { desk, memory, ledger }
}

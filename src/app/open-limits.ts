/**
 * Composes the limits on the main thread: the shared memory in which the threads count, the assignment of its
 * blocks, and the counters that survive the process.
 */

import type { LimitBook } from '../boundary/plan/limit-book.ts'
import { PLATFORM_API } from '../foundation/domain/platform-api.ts'
import { createActiveDeclarations, type ActiveDeclarations } from '../limits/active-declarations.ts'
import { LeaseBook } from '../limits/lease-book.ts'
import { createLimitLedger, type LimitLedger } from '../limits/limit-ledger.ts'
import { createLimitMemory, type LimitMemory, type LimitMemoryOptions } from '../limits/limit-memory.ts'
import type { Clock } from '../foundation/runtime/clock.ts'
import type { LimitCheckpoint } from '../storage/store/limit-checkpoint.ts'
import type { Leases } from './open-leases.ts'

export interface Limits extends LimitBook {
  readonly declarations: ActiveDeclarations
  readonly memory: LimitMemory
  /** Leases of limits that nodes share; null for a single node. */
  readonly leases: Leases | null
  /** Memory in which the main thread counts the calls of the platform API. */
  readonly platformMemory: LimitMemory
  readonly ledger: LimitLedger
}

export interface LimitsOptions {
  readonly threads: number
  readonly checkpoint: LimitCheckpoint
  readonly leases: Leases | null
  readonly clock: Clock
}

export function createLimits({ threads, checkpoint, leases, clock }: LimitsOptions): Limits {
  const restore: LimitMemoryOptions['restore'] = (subscription, api) => ledger.counters(subscription, api)
  const createLeases = leases === null ? undefined : toLeaseBook(leases, threads)
  const memory = createLimitMemory({ threads, restore, createLeases })
  const platformMemory = createLimitMemory({
    threads: 1,
    restore,
    createLeases: leases === null ? undefined : toLeaseBook(leases, 1),
  })
  const declarations = createActiveDeclarations(memory)
  const ledger = createLimitLedger({ declarations, checkpoint })
  return {
    declarations,
    memory,
    leases,
    platformMemory,
    ledger,
    usage: (subscription, plan) =>
      (plan.api === PLATFORM_API ? platformMemory : memory).sharedUsage(subscription, plan, clock.nowMs()),
    breachesMs: (subscription, api) => ledger.breachesMs(subscription, api, clock.nowMs()),
  }
}

function toLeaseBook(keepers: Leases, threads: number): LimitMemoryOptions['createLeases'] {
  return (pages) => new LeaseBook({ keepers, pages, threads })
}

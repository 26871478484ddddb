/**
 * Use of limits and quotas by subscription, aggregated from call records.
 *
 * The threads count in shared memory, which ends with the process. This ledger counts the same calls from the
 * spool and is saved together with its offset: after a crash, the saved counters and the records behind the
 * offset add up to exactly the calls that were answered. It also stores the times at which a subscription
 * exceeded its limits; refusals less than five minutes apart are one breach.
 *
 * Counters are read from the checkpoint at the first call of a subscription, so that the cost of a start
 * depends on recent callers and not on all subscriptions.
 */

import { QUIET_MS } from '../../domain/risk.ts'
import type { SlaPlan } from '../../plan/sla-plan.ts'
import { outcomeIndex } from '../../domain/outcome.ts'
import { FLAG_COUNTED } from '../../record/call-record.ts'
import type { RecordBatch } from '../../record/record-batch.ts'
import type { LimitCheckpoint, SavedCounter, SavedCounters } from '../../store/limit-checkpoint.ts'
import type { ActiveDeclarations } from './active-declarations.ts'
import { layoutOf } from './limit-layout.ts'
import { createLimitMemory, type LimitMemory } from './limit-memory.ts'
import { compileSla } from './compile-sla.ts'
import type { CompiledSla } from './compiled-sla.ts'
import { createReplay } from './limit-replay.ts'

export interface LimitLedger {
  add(batch: RecordBatch): void
  /** Returns the counters that changed since the last `take`. */
  take(): readonly SavedCounters[]
  readonly changed: number
  /** Confirms that the counters of the last `take` are on disk. */
  saved(): void
  /** Forgets what was not saved; it is added again. */
  reset(): void
  counters(subscription: string, api: string): readonly SavedCounter[]
  /** When the breaches began that are not older than 30 days, oldest first; the latest few. */
  breachesMs(subscription: string, api: string, nowMs: number): readonly number[]
}

export interface LimitLedgerOptions {
  readonly declarations: Pick<ActiveDeclarations, 'planOf' | 'generation'>
  readonly checkpoint: Pick<LimitCheckpoint, 'countersOf'>
}

/** A subscription at an API. */
interface Account {
  readonly subscription: string
  readonly api: string
  breachesMs: readonly number[]
  refusedMs: number
}

/** Where the calls of one attribution are counted. */
interface Line {
  readonly account: Account
  readonly sla: CompiledSla | null
  readonly doubles: Float64Array | null
}

const BREACH_SPAN_MS = 30 * 86_400_000
const BREACHES_MAX = 10
const SEGMENTS_MAX = 64
/** More are let go of when they are saved, and read again when they are heard of. */
const ACCOUNTS_MAX = 100_000
const RATE_LIMITED = outcomeIndex.rate_limited
const QUOTA_EXHAUSTED = outcomeIndex.quota_exhausted

export function createLimitLedger({ declarations, checkpoint }: LimitLedgerOptions): LimitLedger {
  const replay = createReplay()
  /** By segment and attribution. */
  const lines = new Map<number, (Line | undefined)[]>()
  const accounts = new Map<string, Account>()
  const changed = new Set<Account>()
  let compiled = new WeakMap<SlaPlan, Map<string, CompiledSla>>()
  let memory = createMemory()
  let generation = -1

  function createMemory(): LimitMemory {
    return createLimitMemory({
      threads: 1,
      restore: (subscription, api) => checkpoint.countersOf(subscription, api)?.counters ?? [],
    })
  }

  function add(batch: RecordBatch): void {
    if (generation !== declarations.generation) {
      generation = declarations.generation
      lines.clear()
    }
    const { count } = batch
    for (let index = 0; index < count; index++) {
      const outcome = batch.outcome(index)
      if ((batch.flags(index) & FLAG_COUNTED) !== 0) {
        const { account, sla, doubles } = lineOf(batch, index)
        if (sla === null || doubles === null) continue
        replay(sla, doubles, 0, batch.timeMs(index) - batch.admittedAgoMs(index), batch.unitsMicro(index))
        changed.add(account)
      } else if (outcome === RATE_LIMITED || outcome === QUOTA_EXHAUSTED) {
        const { account } = lineOf(batch, index)
        refuse(account, batch.timeMs(index))
        changed.add(account)
      }
    }
  }

  function refuse(account: Account, timeMs: number): void {
    if (timeMs - account.refusedMs >= QUIET_MS) {
      account.breachesMs = [...account.breachesMs, timeMs].slice(-BREACHES_MAX)
    }
    account.refusedMs = Math.max(account.refusedMs, timeMs)
  }

  function lineOf(batch: RecordBatch, index: number): Line {
    let ofSegment = lines.get(batch.segmentKey)
    if (ofSegment === undefined) {
      if (lines.size >= SEGMENTS_MAX) lines.clear()
      lines.set(batch.segmentKey, (ofSegment = []))
    }
    return (ofSegment[batch.attributionId(index)] ??= createLine(batch, index))
  }

  function createLine(batch: RecordBatch, index: number): Line {
    const { subscription, api, variant, operation } = batch.attributions[batch.attributionId(index)]!
    const account = accountOf(subscription, api)
    const plan = declarations.planOf(api, variant)
    const ref = plan === null ? null : memory.blockFor(subscription, plan)
    if (plan === null || ref === null) return { account, sla: null, doubles: null }
    const doubles = new Float64Array(ref.page, ref.offset * 8, ref.size)
    return { account, sla: compiledFor(plan, operation), doubles }
  }

  function compiledFor(plan: SlaPlan, operation: string): CompiledSla {
    let byOperation = compiled.get(plan)
    if (byOperation === undefined) compiled.set(plan, (byOperation = new Map()))
    let sla = byOperation.get(operation)
    if (sla === undefined) byOperation.set(operation, (sla = compileSla(plan, [operation], layoutOf(plan, 1), 0)))
    return sla
  }

  function accountOf(subscription: string, api: string): Account {
    const key = `${subscription} ${api}`
    let account = accounts.get(key)
    if (account === undefined) {
      const { breachesMs = [], refusedMs = 0 } = checkpoint.countersOf(subscription, api) ?? {}
      accounts.set(key, (account = { subscription, api, breachesMs, refusedMs }))
    }
    return account
  }

  function counters(subscription: string, api: string): readonly SavedCounter[] {
    const counted = memory.counters(subscription, api)
    return counted.length > 0 ? counted : (checkpoint.countersOf(subscription, api)?.counters ?? [])
  }

  function forget(): void {
    lines.clear()
    accounts.clear()
    changed.clear()
    compiled = new WeakMap()
    memory = createMemory()
  }

  return {
    add,
    take() {
      const taken = [...changed].map((account) => ({
        ...account,
        counters: counters(account.subscription, account.api),
      }))
      changed.clear()
      return taken
    },
    get changed() {
      return changed.size
    },
    saved() {
      if (accounts.size > ACCOUNTS_MAX && changed.size === 0) forget()
    },
    reset: forget,
    counters,
    breachesMs(subscription, api, nowMs) {
      const { breachesMs = [] } =
        accounts.get(`${subscription} ${api}`) ?? checkpoint.countersOf(subscription, api) ?? {}
      return breachesMs.filter((timeMs) => timeMs > nowMs - BREACH_SPAN_MS)
    },
  }
}

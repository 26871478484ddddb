/**
 * Maps the records of calls to the accounts and counters of a limit ledger.
 *
 * Counters are read from the checkpoint at the first call of a subscription, so that the cost of a start depends on recent callers
 * and not on all subscriptions.
 */

import type { SlaPlan } from '../boundary/plan/sla-plan.ts'
import type { RecordBatch } from '../storage/spool/record-batch.ts'
import type { LimitCheckpoint, SavedCounter } from '../storage/store/limit-checkpoint.ts'
import type { ActiveDeclarations } from './active-declarations.ts'
import { compileSla } from './compile-sla.ts'
import type { CompiledSla } from './compiled-sla.ts'
import { layoutOf } from './limit-layout.ts'
import { createLimitMemory, type LimitMemory } from './limit-memory.ts'

export interface LedgerAccountsOptions {
  readonly declarations: Pick<ActiveDeclarations, 'planOf' | 'generation'>
  readonly checkpoint: Pick<LimitCheckpoint, 'countersOf'>
}

/** A subscription at an API. */
export interface Account {
  readonly subscription: string
  readonly api: string
  breachesMs: readonly number[]
  refusedMs: number
}

/** Account and counters of the calls of one attribution. */
export interface CountTarget {
  readonly account: Account
  /** Null if the declaration is not active, or the memory for counters is full. */
  readonly sla: CompiledSla | null
  readonly doubles: Float64Array | null
}

const SEGMENTS_MAX = 64

export class LedgerAccounts {
  readonly #options: LedgerAccountsOptions
  /** By segment and attribution. */
  readonly #targets = new Map<number, (CountTarget | undefined)[]>()
  readonly #accounts = new Map<string, Account>()
  #compiled = new WeakMap<SlaPlan, Map<string, CompiledSla>>()
  #memory: LimitMemory
  #generation = -1

  constructor(options: LedgerAccountsOptions) {
    this.#options = options
    this.#memory = this.#createMemory()
  }

  get size(): number {
    return this.#accounts.size
  }

  /** Discards the compiled declarations if one has changed since the last call. */
  refresh(): void {
    const { generation } = this.#options.declarations
    if (this.#generation === generation) return
    this.#generation = generation
    this.#targets.clear()
  }

  targetOf(batch: RecordBatch, index: number): CountTarget {
    let targets = this.#targets.get(batch.segmentKey)
    if (targets === undefined) {
      if (this.#targets.size >= SEGMENTS_MAX) this.#targets.clear()
      this.#targets.set(batch.segmentKey, (targets = []))
    }
    return (targets[batch.attributionId(index)] ??= this.#createTarget(batch, index))
  }

  counters(subscription: string, api: string): readonly SavedCounter[] {
    const counted = this.#memory.counters(subscription, api)
    return counted.length > 0 ? counted : this.#savedCounters(subscription, api)
  }

  breachesMs(subscription: string, api: string): readonly number[] {
    const account =
      this.#accounts.get(`${subscription} ${api}`) ?? this.#options.checkpoint.countersOf(subscription, api)
    return account?.breachesMs ?? []
  }

  clear(): void {
    this.#targets.clear()
    this.#accounts.clear()
    this.#compiled = new WeakMap()
    this.#memory = this.#createMemory()
  }

  #createMemory(): LimitMemory {
    return createLimitMemory({
      threads: 1,
      restore: (subscription, api) => this.#savedCounters(subscription, api),
    })
  }

  #savedCounters(subscription: string, api: string): readonly SavedCounter[] {
    return this.#options.checkpoint.countersOf(subscription, api)?.counters ?? []
  }

  #createTarget(batch: RecordBatch, index: number): CountTarget {
    const { subscription, api, variant, operation } = batch.attributions[batch.attributionId(index)]!
    const account = this.#accountOf(subscription, api)
    const plan = this.#options.declarations.planOf(api, variant)
    const ref = plan === null ? null : this.#memory.blockFor(subscription, plan)
    if (plan === null || ref === null) return { account, sla: null, doubles: null }
    const doubles = new Float64Array(ref.page, ref.offset * 8, ref.size)
    return { account, sla: this.#compiledFor(plan, operation), doubles }
  }

  #compiledFor(plan: SlaPlan, operation: string): CompiledSla {
    let byOperation = this.#compiled.get(plan)
    if (byOperation === undefined) this.#compiled.set(plan, (byOperation = new Map()))
    let sla = byOperation.get(operation)
    if (sla === undefined) byOperation.set(operation, (sla = compileSla(plan, [operation], layoutOf(plan, 1), 0)))
    return sla
  }

  #accountOf(subscription: string, api: string): Account {
    const key = `${subscription} ${api}`
    let account = this.#accounts.get(key)
    if (account === undefined) {
      const { breachesMs = [], refusedMs = 0 } = this.#options.checkpoint.countersOf(subscription, api) ?? {}
      this.#accounts.set(key, (account = { subscription, api, breachesMs, refusedMs }))
    }
    return account
  }
}

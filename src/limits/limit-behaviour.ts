/**
 * The interface of a limit kind. Each kind has a file (`rate-limit.ts`, `total-limit.ts`, `concurrent-limit.ts`), and
 * `limit-kinds.ts` dispatches to it.
 *
 * `use`, `waitMs`, `resetMs` and `commit` run under the lock of a block, on every call: they must not
 * allocate. Writes are ordered so that a thread that dies between two of them leaves a counter too high,
 * never too low.
 */

import type { Calendar } from '../foundation/domain/calendar.ts'
import type { Bucket } from '../foundation/domain/gcra.ts'
import type { LimitKind, RuleOf } from '../foundation/domain/limit-rule.ts'
import type { LimitUse } from '../boundary/plan/limit-book.ts'
import type { Validity } from '../boundary/plan/sla-plan.ts'
import type { CompiledLimitOf } from './compiled-sla.ts'
import type { DecisionContext } from './decision-context.ts'
import type { Block, BlockRef } from './limit-block.ts'

export interface LimitBehaviour<K extends LimitKind> extends CounterLayout {
  /** Whether the limit reopens with time; otherwise the end of a call reopens it. */
  readonly reopensWithTime: boolean
  /** Whether callers are warned once per window; otherwise the warning is re-armed when the use falls below half of the capacity. */
  readonly warnsOncePerWindow: boolean

  compile(rule: RuleOf<K>, validity: readonly Validity[]): CompiledRule

  /** Returns the use before the call, in units of the limit. `index` is its place in `context.applied`. */
  use(limit: CompiledLimitOf<K>, index: number, block: Block, nowMs: number, context: DecisionContext): number
  /** Returns how long a refused call has to wait; 0 if the end of another call reopens the limit. */
  waitMs(limit: CompiledLimitOf<K>, use: number, nowMs: number, calendar: Calendar): number
  /** Returns how long it takes until all of the capacity is free again; 0 if that depends on other calls. */
  resetMs(limit: CompiledLimitOf<K>, use: number, nowMs: number, calendar: Calendar): number
  /** Counts an admitted call: `after` is the use with it. */
  commit(
    limit: CompiledLimitOf<K>,
    index: number,
    after: number,
    block: Block,
    nowMs: number,
    context: DecisionContext,
  ): void

  /** Counts an admitted call from its record, at the time of its decision. */
  replay(limit: CompiledLimitOf<K>, doubles: Float64Array, atMs: number, calendar: Calendar): void
  /** Reads the use for display, without the lock. */
  usage(
    rule: RuleOf<K>,
    validity: readonly Validity[],
    offset: number,
    ref: BlockRef,
    doubles: Float64Array,
    nowMs: number,
    context: UsageContext,
  ): LimitUse
}

/** The doubles of one counter. */
export interface CounterLayout {
  size(threads: number): number
  /** Number of leading doubles that are saved, and copied to a new block; 0 if the counter ends with its block. */
  readonly savedSize: number
  readonly warnedSlot: number
  /** Returns the first per-thread gauge of the counter at `offset`, in 32-bit words; null if the kind has no gauges. */
  gaugesAt(offset: number): number | null
}

export interface CompiledRule extends Bucket {
  /** The property of the definition, as part of the limit's label. */
  readonly property: string
  /** Parameters of the item in `RateLimit-Policy`. */
  readonly policy: string
}

export interface UsageContext {
  readonly threads: number
  readonly calendar: Calendar
}

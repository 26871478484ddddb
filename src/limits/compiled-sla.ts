/**
 * A plan compiled for the decisions of one thread: every limit in the same whole units, and all text that a response needs.
 *
 * Each limit has a capacity, and a call uses a step of it. The step is 1 for totals and concurrent calls, the units of the bucket for
 * a rate, and the cost of the operation for the quota.
 */

import type { CalendarUnit } from '../foundation/domain/calendar.ts'
import type { LimitKind, RuleOf } from '../foundation/domain/limit-rule.ts'
import type { SlaPlan, Validity } from '../boundary/plan/sla-plan.ts'

export interface CompiledSla {
  readonly plan: SlaPlan
  /** Number of the layout in this thread. */
  readonly layout: number
  readonly limits: readonly CompiledLimit[]
  readonly quota: CompiledQuota | null
  /** By position of the operation: for each property the limits that may apply, in the order of their precedence. */
  readonly groups: readonly (readonly (readonly CompiledLimit[])[])[]
  /** By position of the operation: what a call is charged when it is forwarded, which is its reserve if its units are known later. */
  readonly unitsMicro: readonly number[]
  /** By position of the operation: the units that the declaration states. */
  readonly declaredMicro: readonly number[]
  /** By position of the operation: the cost as a header line. */
  readonly costLines: readonly string[]
}

/** All kinds have the same object shape, so that the decision stays monomorphic. */
export interface CompiledLimitOf<K extends LimitKind> {
  readonly kind: K
  readonly position: number
  readonly rule: RuleOf<K>
  readonly validity: readonly Validity[]
  /** First double of its counter in the block. */
  readonly offset: number
  /** The double that is 1 after a caller was warned. */
  readonly warnedAt: number
  readonly warnsOncePerWindow: boolean
  readonly step: number
  /** Units that leak per millisecond; 0 unless the kind is a bucket. */
  readonly leak: number
  readonly capacity: number
  /** Use at which callers are warned. */
  readonly alertAt: number
  /** Name of the definition and its property, as a structured-field string. */
  readonly label: string
  /** The line of `RateLimit-Policy`, and that of `RateLimit` up to the remaining calls. */
  readonly headerStart: string
}

export type CompiledLimit = { readonly [K in LimitKind]: CompiledLimitOf<K> }[LimitKind]

export interface CompiledQuota {
  readonly offset: number
  readonly unit: CalendarUnit
  readonly capacity: number
  readonly alertAt: number
  /** Cost of the most expensive operation: the upper bound of the next call. */
  readonly costMax: number
  /** The lines of the quota up to the used units, and from there up to the remaining ones, if there is a limit. */
  readonly headerStart: string
  readonly headerMiddle: string
}

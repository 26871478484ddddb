/** Working memory of the decisions of one thread. It is allocated once and overwritten by every decision. */

import { createCalendar, type Calendar } from '../foundation/domain/calendar.ts'
import { createMonotonicClock } from '../foundation/runtime/monotonic.ts'
import type { CompiledLimit } from './compiled-sla.ts'
import type { Verdict } from './limit-verdict.ts'

export interface DecisionContext {
  readonly verdict: Verdict
  readonly thread: number
  readonly threads: number
  readonly calendar: Calendar
  /** The limits that apply to the current call. */
  readonly applied: (CompiledLimit | null)[]
  /** Use of each applied limit before the call, in its own units. */
  readonly uses: Float64Array
  /** Start of the current window of each applied limit that counts in windows. */
  readonly starts: Float64Array
  /** Use of each applied limit that is counted on this node, if it is leased and `uses` describes all nodes. */
  readonly ownUses: Float64Array
  /** The time on all threads, for leases. */
  readonly moment: { monotonicMs: number; wallMs: number }
  readonly monotonicMs: () => number
}

export interface DecisionContextOptions {
  readonly verdict: Verdict
  readonly thread: number
  readonly threads: number
  readonly monotonicMs?: (() => number) | undefined
}

/** One group per property: `rate`, `concurrent`, six totals and three short forms. `compileSla` refuses a plan with more. */
export const GROUPS_MAX = 16

export function createDecisionContext(options: DecisionContextOptions): DecisionContext {
  const { verdict, thread, threads, monotonicMs = createMonotonicClock() } = options
  return {
    verdict,
    thread,
    threads,
    calendar: createCalendar(),
    applied: Array.from({ length: GROUPS_MAX }, () => null),
    uses: new Float64Array(GROUPS_MAX),
    starts: new Float64Array(GROUPS_MAX),
    ownUses: new Float64Array(GROUPS_MAX),
    moment: { monotonicMs: 0, wallMs: 0 },
    monotonicMs,
  }
}

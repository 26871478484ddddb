/**
 * The layout of a plan's counters in a block of shared memory, in doubles: the lock (the first 32 bits of double 0), the counters of
 * the limits in the order of the plan, the counter of the quota.
 *
 * Plans that differ only in numbers have the same layout, so their counters stay in place.
 */

import type { SlaPlan } from '../boundary/plan/sla-plan.ts'
import { counterLayoutOf } from './limit-kinds.ts'
import { WINDOW_COUNTER_SIZE } from './window-counter.ts'

export interface Layout {
  /** Equal for plans whose counters have the same positions. */
  readonly id: string
  /** By position in `plan.limits`. */
  readonly offsets: readonly number[]
  readonly quota: number
  readonly size: number
}

const LOCK_SIZE = 1

export function layoutOf(plan: SlaPlan, threads: number): Layout {
  let size = LOCK_SIZE
  const offsets = plan.limits.map(({ rule }) => {
    const offset = size
    size += counterLayoutOf(rule.kind).size(threads)
    return offset
  })
  return {
    id: JSON.stringify([plan.limits.map(({ key, rule }) => `${rule.kind} ${key}`), plan.quota?.period ?? '']),
    offsets,
    quota: size,
    size: plan.quota === null ? size : size + WINDOW_COUNTER_SIZE,
  }
}

/**
 * Where the counters of a plan lie in a block of shared memory, in doubles:
 *
 *   0           the lock (its first 32 bits)
 *   rate        theoretical arrival, in calls; warned
 *   total       start of its window; count; warned
 *   concurrent  warned; one gauge a thread, so that a dead thread's share can be given back
 *   quota       start of its period; used (millionths); warned
 */

import type { LimitPlan, SlaPlan } from '../opensla/sla-plan.ts'

export interface Layout {
  /** By position in `plan.limits`. */
  readonly offsets: readonly number[]
  readonly quota: number
  readonly size: number
}

export function layoutOf(plan: SlaPlan, threads: number): Layout {
  let size = 1
  const offsets = plan.limits.map((limit) => {
    const offset = size
    size += slotsOf(limit, threads)
    return offset
  })
  const quota = size
  return { offsets, quota, size: plan.quota === null ? size : size + 3 }
}

export function slotsOf({ rule }: LimitPlan, threads: number): number {
  if (rule.kind === 'rate') return 2
  return rule.kind === 'total' ? 3 : 1 + threads
}

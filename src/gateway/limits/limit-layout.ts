/**
 * Where the counters of a plan lie in a block of shared memory, in doubles:
 *
 *   0           the lock (its first 32 bits)
 *   rate        noted at; level; units of a call it was counted in; warned
 *   total       start of its window; count; warned
 *   concurrent  warned; one 32-bit gauge a thread, so that a dead thread's share can be given back
 *   quota       start of its period; used (millionths); warned
 *
 * Plans that differ in numbers alone have one layout: their counters stay where they are.
 */

import type { LimitPlan, SlaPlan } from '../../plan/sla-plan.ts'

export interface Layout {
  /** Equal where the counters are. */
  readonly id: string
  /** By position in `plan.limits`. */
  readonly offsets: readonly number[]
  readonly quota: number
  readonly size: number
}

export const RATE_SLOTS = { since: 0, level: 1, step: 2, warned: 3 } as const
export const TOTAL_SLOTS = { start: 0, count: 1, warned: 2 } as const
export const GAUGE_SLOTS = { warned: 0, lanes: 1 } as const
const RATE_SIZE = 4
const TOTAL_SIZE = 3

export function layoutOf(plan: SlaPlan, threads: number): Layout {
  let size = 1
  const offsets = plan.limits.map((limit) => {
    const offset = size
    size += slotsOf(limit, threads)
    return offset
  })
  return {
    id: JSON.stringify([plan.limits.map(({ key, rule }) => `${rule.kind} ${key}`), plan.quota?.period ?? '']),
    offsets,
    quota: size,
    size: plan.quota === null ? size : size + TOTAL_SIZE,
  }
}

export function slotsOf({ rule }: LimitPlan, threads: number): number {
  if (rule.kind === 'rate') return RATE_SIZE
  return rule.kind === 'total' ? TOTAL_SIZE : GAUGE_SLOTS.lanes + Math.ceil(threads / 2)
}

/** Position of the first gauge of a concurrency limit, in 32-bit words. */
export function lanesAt(offset: number): number {
  return (offset + GAUGE_SLOTS.lanes) * 2
}

/**
 * Copies the counters of a subscription at an API from one declaration to the next, and to and from the checkpoint.
 *
 * A counter continues in the limit of the same name and property, otherwise in the one with the same meaning (operations, times,
 * property), so that renaming a tier or a definition resets nothing. Gauges of concurrent calls are not copied: those calls end in
 * the block in which they began.
 */

import type { LimitPlan, QuotaPeriod, SlaPlan } from '../boundary/plan/sla-plan.ts'
import type { SavedCounter } from '../storage/store/limit-checkpoint.ts'
import { counterLayoutOf } from './limit-kinds.ts'
import type { Layout } from './limit-layout.ts'
import { WINDOW_COUNTER_SIZE } from './window-counter.ts'

type Named = Pick<SavedCounter, 'key' | 'meaning' | 'kind'>

export function readCounters(plan: SlaPlan, layout: Layout, doubles: Float64Array): readonly SavedCounter[] {
  const counters = plan.limits.flatMap((limit, position): SavedCounter[] => {
    const { savedSize } = counterLayoutOf(limit.rule.kind)
    if (savedSize === 0) return []
    return [{ ...nameOf(limit), slots: slotsAt(doubles, layout.offsets[position]!, savedSize) }]
  })
  if (plan.quota === null) return counters
  return [...counters, { ...quotaName(plan.quota.period), slots: slotsAt(doubles, layout.quota, WINDOW_COUNTER_SIZE) }]
}

export function writeCounters(
  plan: SlaPlan,
  layout: Layout,
  doubles: Float64Array,
  counters: readonly SavedCounter[],
): void {
  pairs(counters, plan.limits.map(nameOf)).forEach((from, position) => {
    const { savedSize } = counterLayoutOf(plan.limits[position]!.rule.kind)
    const slots = from === null ? [] : counters[from]!.slots
    if (slots.length === savedSize) doubles.set(slots, layout.offsets[position])
  })
  if (plan.quota === null) return
  const { key } = quotaName(plan.quota.period)
  const quota = counters.find((counter) => counter.key === key)
  if (quota?.slots.length === WINDOW_COUNTER_SIZE) doubles.set(quota.slots, layout.quota)
}

/** Returns for each counter of `to` the position in `from` of the counter that continues in it; null if there is none. */
export function pairs(from: readonly Named[], to: readonly Named[]): readonly (number | null)[] {
  const positionOf = (matches: (named: Named) => boolean): number | null => {
    const position = from.findIndex(matches)
    return position < 0 ? null : position
  }
  const byName = to.map(({ key, kind }) => positionOf((other) => other.key === key && other.kind === kind))
  const claimed = new Set(byName)
  return to.map(({ meaning, kind }, index) => {
    const named = byName[index] ?? null
    if (named !== null) return named
    const alike = positionOf((other) => other.meaning === meaning && other.kind === kind)
    return claimed.has(alike) ? null : alike
  })
}

export function nameOf({ key, meaning, rule: { kind } }: LimitPlan): Named {
  return { key, meaning, kind }
}

function quotaName(period: QuotaPeriod): Named {
  const key = `quota ${period}`
  return { key, meaning: key, kind: 'total' }
}

function slotsAt(doubles: Float64Array, offset: number, count: number): number[] {
  return [...doubles.subarray(offset, offset + count)]
}

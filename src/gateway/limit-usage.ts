/** What a subscription has used of its limits, read beside the calls that go on: for display, not for decisions. */

import { createCalendar } from '../domain/calendar.ts'
import { levelAt, toBucket } from '../domain/gcra.ts'
import type { LimitPlan, SlaPlan } from '../opensla/sla-plan.ts'
import { lanesOf, sumOf, type BlockRef } from './limit-block.ts'
import { lanesAt, RATE_SLOTS, TOTAL_SLOTS, type Layout } from './limit-layout.ts'
import { QUOTA_UNITS, windowStart } from './limit-window.ts'

export interface LimitUsage {
  readonly limits: readonly { readonly limit: LimitPlan; readonly used: number }[]
  readonly quotaUsedMicro: number
}

export function usageOf(plan: SlaPlan, layout: Layout, ref: BlockRef, threads: number, nowMs: number): LimitUsage {
  const doubles = new Float64Array(ref.page, ref.offset * 8, ref.size)
  const calendar = createCalendar()

  function countSince(offset: number, start: number): number {
    return doubles[offset + TOTAL_SLOTS.start]! >= start ? doubles[offset + TOTAL_SLOTS.count]! : 0
  }

  function usedOf({ rule, validity }: LimitPlan, offset: number): number {
    if (rule.kind === 'total') return countSince(offset, windowStart(rule.window, validity, calendar, nowMs))
    if (rule.kind === 'concurrent') {
      const running = [
        { page: ref.page, at: ref.offset * 2 + lanesAt(offset) },
        ...ref.elders.filter((elder) => elder.offset === offset),
      ]
      return running.reduce((sum, { page, at }) => sum + sumOf(lanesOf(page, at, threads), 0, threads), 0)
    }
    if (rule.value === 0) return 0
    const { leak, step } = toBucket(rule.value, rule.spanMs)
    const countedIn = doubles[offset + RATE_SLOTS.step]! || step
    const level = (doubles[offset + RATE_SLOTS.level]! / countedIn) * step
    return Math.ceil(levelAt(level, doubles[offset + RATE_SLOTS.since]!, nowMs, leak) / step)
  }

  return {
    limits: plan.limits.map((limit, position) => ({ limit, used: usedOf(limit, layout.offsets[position]!) })),
    quotaUsedMicro:
      plan.quota === null ? 0 : countSince(layout.quota, calendar.start(QUOTA_UNITS[plan.quota.period], nowMs)),
  }
}

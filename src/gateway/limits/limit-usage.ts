/** What a subscription has used of its limits, read beside the calls that go on: for display, not for decisions. */

import type { LimitUsage, LimitUse } from '../../plan/limit-book.ts'
import { createCalendar, endOf } from '../../domain/calendar.ts'
import { levelAt, toBucket } from '../../domain/gcra.ts'
import type { LimitPlan, SlaPlan } from '../../plan/sla-plan.ts'
import { lanesOf, sumOf, type BlockRef } from './limit-block.ts'
import { lanesAt, RATE_SLOTS, TOTAL_SLOTS, type Layout } from './limit-layout.ts'
import { QUOTA_UNITS, windowEnd, windowStart } from './limit-window.ts'

export function usageOf(plan: SlaPlan, layout: Layout, ref: BlockRef, threads: number, nowMs: number): LimitUsage {
  const doubles = new Float64Array(ref.page, ref.offset * 8, ref.size)
  const calendar = createCalendar()

  function countSince(offset: number, start: number): number {
    return doubles[offset + TOTAL_SLOTS.start]! >= start ? doubles[offset + TOTAL_SLOTS.count]! : 0
  }

  function useOf({ rule, validity }: LimitPlan, offset: number): LimitUse {
    if (rule.kind === 'total') {
      const used = countSince(offset, windowStart(rule.window, validity, calendar, nowMs))
      return { used, endMs: windowEnd(rule.window, validity, calendar, nowMs) }
    }
    if (rule.kind === 'concurrent') {
      const running = [
        { page: ref.page, at: ref.offset * 2 + lanesAt(offset) },
        ...ref.elders.filter((elder) => elder.offset === offset),
      ]
      return {
        used: running.reduce((sum, { page, at }) => sum + sumOf(lanesOf(page, at, threads), 0, threads), 0),
        endMs: null,
      }
    }
    if (rule.value === 0) return { used: 0, endMs: null }
    const { leak, step } = toBucket(rule.value, rule.spanMs)
    const countedIn = doubles[offset + RATE_SLOTS.step]! || step
    const level = (doubles[offset + RATE_SLOTS.level]! / countedIn) * step
    return { used: Math.ceil(levelAt(level, doubles[offset + RATE_SLOTS.since]!, nowMs, leak) / step), endMs: null }
  }

  return {
    limits: plan.limits.map((limit, position) => useOf(limit, layout.offsets[position]!)),
    quota: plan.quota === null ? null : quotaUse(QUOTA_UNITS[plan.quota.period]),
  }

  function quotaUse(unit: Parameters<typeof endOf>[0]): NonNullable<LimitUsage['quota']> {
    return { usedMicro: countSince(layout.quota, calendar.start(unit, nowMs)), endMs: endOf(unit, nowMs) }
  }
}

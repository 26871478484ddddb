/** Reads how much of its limits a subscription has used, without the lock: for display, not for decisions. */

import { createCalendar } from '../foundation/domain/calendar.ts'
import type { LimitUsage } from '../boundary/plan/limit-book.ts'
import type { SlaPlan } from '../boundary/plan/sla-plan.ts'
import { doublesOf, type BlockRef } from './limit-block.ts'
import { usageOf } from './limit-kinds.ts'
import type { Layout } from './limit-layout.ts'
import { quotaUsage } from './quota-limit.ts'

export function readUsage(plan: SlaPlan, layout: Layout, ref: BlockRef, threads: number, nowMs: number): LimitUsage {
  const doubles = doublesOf(ref)
  const calendar = createCalendar()
  const context = { threads, calendar }
  return {
    limits: plan.limits.map((limit, position) =>
      usageOf(limit, layout.offsets[position]!, ref, doubles, nowMs, context),
    ),
    quota: plan.quota === null ? null : quotaUsage(plan.quota.period, layout.quota, doubles, nowMs, calendar),
  }
}

/** Replaces the use on this node by that on all nodes, where it is known how much is `left`: of each limit, then of the quota. */
export function toSharedUsage(plan: SlaPlan, own: LimitUsage, left: readonly (number | null)[]): LimitUsage {
  const usedOf = (value: number, position: number, used: number): number => {
    const remaining = left[position] ?? null
    return remaining === null || value === 0 ? used : Math.max(0, value - remaining)
  }
  const limits = own.limits.map((use, position) => ({
    ...use,
    used: usedOf(plan.limits[position]!.rule.value, position, use.used),
  }))
  if (plan.quota === null || own.quota === null) return { limits, quota: own.quota }
  const usedMicro = usedOf(plan.quota.unitsMicro, plan.limits.length, own.quota.usedMicro)
  return { limits, quota: { ...own.quota, usedMicro } }
}

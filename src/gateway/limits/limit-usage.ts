/** Reads how much of its limits a subscription has used, without the lock: for display, not for decisions. */

import { createCalendar } from '../../domain/calendar.ts'
import type { LimitUsage } from '../../plan/limit-book.ts'
import type { SlaPlan } from '../../plan/sla-plan.ts'
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

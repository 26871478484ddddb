/**
 * One decision over the counters of a locked block: checks all limits that apply, then takes from all or from none.
 *
 * Every limit counts in whole units of its own (`compiled-sla.ts`), so that one comparison serves all kinds: a call is within a limit
 * while use + step ≤ capacity. A caller is warned that a limit is near before the first refusal; if no call came near enough before,
 * the warning comes with the refusal.
 */

import { isValid } from '../../plan/validity-span.ts'
import type { CompiledLimit, CompiledSla } from './compiled-sla.ts'
import type { DecisionContext } from './decision-context.ts'
import { warn } from './limit-alert.ts'
import type { Block } from './limit-block.ts'
import { commit, resetMsOf, useOf, waitMsOf } from './limit-kinds.ts'
import { ADMITTED, QUOTA } from './limit-verdict.ts'
import { checkQuota, commitQuota } from './quota-limit.ts'

/** Fills the verdict of `context`, which must be cleared before. */
export function decide(
  sla: CompiledSla,
  block: Block,
  operation: number,
  nowMs: number,
  context: DecisionContext,
): void {
  const { verdict, applied } = context
  const count = readUses(sla.groups[operation]!, block, nowMs, context)
  checkLimits(count, block.doubles, nowMs, context)
  const cost = sla.unitsMicro[operation]!
  if (sla.quota !== null) checkQuota(sla.quota, cost, block.doubles, nowMs, context)
  if (verdict.refusedBy !== ADMITTED) {
    if (verdict.refusedBy === QUOTA) describeTightest(count, 0, nowMs, context)
    return
  }
  describeTightest(count, 1, nowMs, context)
  for (let index = 0; index < count; index++) commit(applied[index]!, index, block, nowMs, context)
  if (sla.quota !== null) commitQuota(sla.quota, cost, block.doubles, context)
}

/** Fills `applied` and `uses`, and returns how many limits apply. */
function readUses(
  groups: CompiledSla['groups'][number],
  block: Block,
  nowMs: number,
  context: DecisionContext,
): number {
  const { applied, uses, calendar } = context
  const dayMs = nowMs - calendar.start('day', nowMs)
  let count = 0
  for (let index = 0; index < groups.length; index++) {
    const limit = applying(groups[index]!, dayMs)
    if (limit === null) continue
    applied[count] = limit
    uses[count] = useOf(limit, count, block, nowMs, context)
    count++
  }
  return count
}

/** Refuses the call if one of the limits is reached; of several, the verdict names the one with the longest wait. */
function checkLimits(count: number, doubles: Float64Array, nowMs: number, context: DecisionContext): void {
  const { applied, uses } = context
  for (let index = 0; index < count; index++) {
    const limit = applied[index]!
    if (uses[index]! + limit.step > limit.capacity) refuse(limit, uses[index]!, doubles, nowMs, context)
  }
}

function refuse(
  limit: CompiledLimit,
  use: number,
  doubles: Float64Array,
  nowMs: number,
  { verdict, calendar }: DecisionContext,
): void {
  const waitMs = waitMsOf(limit, use, nowMs, calendar)
  warn(verdict, doubles, limit.warnedAt, true)
  if (verdict.refusedBy !== ADMITTED && waitMs <= verdict.retryAfterMs) return
  verdict.refusedBy = limit.position
  verdict.retryAfterMs = waitMs
  verdict.tightest = limit.position
  verdict.remaining = 0
  verdict.resetMs = waitMs
}

/** Describes the limit with the largest share used, as it stands after `calls` more calls. */
function describeTightest(count: number, calls: number, nowMs: number, context: DecisionContext): void {
  const { applied, uses, verdict, calendar } = context
  let tightest = -1
  let share = -1
  for (let index = 0; index < count; index++) {
    const { step, capacity } = applied[index]!
    const each = (uses[index]! + step) / capacity
    if (each > share) {
      share = each
      tightest = index
    }
  }
  if (tightest < 0) return
  const limit = applied[tightest]!
  const use = uses[tightest]! + calls * limit.step
  verdict.tightest = limit.position
  verdict.remaining = Math.floor((limit.capacity - use) / limit.step)
  verdict.resetMs = resetMsOf(limit, use, nowMs, calendar)
}

/** Returns the first limit whose validity includes `dayMs`; null if there is none, or if its value of 0 switches the property off. */
export function applying(group: readonly CompiledLimit[], dayMs: number): CompiledLimit | null {
  for (let index = 0; index < group.length; index++) {
    const limit = group[index]!
    if (isValid(limit.validity, dayMs)) return limit.rule.value === 0 ? null : limit
  }
  return null
}

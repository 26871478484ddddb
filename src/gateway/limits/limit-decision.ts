/**
 * One decision over the counters of a locked block: checks all limits that apply, then counts the call in all of them or in none.
 *
 * Every limit counts in its own whole units (`compiled-sla.ts`), so that one comparison serves all kinds: a call is within a limit
 * while use + step ≤ capacity. A caller is warned that a limit is near before the first refusal; if no call came near enough before,
 * the warning comes with the refusal.
 */

import { isValid } from '../../plan/validity-span.ts'
import type { CompiledLimit, CompiledSla } from './compiled-sla.ts'
import { createDecisionContext, type DecisionContextOptions } from './decision-context.ts'
import { warn } from './limit-alert.ts'
import type { Block } from './limit-block.ts'
import { commit, resetMsOf, useOf, waitMsOf } from './limit-kinds.ts'
import { ADMITTED, QUOTA } from './limit-verdict.ts'
import { checkQuota, commitQuota } from './quota-limit.ts'

/** Fills the verdict of the options, which must be cleared before. */
export type Decide = (sla: CompiledSla, block: Block, operation: number, nowMs: number) => void

/**
 * Creates the decision of one thread. Its stages are closures on purpose: V8 treats the working memory of the one instance per
 * thread as constants. Passing it to functions of the module costs 9 % of a decision (bench/micro/limiter.ts).
 */
// oxlint-disable-next-line max-lines-per-function -- stages outside the closure cost 9 % of a decision
export function createDecide(options: DecisionContextOptions): Decide {
  const context = createDecisionContext(options)
  const { verdict, calendar, applied, uses } = context

  function decide(sla: CompiledSla, block: Block, operation: number, nowMs: number): void {
    const { doubles } = block
    const count = readUses(sla.groups[operation]!, block, nowMs)
    for (let index = 0; index < count; index++) {
      const limit = applied[index]!
      if (uses[index]! + limit.step > limit.capacity) refuse(limit, uses[index]!, doubles, nowMs)
    }
    const cost = sla.unitsMicro[operation]!
    if (sla.quota !== null) checkQuota(sla.quota, cost, doubles, nowMs, context)
    if (verdict.refusedBy !== ADMITTED) {
      if (verdict.refusedBy === QUOTA) describeTightest(count, 0, nowMs)
      return
    }
    describeTightest(count, 1, nowMs)
    for (let index = 0; index < count; index++) admit(applied[index]!, index, block, nowMs)
    if (sla.quota !== null) commitQuota(sla.quota, cost, doubles, context)
  }

  /** Fills `applied` and `uses`, and returns how many limits apply. */
  function readUses(groups: CompiledSla['groups'][number], block: Block, nowMs: number): number {
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

  /** If several limits refuse, the verdict names the one with the longest wait. */
  function refuse(limit: CompiledLimit, use: number, doubles: Float64Array, nowMs: number): void {
    const waitMs = waitMsOf(limit, use, nowMs, calendar)
    warn(verdict, doubles, limit.warnedAt, true)
    if (verdict.refusedBy !== ADMITTED && waitMs <= verdict.retryAfterMs) return
    verdict.refusedBy = limit.position
    verdict.retryAfterMs = waitMs
    verdict.tightest = limit.position
    verdict.remaining = 0
    verdict.resetMs = waitMs
  }

  /** Describes the limit with the largest share used, with its state after `calls` more calls. */
  function describeTightest(count: number, calls: number, nowMs: number): void {
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

  function admit(limit: CompiledLimit, index: number, block: Block, nowMs: number): void {
    const { step, capacity, alertAt, warnedAt, warnsOncePerWindow } = limit
    const { doubles } = block
    const use = uses[index]!
    const after = use + step
    commit(limit, index, after, block, nowMs, context)
    if (!warnsOncePerWindow && use * 2 < capacity) doubles[warnedAt] = 0
    warn(verdict, doubles, warnedAt, after >= alertAt || after + step > capacity)
  }

  return decide
}

/** Returns the first limit whose validity includes `dayMs`; null if there is none, or if its value of 0 switches the property off. */
export function applying(group: readonly CompiledLimit[], dayMs: number): CompiledLimit | null {
  for (let index = 0; index < group.length; index++) {
    const limit = group[index]!
    if (isValid(limit.validity, dayMs)) return limit.rule.value === 0 ? null : limit
  }
  return null
}

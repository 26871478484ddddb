/**
 * One decision over the counters of a locked block: checks all limits that apply, then counts the call in all of them or in none.
 *
 * Every limit counts in its own whole units (`compiled-sla.ts`), so that one comparison serves all kinds: a call is within a limit
 * while use + step ≤ capacity. A caller is warned that a limit is near before the first refusal; if no call came near enough before,
 * the warning comes with the refusal.
 *
 * A limit that holds across nodes admits from a lease instead. It is counted on this node as well, which serves for display and while
 * no lease can be had.
 */

import { closedForMs, hasLease, isClosed, isExhausted, remainingOf, takeLease } from '../boundary/leases/lease-cell.ts'
import { isValid } from '../boundary/plan/validity-span.ts'
import type { CompiledLimit, CompiledSla } from './compiled-sla.ts'
import { createDecisionContext, type DecisionContextOptions } from './decision-context.ts'
import { warn } from './limit-alert.ts'
import type { LeaseBlock } from './lease-block.ts'
import type { Block } from './limit-block.ts'
import { commit, resetMsOf, useOf, waitMsOf } from './limit-kinds.ts'
import { ADMITTED, CLOSED, LACKING, noteClosed, QUOTA } from './limit-verdict.ts'
import { checkQuota, commitQuota } from './quota-limit.ts'

/** Fills the verdict of the options, which must be cleared before. `isAlone` decides by the counters of this node only. */
export type Decide = (sla: CompiledSla, block: Block, operation: number, nowMs: number, isAlone: boolean) => void

/**
 * Creates the decision of one thread. Its stages are closures on purpose: V8 treats the working memory of the one instance per
 * thread as constants. Passing it to functions of the module costs 9 % of a decision (bench/micro/limiter.ts).
 */
// oxlint-disable-next-line max-lines-per-function -- stages outside the closure cost 9 % of a decision
export function createDecide(options: DecisionContextOptions): Decide {
  const context = createDecisionContext(options)
  const { verdict, calendar, applied, uses, ownUses, moment, monotonicMs } = context

  function decide(sla: CompiledSla, block: Block, operation: number, nowMs: number, isAlone: boolean): void {
    const { doubles, leases } = block
    const count = readUses(sla.groups[operation]!, block, nowMs)
    const leased = isAlone ? null : leases
    if (leased !== null) checkLeases(count, leased, doubles, nowMs)
    else for (let index = 0; index < count; index++) check(applied[index]!, uses[index]!, doubles, nowMs)
    const cost = sla.unitsMicro[operation]!
    if (sla.quota !== null) checkQuota(sla.quota, cost, doubles, nowMs, context, leased?.quota ?? null)
    if (verdict.refusedBy !== ADMITTED) {
      if (verdict.refusedBy === QUOTA) describeTightest(count, 0, nowMs)
      return
    }
    if (verdict.lacking.length > 0) return void (verdict.refusedBy = verdict.isClosed ? CLOSED : LACKING)
    describeTightest(count, 1, nowMs)
    for (let index = 0; index < count; index++) admit(applied[index]!, index, block, nowMs)
    if (leases !== null) takeLeases(count, leases, isAlone)
    if (sla.quota !== null) commitQuota(sla.quota, cost, doubles, context, leased?.quota ?? null)
  }

  /** Fills `applied` and `uses`, and returns how many limits apply. */
  function readUses(groups: CompiledSla['groups'][number], block: Block, nowMs: number): number {
    const dayMs = nowMs - calendar.start('day', nowMs)
    let count = 0
    for (let index = 0; index < groups.length; index++) {
      const limit = applying(groups[index]!, dayMs)
      if (limit === null) continue
      applied[count] = limit
      uses[count] = ownUses[count] = useOf(limit, count, block, nowMs, context)
      count++
    }
    return count
  }

  function check(limit: CompiledLimit, use: number, doubles: Float64Array, nowMs: number): void {
    if (use + limit.step > limit.capacity) refuse(limit, use, doubles, nowMs)
  }

  /** Replaces the uses of leased limits by those of all nodes, and notes the leases that the call lacks. */
  function checkLeases(count: number, { views }: LeaseBlock, doubles: Float64Array, nowMs: number): void {
    moment.monotonicMs = monotonicMs()
    moment.wallMs = nowMs
    for (let index = 0; index < count; index++) {
      const limit = applied[index]!
      const { id, cell, at } = views[limit.position]!
      const isLeased = hasLease(cell, at, moment)
      if (!isLeased && !isExhausted(cell, at, moment)) {
        verdict.lacking.push([id, 1])
        if (isClosed(cell, at)) noteClosed(verdict, closedForMs(cell, at, moment))
        continue
      }
      uses[index] = Math.max(0, limit.capacity - remainingOf(cell, at) * limit.step)
      if (!isLeased) refuse(limit, limit.capacity, doubles, nowMs)
    }
  }

  /** Running calls occupy their slots also if they were admitted without a lease. */
  function takeLeases(count: number, { views }: LeaseBlock, isAlone: boolean): void {
    for (let index = 0; index < count; index++) {
      const limit = applied[index]!
      const { cell, at } = views[limit.position]!
      if (!isAlone || limit.kind === 'concurrent') takeLease(cell, at)
    }
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
    commit(limit, index, ownUses[index]! + step, block, nowMs, context)
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

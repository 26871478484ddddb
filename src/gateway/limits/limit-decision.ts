/**
 * One decision over the counters of a locked block: looks at all limits that apply, then takes from all
 * or from none.
 *
 * Every limit is looked at in whole units of its own (`compile-sla.ts`), so that one comparison serves
 * them all: a call is within a limit while use + step ≤ capacity. Writes are ordered so that a thread
 * that dies between two of them leaves a counter too high, never too low.
 *
 * The warning that a limit is near comes once a window, for buckets and gauges once until they have
 * fallen below half; where no call could be warned before the first refusal, it comes with it.
 */

import { createCalendar, endOf } from '../../domain/calendar.ts'
import { leakTimeMs, levelAt } from '../../domain/gcra.ts'
import { isValid } from '../../plan/validity-span.ts'
import { sumOf, type Block } from './limit-block.ts'
import { GAUGE_SLOTS, lanesAt, RATE_SLOTS, TOTAL_SLOTS } from './limit-layout.ts'
import type { CompiledLimit, CompiledQuota, CompiledSla } from './compile-sla.ts'
import { ADMITTED, QUOTA, type Verdict } from './limit-verdict.ts'
import { isAhead, laterStart, windowEnd, windowStart } from './limit-window.ts'

export interface DecideOptions {
  readonly verdict: Verdict
  readonly thread: number
  readonly threads: number
}

/** Fills the verdict, which comes in cleared. */
export type Decide = (sla: CompiledSla, block: Block, operation: number, nowMs: number) => void

/** One group a property: `rate`, `concurrent`, six totals and three short forms. */
const GROUPS_MAX = 16

export function createDecide({ verdict, thread, threads }: DecideOptions): Decide {
  const calendar = createCalendar()
  /** The limits that apply to the call at hand: their use before it, and the start of their window. */
  const applied: (CompiledLimit | null)[] = Array.from({ length: GROUPS_MAX }, () => null)
  const uses = new Float64Array(GROUPS_MAX)
  const starts = new Float64Array(GROUPS_MAX)

  function decide(sla: CompiledSla, block: Block, operation: number, nowMs: number): void {
    const { doubles } = block
    const count = look(sla.groups[operation]!, block, nowMs)
    for (let index = 0; index < count; index++) {
      const limit = applied[index]!
      if (uses[index]! + limit.step > limit.capacity) refuse(limit, index, doubles, nowMs)
    }
    const cost = sla.unitsMicro[operation]!
    if (sla.quota !== null) lookAtQuota(sla.quota, cost, doubles, nowMs)
    if (verdict.refusedBy !== ADMITTED) {
      if (verdict.refusedBy === QUOTA) describe(count, 0, nowMs)
      return
    }
    describe(count, 1, nowMs)
    for (let index = 0; index < count; index++) commit(applied[index]!, index, block, nowMs)
    if (sla.quota !== null) commitQuota(sla.quota, cost, doubles)
  }

  /** Returns how many limits apply. */
  function look(groups: CompiledSla['groups'][number], block: Block, nowMs: number): number {
    const dayMs = nowMs - calendar.start('day', nowMs)
    let count = 0
    for (let index = 0; index < groups.length; index++) {
      const limit = applying(groups[index]!, dayMs)
      if (limit === null) continue
      applied[count] = limit
      uses[count] = useOf(limit, count, block, nowMs)
      count++
    }
    return count
  }

  function useOf({ rule, offset, step, leak, validity }: CompiledLimit, index: number, block: Block, nowMs: number) {
    const { doubles } = block
    if (rule.kind === 'rate') {
      const level = doubles[offset + RATE_SLOTS.level]!
      const countedIn = doubles[offset + RATE_SLOTS.step]!
      // The rate was declared anew since: what was used stays used, and leaks at the new rate.
      const inUnits = countedIn === step || level === 0 ? level : Math.ceil((level / countedIn) * step)
      const since = doubles[offset + RATE_SLOTS.since]!
      // Noted before the clock was set back: it leaks from now on, not from when that time comes again.
      if (isAhead(since, nowMs)) doubles[offset + RATE_SLOTS.since] = nowMs
      return levelAt(inUnits, since, nowMs, leak)
    }
    if (rule.kind === 'total') {
      const stored = doubles[offset + TOTAL_SLOTS.start]!
      const start = laterStart(windowStart(rule.window, validity, calendar, nowMs), stored, nowMs)
      starts[index] = start
      return stored === start ? doubles[offset + TOTAL_SLOTS.count]! : 0
    }
    const { elders } = block
    let sum = sumOf(block.words, lanesAt(offset), threads)
    if (elders !== null) {
      for (let elder = 0; elder < elders.length; elder++) {
        if (elders[elder]!.offset === offset) sum += sumOf(elders[elder]!.lanes, 0, threads)
      }
    }
    return sum
  }

  function refuse(limit: CompiledLimit, index: number, doubles: Float64Array, nowMs: number): void {
    const { rule, validity } = limit
    const use = uses[index]!
    let waitMs = 0
    if (rule.kind === 'rate') waitMs = leakTimeMs(use + limit.step - limit.capacity, limit.leak)
    else if (rule.kind === 'total') waitMs = windowEnd(rule.window, validity, calendar, nowMs) - nowMs
    warn(doubles, warnedAt(limit), true)
    if (verdict.refusedBy !== ADMITTED && waitMs <= verdict.retryAfterMs) return
    verdict.refusedBy = limit.position
    verdict.retryAfterMs = waitMs
    verdict.tightest = limit.position
    verdict.remaining = 0
    verdict.resetMs = waitMs
  }

  /** The tightest of the limits that apply, after `calls` calls more. */
  function describe(count: number, calls: number, nowMs: number): void {
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
    const { position, rule, step, leak, capacity, validity } = applied[tightest]!
    const use = uses[tightest]! + calls * step
    verdict.tightest = position
    verdict.remaining = Math.floor((capacity - use) / step)
    if (rule.kind === 'rate') verdict.resetMs = leakTimeMs(use, leak)
    else if (rule.kind === 'total') verdict.resetMs = windowEnd(rule.window, validity, calendar, nowMs) - nowMs
  }

  function commit(limit: CompiledLimit, index: number, block: Block, nowMs: number): void {
    const { rule, offset, step, capacity, alertAt } = limit
    const { doubles, words } = block
    const use = uses[index]!
    const after = use + step
    if (rule.kind === 'rate') {
      const since = doubles[offset + RATE_SLOTS.since]!
      doubles[offset + RATE_SLOTS.since] = laterStart(nowMs, since, nowMs)
      doubles[offset + RATE_SLOTS.level] = after
      doubles[offset + RATE_SLOTS.step] = step
    } else if (rule.kind === 'total') {
      if (doubles[offset + TOTAL_SLOTS.start] !== starts[index]) {
        doubles[offset + TOTAL_SLOTS.start] = starts[index]!
        doubles[offset + TOTAL_SLOTS.warned] = 0
      }
      doubles[offset + TOTAL_SLOTS.count] = after
    } else {
      const gauge = lanesAt(offset) + thread
      Atomics.add(words, gauge, 1)
      verdict.gauge = gauge
    }
    if (rule.kind !== 'total' && use * 2 < capacity) doubles[warnedAt(limit)] = 0
    warn(doubles, warnedAt(limit), after >= alertAt || after + step > capacity)
  }

  function lookAtQuota(quota: CompiledQuota, cost: number, doubles: Float64Array, nowMs: number): void {
    const stored = doubles[quota.offset + TOTAL_SLOTS.start]!
    const start = laterStart(calendar.start(quota.unit, nowMs), stored, nowMs)
    if (stored !== start) {
      // The count falls before the start rises: a thread that dies in between leaves the old period.
      doubles[quota.offset + TOTAL_SLOTS.count] = 0
      doubles[quota.offset + TOTAL_SLOTS.warned] = 0
      doubles[quota.offset + TOTAL_SLOTS.start] = start
    }
    const used = doubles[quota.offset + TOTAL_SLOTS.count]!
    verdict.quotaStartMs = start
    verdict.quotaUsedMicro = used
    if (verdict.refusedBy !== ADMITTED || used + cost <= quota.capacity) return
    verdict.refusedBy = QUOTA
    verdict.retryAfterMs = endOf(quota.unit, nowMs) - nowMs
    warn(doubles, quota.offset + TOTAL_SLOTS.warned, true)
  }

  function commitQuota({ offset, alertAt, dearest, capacity }: CompiledQuota, cost: number, doubles: Float64Array) {
    const after = verdict.quotaUsedMicro + cost
    doubles[offset + TOTAL_SLOTS.count] = after
    verdict.quotaUsedMicro = after
    warn(doubles, offset + TOTAL_SLOTS.warned, after >= alertAt || after + dearest > capacity)
  }

  function warn(doubles: Float64Array, at: number, isNear: boolean): void {
    if (!isNear || doubles[at] === 1) return
    doubles[at] = 1
    verdict.approaching = true
  }

  return decide
}

/** Units go back to the period they came from, or nowhere. */
export function giveBackUnits(
  doubles: Float64Array,
  { offset }: CompiledQuota,
  unitsMicro: number,
  startMs: number,
): void {
  if (doubles[offset + TOTAL_SLOTS.start] !== startMs) return
  const used = doubles[offset + TOTAL_SLOTS.count]!
  doubles[offset + TOTAL_SLOTS.count] = used > unitsMicro ? used - unitsMicro : 0
}

/** The first definition that holds now, unless it switches the property off. */
export function applying(group: readonly CompiledLimit[], dayMs: number): CompiledLimit | null {
  for (let index = 0; index < group.length; index++) {
    const limit = group[index]!
    if (isValid(limit.validity, dayMs)) return limit.rule.value === 0 ? null : limit
  }
  return null
}

export function warnedAt({ rule, offset }: CompiledLimit): number {
  if (rule.kind === 'rate') return offset + RATE_SLOTS.warned
  return rule.kind === 'total' ? offset + TOTAL_SLOTS.warned : offset + GAUGE_SLOTS.warned
}

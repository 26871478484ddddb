/**
 * Decides whether a call is within all limits of its subscription, and takes from all of them or from
 * none.
 *
 * A block of counters is held under a spin lock for the fraction of a microsecond that a decision
 * takes: whatever the number of threads, never one call more than declared is admitted. Nothing is
 * allocated: the outcome stands in one `Verdict` that the next decision overwrites.
 *
 * `rate` is GCRA (ITU-T I.371) with a burst of `value`, counted in calls instead of time: the stored
 * arrival moves by exactly 1 a call, so that no rounding adds up. `total` counts in calendar windows or
 * in the span of a validity; `concurrent` is a sum of one gauge a thread.
 */

import { createCalendar, DAY_MS, endOf, type Calendar, type CalendarUnit } from '../domain/calendar.ts'
import type { LimitPlan, QuotaPeriod, SlaPlan, Validity } from '../opensla/sla-plan.ts'
import { layoutOf } from './limit-layout.ts'
import type { BlockRef } from './limit-memory.ts'

export interface CompiledSla {
  readonly plan: SlaPlan
  readonly limits: readonly CompiledLimit[]
  readonly quotaOffset: number
  /** By position of the operation: for each property the limits that may apply, top down. */
  readonly groups: readonly (readonly (readonly number[])[])[]
  /** By position of the operation. */
  readonly unitsMicro: readonly number[]
}

export interface CompiledLimit extends LimitPlan {
  readonly offset: number
  /** Name of the definition and its property, as a structured-field string can carry it. */
  readonly label: string
}

/** A block as one thread sees it. */
export interface Block {
  readonly lock: Int32Array
  readonly doubles: Float64Array
}

/** Position of the limit that refused, or one of these. */
export const ADMITTED = -1
export const QUOTA = -2

export interface Verdict {
  /** `ADMITTED`, `QUOTA`, or the position of the limit that refused. */
  refusedBy: number
  /** When the refusing limit opens again; 0 where it does so when a call ends. */
  retryAfterMs: number
  /** A limit passed its alert threshold with this call. */
  approaching: boolean
  /** The tightest limit that applied, or -1: position, what is left of it, and when it is whole again. */
  tightest: number
  remaining: number
  resetMs: number
  /** Quota: used after this call, and the end of its period. */
  quotaUsedMicro: number
  /** What `giveBack` needs: the period in which units were taken. */
  quotaStartMs: number
  /** What `release` needs: the gauge that counts this call, or 0. */
  gauge: number
}

export interface Limiter {
  compile(plan: SlaPlan, operationIds: readonly string[]): CompiledSla
  open(ref: BlockRef): Block
  /** Fills `verdict`. */
  take(sla: CompiledSla, block: Block, operation: number, nowMs: number): void
  /** Ends a call that was admitted. */
  release(block: Block, gauge: number): void
  /** Returns units to the period they were taken in. */
  giveBack(sla: CompiledSla, block: Block, unitsMicro: number, quotaStartMs: number): void
  readonly verdict: Verdict
}

export interface LimiterOptions {
  /** Number of this thread, from 0. */
  readonly thread: number
  readonly threads: number
}

const SPINS_MAX = 2_000
const WAIT_MS = 1
const GROUP_MAX = 16
/** Arrivals are counted from here (2026-01-01), so that a double keeps their fractions. */
const EPOCH_MS = 1_767_225_600_000

const QUOTA_UNITS: Readonly<Record<QuotaPeriod, CalendarUnit>> = {
  Daily: 'day',
  Monthly: 'month',
  Quarterly: 'quarter',
  Annual: 'year',
  PayAsYouGo: 'month',
}

export function createLimiter({ thread, threads }: LimiterOptions): Limiter {
  const calendar = createCalendar()
  const holder = thread + 1
  /** Limits that apply to the call at hand, the start of their window and their use before it. */
  const applied = new Int32Array(GROUP_MAX)
  const starts = new Float64Array(GROUP_MAX)
  const uses = new Float64Array(GROUP_MAX)
  const verdict: Verdict = {
    refusedBy: ADMITTED,
    retryAfterMs: 0,
    approaching: false,
    tightest: -1,
    remaining: 0,
    resetMs: 0,
    quotaUsedMicro: 0,
    quotaStartMs: 0,
    gauge: 0,
  }

  function take(sla: CompiledSla, block: Block, operation: number, nowMs: number): void {
    verdict.refusedBy = ADMITTED
    verdict.retryAfterMs = 0
    verdict.approaching = false
    verdict.tightest = -1
    verdict.gauge = 0
    lock(block)
    decide(sla, block.doubles, operation, nowMs)
    unlock(block)
  }

  function decide(sla: CompiledSla, doubles: Float64Array, operation: number, nowMs: number): void {
    const groups = sla.groups[operation]!
    const cost = sla.unitsMicro[operation]!
    let count = 0
    let tightestShare = -1

    for (let index = 0; index < groups.length; index++) {
      const position = applying(sla, groups[index]!, nowMs)
      if (position < 0) continue
      const limit = sla.limits[position]!
      const use = useOf(limit, doubles, nowMs)
      if (use + 1 > limit.rule.value) {
        verdict.refusedBy = position
        verdict.retryAfterMs = opensIn(limit, use, nowMs)
        verdict.remaining = 0
        verdict.resetMs = verdict.retryAfterMs
        verdict.tightest = position
        return
      }
      applied[count] = position
      starts[count] = windowStart
      uses[count] = use
      count++
      const share = (use + 1) / limit.rule.value
      if (share > tightestShare) {
        tightestShare = share
        verdict.tightest = position
        verdict.remaining = Math.floor(limit.rule.value - use - 1)
        verdict.resetMs = wholeIn(limit, use + 1, nowMs)
      }
    }
    const { quota } = sla.plan
    if (quota !== null && !takeQuota(sla, quota.period, quota.unitsMicro, cost, doubles, nowMs)) return
    for (let index = 0; index < count; index++)
      commit(sla, doubles, applied[index]!, starts[index]!, uses[index]!, nowMs)
  }

  /** Start of the window of the limit that `useOf` looked at last. */
  let windowStart = 0

  function useOf({ rule, offset, validity }: CompiledLimit, doubles: Float64Array, nowMs: number): number {
    if (rule.kind === 'rate') return Math.max(0, doubles[offset]! - arrivals(rule, nowMs))
    if (rule.kind === 'total') {
      const start = rule.window === 'period' ? spanStart(validity, calendar, nowMs) : calendar.start(rule.window, nowMs)
      // Another thread may be a moment ahead and have begun the next window already.
      windowStart = Math.max(start, doubles[offset]!)
      return doubles[offset]! >= start ? doubles[offset + 1]! : 0
    }
    let sum = 0
    for (let index = 1; index <= threads; index++) sum += doubles[offset + index]!
    return sum
  }

  function commit(
    sla: CompiledSla,
    doubles: Float64Array,
    position: number,
    start: number,
    use: number,
    nowMs: number,
  ): void {
    const { rule, offset } = sla.limits[position]!
    const after = use + 1
    const isHigh = after >= rule.value * sla.plan.alertShare
    if (rule.kind === 'rate') {
      doubles[offset] = arrivals(rule, nowMs) + after
      warn(doubles, offset + 1, isHigh, after < rule.value / 2)
    } else if (rule.kind === 'total') {
      warn(doubles, offset + 2, isHigh, doubles[offset] !== start)
      doubles[offset] = start
      doubles[offset + 1] = after
    } else {
      doubles[offset + 1 + thread]! += 1
      verdict.gauge = offset + 1 + thread
      warn(doubles, offset, isHigh, after < rule.value / 2)
    }
  }

  /** Warns once, and again only after the counter has started afresh or calmed down. */
  function warn(doubles: Float64Array, at: number, isHigh: boolean, isAfresh: boolean): void {
    if (isAfresh) doubles[at] = 0
    if (!isHigh || doubles[at] === 1) return
    doubles[at] = 1
    verdict.approaching = true
  }

  function takeQuota(
    sla: CompiledSla,
    period: QuotaPeriod,
    limitMicro: number,
    cost: number,
    doubles: Float64Array,
    nowMs: number,
  ): boolean {
    const { quotaOffset, plan } = sla
    const start = Math.max(calendar.start(QUOTA_UNITS[period], nowMs), doubles[quotaOffset]!)
    const isAfresh = doubles[quotaOffset] !== start
    const used = isAfresh ? 0 : doubles[quotaOffset + 1]!
    verdict.quotaStartMs = start
    verdict.quotaUsedMicro = used
    if (period !== 'PayAsYouGo' && used + cost > limitMicro) {
      verdict.refusedBy = QUOTA
      return false
    }
    warn(doubles, quotaOffset + 2, period !== 'PayAsYouGo' && used + cost >= limitMicro * plan.alertShare, isAfresh)
    doubles[quotaOffset] = start
    doubles[quotaOffset + 1] = used + cost
    verdict.quotaUsedMicro = used + cost
    return true
  }

  function opensIn(limit: CompiledLimit, use: number, nowMs: number): number {
    const { rule } = limit
    if (rule.kind === 'rate') return ((use + 1 - rule.value) * rule.spanMs) / rule.value
    return rule.kind === 'total' ? windowEnd(limit, calendar, nowMs) - nowMs : 0
  }

  function wholeIn(limit: CompiledLimit, use: number, nowMs: number): number {
    const { rule } = limit
    if (rule.kind === 'rate') return (use * rule.spanMs) / rule.value
    return rule.kind === 'total' ? windowEnd(limit, calendar, nowMs) - nowMs : 0
  }

  function applying(sla: CompiledSla, group: readonly number[], nowMs: number): number {
    for (let index = 0; index < group.length; index++) {
      const position = group[index]!
      const { validity, rule } = sla.limits[position]!
      if (validity.length > 0 && spanAt(validity, nowMs - calendar.start('day', nowMs)) === null) continue
      return rule.value === 0 ? -1 : position
    }
    return -1
  }

  function lock({ lock: word }: Block): void {
    for (let spins = 0; Atomics.compareExchange(word, 0, 0, holder) !== 0; spins++) {
      if (spins >= SPINS_MAX) Atomics.wait(word, 0, Atomics.load(word, 0), WAIT_MS)
    }
  }

  function unlock({ lock: word }: Block): void {
    Atomics.store(word, 0, 0)
  }

  return {
    verdict,
    take,
    compile: (plan, operationIds) => compile(plan, operationIds, threads),
    open: ({ page, offset, size }) => ({
      lock: new Int32Array(page, offset * 8, 2),
      doubles: new Float64Array(page, offset * 8, size),
    }),
    release({ doubles }, gauge) {
      // Only this thread writes its gauges, so giving back needs no lock.
      if (gauge > 0 && doubles[gauge]! > 0) doubles[gauge]! -= 1
    },
    giveBack(sla, block, unitsMicro, quotaStartMs) {
      if (sla.plan.quota === null || unitsMicro === 0) return
      lock(block)
      const at = sla.quotaOffset
      if (block.doubles[at] === quotaStartMs) block.doubles[at + 1] = Math.max(0, block.doubles[at + 1]! - unitsMicro)
      unlock(block)
    },
  }
}

function compile(plan: SlaPlan, operationIds: readonly string[], threads: number): CompiledSla {
  const layout = layoutOf(plan, threads)
  return {
    plan,
    quotaOffset: layout.quota,
    limits: plan.limits.map((limit, position) => ({
      ...limit,
      offset: layout.offsets[position]!,
      label: `${limit.name} ${limit.rule.kind === 'total' ? limit.rule.window : limit.rule.kind}`.replace(
        /[^ !#-[\]-~]/g,
        '_',
      ),
    })),
    groups: operationIds.map((id) => plan.byOperation[id] ?? plan.byOperation['*'] ?? []),
    unitsMicro: operationIds.map((id) => plan.unitsMicro[id] ?? plan.unitsMicro['*'] ?? 0),
  }
}

/** The present instant on the scale of a rate: one unit is the time in which one call is earned. */
function arrivals(rule: { value: number; spanMs: number }, nowMs: number): number {
  return ((nowMs - EPOCH_MS) * rule.value) / rule.spanMs
}

/** The span that holds `dayMs` (milliseconds after midnight), or null. */
function spanAt(validity: readonly Validity[], dayMs: number): Validity | null {
  for (let index = 0; index < validity.length; index++) {
    const span = validity[index]!
    const isInside =
      span.startMs < span.endMs
        ? dayMs >= span.startMs && dayMs < span.endMs
        : dayMs >= span.startMs || dayMs < span.endMs
    if (isInside) return span
  }
  return null
}

function spanStart(validity: readonly Validity[], calendar: Calendar, nowMs: number): number {
  const day = calendar.start('day', nowMs)
  const span = spanAt(validity, nowMs - day)
  if (span === null) return day
  return nowMs - day >= span.startMs ? day + span.startMs : day - DAY_MS + span.startMs
}

function windowEnd({ rule, validity }: CompiledLimit, calendar: Calendar, nowMs: number): number {
  if (rule.kind !== 'total') return nowMs
  if (rule.window !== 'period') return endOf(rule.window, nowMs)
  const start = spanStart(validity, calendar, nowMs)
  const span = spanAt(validity, nowMs - calendar.start('day', nowMs))
  if (span === null) return start + DAY_MS
  return start + ((span.endMs - span.startMs + DAY_MS) % DAY_MS || DAY_MS)
}

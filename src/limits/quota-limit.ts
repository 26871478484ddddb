/** The quota of resource units per calendar period, which admits or refuses a call in addition to the limits of calls. */

import { endOf, type Calendar, type CalendarUnit } from '../foundation/domain/calendar.ts'
import {
  closedForMs,
  hasLease,
  isClosed,
  isExhausted,
  LEASE_CELL,
  remainingOf,
  takeLease,
} from '../boundary/leases/lease-cell.ts'
import type { LimitUsage } from '../boundary/plan/limit-book.ts'
import { inOnePiece } from '../foundation/runtime/one-piece.ts'
import type { QuotaPeriod, SlaPlan } from '../boundary/plan/sla-plan.ts'
import type { CompiledQuota } from './compiled-sla.ts'
import type { DecisionContext } from './decision-context.ts'
import type { LeaseView } from './lease-block.ts'
import { alertThreshold, warn } from './limit-alert.ts'
import { ADMITTED, noteClosed, QUOTA } from './limit-verdict.ts'
import { laterStart } from './limit-window.ts'
import { toUnits } from './resource-units.ts'
import { advanceTo, countSince, WINDOW_SLOTS } from './window-counter.ts'

const UNITS: Readonly<Record<QuotaPeriod, CalendarUnit>> = {
  Daily: 'day',
  Monthly: 'month',
  Quarterly: 'quarter',
  Annual: 'year',
  PayAsYouGo: 'month',
}

export const quotaUnitOf = (period: QuotaPeriod): CalendarUnit => UNITS[period]

export function compileQuota(
  { quota, alertShare }: SlaPlan,
  offset: number,
  unitsMicro: readonly number[],
): CompiledQuota | null {
  if (quota === null) return null
  const hasLimit = quota.period !== 'PayAsYouGo'
  const capacity = hasLimit ? quota.unitsMicro : Infinity
  const limit = hasLimit ? `X-RU-Limit: ${toUnits(quota.unitsMicro)}\r\nX-RU-Remaining: ` : ''
  return {
    offset,
    unit: UNITS[quota.period],
    capacity,
    alertAt: alertThreshold(capacity, alertShare),
    costMax: unitsMicro.reduce((most, each) => Math.max(most, each), 0),
    headerStart: 'X-RU-Consumed: ',
    headerMiddle: inOnePiece(`\r\nX-RU-Period: ${quota.period}\r\n${limit}`),
  }
}

/**
 * Reads the use of the current period into the verdict, and refuses the call if its cost exceeds the remaining units. With a lease, the
 * use is that of all nodes, and the lease decides; `context.moment` must be set.
 */
export function checkQuota(
  quota: CompiledQuota,
  cost: number,
  doubles: Float64Array,
  nowMs: number,
  context: DecisionContext,
  lease: LeaseView | null,
): void {
  const { verdict, calendar } = context
  const stored = doubles[quota.offset + WINDOW_SLOTS.start]!
  const start = laterStart(calendar.start(quota.unit, nowMs), stored, nowMs)
  if (stored !== start) {
    // The count is cleared before the start is set: if the thread dies in between, the counter stays in the old period.
    doubles[quota.offset + WINDOW_SLOTS.count] = 0
    doubles[quota.offset + WINDOW_SLOTS.warned] = 0
    doubles[quota.offset + WINDOW_SLOTS.start] = start
  }
  const used = doubles[quota.offset + WINDOW_SLOTS.count]!
  verdict.quotaStartMs = start
  verdict.quotaUsedMicro = used
  if (lease === null ? used + cost <= quota.capacity : hasUnits(quota, cost, lease, context)) return
  if (verdict.refusedBy !== ADMITTED) return
  verdict.refusedBy = QUOTA
  verdict.retryAfterMs = endOf(quota.unit, nowMs) - nowMs
  warn(verdict, doubles, quota.offset + WINDOW_SLOTS.warned, true)
}

/** Whether the call may be admitted by its units, or would be if its node had a lease, which the verdict notes. */
function hasUnits(
  { capacity }: CompiledQuota,
  cost: number,
  { id, cell, at }: LeaseView,
  { verdict, moment }: DecisionContext,
): boolean {
  const isLeased = hasLease(cell, at, moment, cost)
  if (!isLeased && !isExhausted(cell, at, moment)) {
    verdict.lacking.push([id, cost])
    if (isClosed(cell, at)) noteClosed(verdict, closedForMs(cell, at, moment))
    return true
  }
  verdict.quotaUsedMicro = Math.min(capacity, Math.max(0, capacity - remainingOf(cell, at)))
  return isLeased
}

/** Charges the cost of an admitted call. */
export function commitQuota(
  { offset, alertAt, costMax, capacity }: CompiledQuota,
  cost: number,
  doubles: Float64Array,
  { verdict }: DecisionContext,
  lease: LeaseView | null,
): void {
  const after = verdict.quotaUsedMicro + cost
  doubles[offset + WINDOW_SLOTS.count]! += cost
  if (lease !== null) {
    takeLease(lease.cell, lease.at, cost)
    verdict.leaseStartMs = lease.cell[lease.at + LEASE_CELL.window]!
  }
  verdict.quotaUsedMicro = after
  warn(verdict, doubles, offset + WINDOW_SLOTS.warned, after >= alertAt || after + costMax > capacity)
}

/** Returns units to the period in which they were charged; does nothing if that period is over. */
export function refundQuota(
  doubles: Float64Array,
  { offset }: CompiledQuota,
  unitsMicro: number,
  startMs: number,
): void {
  if (doubles[offset + WINDOW_SLOTS.start] !== startMs) return
  const used = doubles[offset + WINDOW_SLOTS.count]!
  doubles[offset + WINDOW_SLOTS.count] = used > unitsMicro ? used - unitsMicro : 0
}

/** Adds units to the period in which their call was charged. Returns whether the call is the first of the period near the limit. */
export function chargeQuota(
  doubles: Float64Array,
  { offset, alertAt, costMax, capacity }: CompiledQuota,
  unitsMicro: number,
  startMs: number,
): boolean {
  if (doubles[offset + WINDOW_SLOTS.start] !== startMs) return false
  const after = (doubles[offset + WINDOW_SLOTS.count]! += unitsMicro)
  if (doubles[offset + WINDOW_SLOTS.warned] === 1 || (after < alertAt && after + costMax <= capacity)) return false
  doubles[offset + WINDOW_SLOTS.warned] = 1
  return true
}

export type QuotaState = 'exhausted' | 'over'

/** Reads the state of the period that began at `startMs`, without the lock. With a lease, the units that are left are those of all nodes. */
export function stateOfQuota(
  doubles: Float64Array,
  { offset, capacity }: CompiledQuota,
  startMs: number,
  lease: LeaseView | null,
): QuotaState | null {
  if (doubles[offset + WINDOW_SLOTS.start] !== startMs) return 'over'
  if (lease !== null) return remainingOf(lease.cell, lease.at) === 0 ? 'exhausted' : null
  return doubles[offset + WINDOW_SLOTS.count]! > capacity ? 'exhausted' : null
}

/** Charges the cost of an admitted call, as its record states it. */
export function replayQuota(
  { offset, unit, alertAt, costMax, capacity }: CompiledQuota,
  doubles: Float64Array,
  atMs: number,
  unitsMicro: number,
  calendar: Calendar,
): void {
  if (!advanceTo(calendar.start(unit, atMs), offset, doubles)) return
  const after = (doubles[offset + WINDOW_SLOTS.count]! += unitsMicro)
  if (after >= alertAt || after + costMax > capacity) doubles[offset + WINDOW_SLOTS.warned] = 1
}

/** Reads the use for display, without the lock. */
export function quotaUsage(
  period: QuotaPeriod,
  offset: number,
  doubles: Float64Array,
  nowMs: number,
  calendar: Calendar,
): NonNullable<LimitUsage['quota']> {
  const unit = UNITS[period]
  return { usedMicro: countSince(calendar.start(unit, nowMs), offset, doubles), endMs: endOf(unit, nowMs) }
}

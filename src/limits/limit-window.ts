/** Which window a total counts in: calendar windows in UTC, or the span of the validity at hand. */

import { DAY_MS, endOf, type Calendar } from '../foundation/domain/calendar.ts'
import type { TotalWindow } from '../foundation/domain/limit-rule.ts'
import type { Validity } from '../boundary/plan/sla-plan.ts'
import { lengthOf, spanAt } from '../boundary/plan/validity-span.ts'

const AHEAD_MAX_MS = 60_000

export function windowStart(
  window: TotalWindow,
  validity: readonly Validity[],
  calendar: Calendar,
  nowMs: number,
): number {
  if (window !== 'period') return calendar.start(window, nowMs)
  const day = calendar.start('day', nowMs)
  const span = spanAt(validity, nowMs - day)
  if (span === null) return day
  return nowMs - day >= span.startMs ? day + span.startMs : day - DAY_MS + span.startMs
}

export function windowEnd(
  window: TotalWindow,
  validity: readonly Validity[],
  calendar: Calendar,
  nowMs: number,
): number {
  if (window !== 'period') return endOf(window, nowMs)
  const span = spanAt(validity, nowMs - calendar.start('day', nowMs))
  return windowStart(window, validity, calendar, nowMs) + (span === null ? DAY_MS : lengthOf(span))
}

/**
 * The window that a counter begun at `stored` goes on in: another thread may be a moment ahead and have
 * begun the next one already, and a window is never begun twice.
 */
export function laterStart(start: number, stored: number, nowMs: number): number {
  return stored > start && !isAhead(stored, nowMs) ? stored : start
}

/** Whether `timeMs` was noted before the clock was set back, and not by a thread that is a moment ahead. */
export function isAhead(timeMs: number, nowMs: number): boolean {
  return timeMs > nowMs + AHEAD_MAX_MS
}

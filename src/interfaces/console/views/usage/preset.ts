/** The preset of a chart whose address has none: the last 30 days, or less for a young service. */

import { DAY_MS, HOUR_MS } from '../../../../foundation/domain/calendar.ts'
import { DEFAULT_PRESET } from './time-range.ts'

/** Starts of the day, the hour and the minute of the first use; null: there is none, missing: it has not been read. */
export interface FirstUse {
  readonly dayMs?: number | null | undefined
  readonly hourMs?: number | null | undefined
  readonly minuteMs?: number | null | undefined
}

/** Returns the shortest preset that has all usage; null while that is read. */
export function presetFor({ dayMs, hourMs, minuteMs }: FirstUse, nowMs: number): string | null {
  if (dayMs === undefined) return null
  if (dayMs === null) return '1h'
  if (!isRecentDay(dayMs, nowMs)) return dayMs < startOfDay(nowMs) - 6 * DAY_MS ? DEFAULT_PRESET : '7d'
  if (hourMs === undefined) return null
  if (hourMs === null || hourMs < nowMs - DAY_MS) return '7d'
  if (!isRecentHour(hourMs, nowMs)) return '1d'
  if (minuteMs === undefined) return null
  return minuteMs === null || minuteMs < nowMs - HOUR_MS ? '1d' : '1h'
}

/** Today or yesterday. */
export function isRecentDay(dayMs: number | null | undefined, nowMs: number): dayMs is number {
  return typeof dayMs === 'number' && dayMs >= startOfDay(nowMs) - DAY_MS
}

/** An hour that the last hour may begin in. */
export function isRecentHour(hourMs: number | null | undefined, nowMs: number): hourMs is number {
  return typeof hourMs === 'number' && hourMs > nowMs - 2 * HOUR_MS
}

function startOfDay(ms: number): number {
  return Math.floor(ms / DAY_MS) * DAY_MS
}

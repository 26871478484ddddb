/**
 * Calendar windows in UTC: minutes to years. Weeks start on Monday. UTC has no daylight saving time.
 *
 * A `Calendar` caches the current windows for a minute, so that a read costs one comparison.
 */

export const MINUTE_MS = 60_000
export const HOUR_MS = 3_600_000
export const DAY_MS = 86_400_000
export const WEEK_MS = 7 * DAY_MS

export const MINUTE_S = 60
export const HOUR_S = 3_600
export const DAY_S = 86_400

export type CalendarUnit = 'minute' | 'hour' | 'day' | 'week' | 'month' | 'quarter' | 'year'

/** 1970-01-01 was a Thursday, so the Monday before it was three days earlier. */
const MONDAY_OFFSET_MS = 3 * DAY_MS

export function startOf(unit: CalendarUnit, timeMs: number): number {
  switch (unit) {
    case 'minute':
      return timeMs - (timeMs % MINUTE_MS)
    case 'hour':
      return timeMs - (timeMs % HOUR_MS)
    case 'day':
      return timeMs - (timeMs % DAY_MS)
    case 'week':
      return timeMs - ((timeMs + MONDAY_OFFSET_MS) % WEEK_MS)
    default:
      return monthStart(timeMs, MONTHS[unit], 0)
  }
}

/** Returns the first instant after the window that contains `timeMs`. */
export function endOf(unit: CalendarUnit, timeMs: number): number {
  switch (unit) {
    case 'minute':
      return startOf(unit, timeMs) + MINUTE_MS
    case 'hour':
      return startOf(unit, timeMs) + HOUR_MS
    case 'day':
      return startOf(unit, timeMs) + DAY_MS
    case 'week':
      return startOf(unit, timeMs) + WEEK_MS
    default:
      return monthStart(timeMs, MONTHS[unit], 1)
  }
}

const MONTHS = { month: 1, quarter: 3, year: 12 } as const

function monthStart(timeMs: number, months: number, plus: number): number {
  const date = new Date(timeMs)
  const month = date.getUTCMonth()
  return Date.UTC(date.getUTCFullYear(), month - (month % months) + plus * months, 1)
}

export interface Calendar {
  /** Returns the start of the current window of `unit`. */
  start(unit: CalendarUnit, nowMs: number): number
}

export function createCalendar(): Calendar {
  const starts: Record<CalendarUnit, number> = { minute: 0, hour: 0, day: 0, week: 0, month: 0, quarter: 0, year: 0 }
  let untilMs = -Infinity
  let fromMs = Infinity

  return {
    start(unit, nowMs) {
      if (nowMs >= untilMs || nowMs < fromMs) {
        fromMs = startOf('minute', nowMs)
        untilMs = fromMs + MINUTE_MS
        for (const each of Object.keys(starts) as CalendarUnit[]) starts[each] = startOf(each, nowMs)
      }
      return starts[unit]
    },
  }
}

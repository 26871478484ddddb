/** The intervals of a chart, in UTC as the API adds them up. */

import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../../foundation/domain/calendar.ts'
import { endOf, type Range } from './time-range.ts'

export type Interval = 'minute' | 'hour' | 'day' | 'month'

const MINUTES_UP_TO_DAYS = 3 / 24
const HOURS_UP_TO_DAYS = 3
const DAYS_UP_TO_DAYS = 120
/** The last ones are shown if a time has more. */
const BUCKETS_MAX = 500

export function intervalOf(range: Range): Interval {
  const days = (endOf(range) - Date.parse(range.from)) / DAY_MS
  if (days <= MINUTES_UP_TO_DAYS) return 'minute'
  if (days <= HOURS_UP_TO_DAYS) return 'hour'
  return days <= DAYS_UP_TO_DAYS ? 'day' : 'month'
}

/** Returns the starts of the intervals. */
export function bucketsOf(range: Range, interval: Interval): readonly number[] {
  const times: number[] = []
  const endMs = endOf(range)
  const fromMs = Math.max(0, Date.parse(range.from))
  for (let at = startOf(fromMs, interval); at < endMs; at = nextOf(at, interval)) times.push(at)
  return times.slice(-BUCKETS_MAX)
}

const SIZES_MS = { minute: MINUTE_MS, hour: HOUR_MS, day: DAY_MS }

export function startOf(ms: number, interval: Interval): number {
  if (interval === 'month') return Date.UTC(new Date(ms).getUTCFullYear(), new Date(ms).getUTCMonth(), 1)
  const sizeMs = SIZES_MS[interval]
  return Math.floor(ms / sizeMs) * sizeMs
}

function nextOf(ms: number, interval: Interval): number {
  if (interval === 'month') return Date.UTC(new Date(ms).getUTCFullYear(), new Date(ms).getUTCMonth() + 1, 1)
  return ms + SIZES_MS[interval]
}

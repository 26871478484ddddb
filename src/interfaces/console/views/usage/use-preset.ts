/**
 * The time that a chart covers if the address names none: the shortest preset that has all usage, so that the chart of a young service
 * is no flat line with a peak at the end.
 */

import { useRead } from '../../api/use-read.ts'
import { TOTAL } from './links.ts'
import { isRecentDay, isRecentHour, presetFor } from './preset.ts'
import { rangeOf, toIso } from './time-range.ts'

/** Returns null while the first use is read. */
export function usePreset(filters: Readonly<Record<string, string>>): string | null {
  const nowMs = Date.now()
  const dayMs = useFirst(filters, 'day', Date.parse(rangeOf(new URLSearchParams()).from))
  const hourMs = useFirst(filters, 'hour', isRecentDay(dayMs, nowMs) ? dayMs : null)
  const minuteMs = useFirst(filters, 'minute', isRecentHour(hourMs, nowMs) ? hourMs : null)
  return presetFor({ dayMs, hourMs, minuteMs }, nowMs)
}

function useFirst(
  filters: Readonly<Record<string, string>>,
  interval: 'day' | 'hour' | 'minute',
  fromMs: number | null,
): number | null | undefined {
  const path = fromMs === null ? null : '/v1/summaries'
  const from = fromMs === null ? '' : toIso(fromMs)
  const { data, problem } = useRead(path, { query: { ...filters, groupBy: TOTAL, interval, from, limit: '1' } })
  if (data === null) return problem === null ? undefined : null
  const [first] = data.items
  return first === undefined ? null : Date.parse(first.from)
}

/** Calls by API or by subscription, for the rows of a list. */

import { HOUR_MS } from '../../../../foundation/domain/calendar.ts'
import { useRead } from '../../api/use-read.ts'
import { may } from '../../shell/person.ts'

const DAY_HOURS = 24
const GROUPS = '500'

/** Whole hours, so that the address of the answer stays the same for an hour. */
export function hoursAgo(hours: number): string {
  return new Date((Math.floor(Date.now() / HOUR_MS) - hours) * HOUR_MS).toISOString()
}

export function lastDay(): string {
  return hoursAgo(DAY_HOURS)
}

/** Returns the calls of one member; null: one answer does not contain all members, so that it must be read by itself. */
export function useCalls(
  groupBy: 'api' | 'subscription',
  filter: Readonly<Record<string, string>>,
): (id: string) => number | null {
  const path = may('usage:read') ? '/v1/summaries' : null
  const { data } = useRead(path, { query: { ...filter, groupBy, limit: GROUPS } })
  const totals = new Map<string, number>()
  // A row for each currency.
  for (const { calls, [groupBy]: id = '' } of data?.items ?? []) totals.set(id, (totals.get(id) ?? 0) + calls)
  return (id) => totals.get(id) ?? (data !== null && data.next === null ? 0 : null)
}

/**
 * Counts the rows that one instance stored on a server, by their writer.
 *
 * A server stores rows of other instances at the same time, so that their sum says nothing about one of them. Notes have the own rows
 * under names of their own (`own_items/202611`): rows of versions before that column are not among them.
 */

import type { FlushTotals } from '../flush-log.ts'
import type { ClickHouse } from './client.ts'
import { rowsOf } from './flush-notes.ts'

/** Names of own totals, by those of all rows. */
const OWN_NAMES: Readonly<Record<string, string>> = {
  line_items: 'own_items',
  calls: 'own_calls',
  service_levels: 'own_levels',
}

export function isOwn(name: string): boolean {
  return name.startsWith('own_')
}

/** Adds the own totals to the totals of a flush. */
export function withOwn(rows: FlushTotals): FlushTotals {
  const own = Object.entries(rows).flatMap(([name, value]) => {
    const [table = '', month = ''] = name.split('/')
    const ownName = OWN_NAMES[table]
    return ownName === undefined ? [] : [[`${ownName}/${month}`, value] as const]
  })
  return { ...rows, ...Object.fromEntries(own) }
}

/** Reads rows and calls by month. `fromMonth`: the first one, such as `202611`; the columns are read from there on. */
export async function countOwnRows(client: ClickHouse, instance: string, fromMonth = 0): Promise<FlushTotals> {
  const rows = await rowsOf<{ name: string; total: string | number }>(
    client,
    `SELECT concat('own_items/', toString(toYYYYMM(window_start))) AS name, count() AS total FROM line_items
     WHERE toYYYYMM(window_start) >= {month:UInt32} AND writer = {instance:String} GROUP BY name
     UNION ALL
     SELECT concat('own_levels/', toString(toYYYYMM(minute))) AS name, count() AS total FROM service_levels
     WHERE toYYYYMM(minute) >= {month:UInt32} AND writer = {instance:String} GROUP BY name
     UNION ALL
     SELECT concat('own_calls/', toString(toYYYYMM(hour))) AS name, sum(h.calls) AS total FROM line_items_hourly AS h
     WHERE toYYYYMM(hour) >= {month:UInt32} AND writer = {instance:String} GROUP BY name`,
    { instance, month: fromMonth },
  )
  return toTotals(rows)
}

/** Reads the rows of a flush by month, under the names of the own totals, and the number of its rows in the request log. */
export async function countRowsOfFlush(client: ClickHouse, instance: string, number: number): Promise<FlushTotals> {
  const isOfFlush = 'writer = {instance:String} AND flush_number = {number:UInt64}'
  const rows = await rowsOf<{ name: string; total: string | number }>(
    client,
    `SELECT concat('own_items/', toString(toYYYYMM(window_start))) AS name, count() AS total FROM line_items
     WHERE ${isOfFlush} GROUP BY name
     UNION ALL
     SELECT concat('own_levels/', toString(toYYYYMM(minute))) AS name, count() AS total FROM service_levels
     WHERE ${isOfFlush} GROUP BY name
     UNION ALL
     SELECT 'requests' AS name, count() AS total FROM request_log WHERE ${isOfFlush}`,
    { instance, number },
  )
  return toTotals(rows)
}

function toTotals(rows: readonly { readonly name: string; readonly total: string | number }[]): FlushTotals {
  return Object.fromEntries(rows.map(({ name, total }) => [name, Number(total)]))
}

/**
 * Compares the line items of the embedded store with the hourly totals that were made from them.
 *
 * Row counts do not tell whether a part was replaced by another one with as many rows. The sums of two tables do: each flush adds the
 * same calls, units and amounts to both.
 */

import type { FlushNote, FlushTotals } from '../flush-log.ts'
import type { ClickHouse } from './client.ts'
import { rowsOf } from './flush-notes.ts'

export interface ComparedSums {
  /** Calls by month (`calls/202611`) of the flushes whose rows are all stored. */
  readonly expected: FlushTotals
  /** Flushes that were interrupted, and calls with those of them. Either table may lack their rows, and is completed by the next flush. */
  readonly interrupted: { readonly flushes: readonly FlushNote[]; readonly expected: FlushTotals } | null
  /** Whether both tables keep the rows of a month, such as `202611`. */
  readonly isKept: (month: string) => boolean
}

/** A month whose sums differ. */
export interface DifferingMonth {
  readonly month: string
  /** Whether the hourly totals have fewer calls than were stored. */
  readonly lacksCalls: boolean
  readonly inWords: string
}

interface Sums {
  readonly calls: number
  readonly units: string
  readonly amount: string
}

/** Reading these takes about a second. Earlier months of a larger store are not compared. */
const ROWS_MAX = 40_000_000
const TABLES = [
  ['line_items', 'window_start'],
  ['line_items_hourly', 'hour'],
] as const
const NOTHING: Sums = { calls: 0, units: '0', amount: '0' }

export async function compareSums(client: ClickHouse, compared: ComparedSums): Promise<readonly DifferingMonth[]> {
  const { expected, interrupted, isKept } = compared
  const months = (await newestMonths(client)).filter(isKept)
  if (months.length === 0) return []
  const [items, hourly] = await Promise.all(TABLES.map((table) => readSums(client, table, months)))
  const ofInterrupted = interrupted === null ? null : await readInterrupted(client, interrupted.flushes, months)
  return months.flatMap((month) => {
    const [ofItems, ofHours] = [items?.get(month) ?? NOTHING, hourly?.get(month) ?? NOTHING]
    const name = `calls/${month}`
    const least = expected[name] ?? 0
    const most = interrupted?.expected[name] ?? least
    const isExplained = ofItems.calls === most || ofItems.calls - (ofInterrupted?.get(month) ?? 0) === least
    if (least !== most && ofItems.calls !== ofHours.calls && isExplained) return []
    const differing = (['calls', 'units', 'amount'] as const).filter((sum) => ofItems[sum] !== ofHours[sum])
    if (differing.length === 0) return []
    const sums = differing.map((sum) => `${sum} ${ofItems[sum]} and ${ofHours[sum]}`)
    const inWords = `${month.slice(0, 4)}-${month.slice(4)} (${sums.join(', ')})`
    return [{ month, lacksCalls: ofHours.calls < least, inWords }]
  })
}

async function newestMonths(client: ClickHouse): Promise<readonly string[]> {
  const rows = await rowsOf<{ month: string }>(
    client,
    `SELECT month FROM (
       SELECT partition_id AS month, sum(sum(rows)) OVER (ORDER BY partition_id DESC) AS read FROM system.parts
       WHERE active AND database = currentDatabase() AND table IN ('line_items', 'line_items_hourly') GROUP BY partition_id)
     WHERE read <= ${ROWS_MAX} ORDER BY month`,
  )
  return rows.map(({ month }) => month)
}

async function readSums(
  client: ClickHouse,
  [table, time]: (typeof TABLES)[number],
  months: readonly string[],
): Promise<ReadonlyMap<string, Sums>> {
  const rows = await rowsOf<{ month: string } & Record<keyof Sums, string | number>>(
    client,
    `SELECT toString(toYYYYMM(${time})) AS month, sum(t.calls) AS calls, toString(sum(t.units)) AS units, toString(sum(t.amount)) AS amount
     FROM ${table} AS t WHERE toYYYYMM(${time}) IN (${months.join(', ')}) GROUP BY month`,
  )
  return new Map(
    rows.map(({ month, calls, units, amount }) => [
      month,
      { calls: Number(calls), units: String(units), amount: String(amount) },
    ]),
  )
}

/** Returns the calls of line items that interrupted flushes stored, by month. */
async function readInterrupted(
  client: ClickHouse,
  flushes: readonly FlushNote[],
  months: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const calls = new Map<string, number>()
  for (const { instance, number } of flushes) {
    const rows = await rowsOf<{ month: string; calls: string | number }>(
      client,
      `SELECT toString(toYYYYMM(window_start)) AS month, sum(t.calls) AS calls FROM line_items AS t
       WHERE toYYYYMM(window_start) IN (${months.join(', ')}) AND flush_number = {number:UInt64} AND writer = {instance:String}
       GROUP BY month`,
      { instance, number },
    )
    for (const row of rows) calls.set(row.month, (calls.get(row.month) ?? 0) + Number(row.calls))
  }
  return calls
}

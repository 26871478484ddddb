/**
 * Keeps the corrections of closed months whose line items or sums are removed.
 *
 * Before the line items of a month are removed, usage that arrived after its closing is kept per price. Usage that arrives after the
 * removal is the difference between the sums and statement and corrections; its price is the amount divided by the units. It is kept
 * before the sums are removed. Both replace the corrections of the month as a whole, so they can be repeated.
 */

import { withAside } from './aside-tables.ts'
import type { ClickHouse } from './client.ts'
import { inBackground, inBackgroundOf } from './rollup-state.ts'
import { replacePartition } from './rollup-tables.ts'

export async function isMonthClosed(client: ClickHouse, monthMs: number, signal?: AbortSignal): Promise<boolean> {
  const query = `SELECT count() > 0 AS is_closed FROM statement_lines
    WHERE tenant = '' AND consumer = '' AND month = toDate('${toDate(monthMs)}')`
  const result = await client.query({ query, format: 'JSONEachRow', abort_signal: inBackground(signal) })
  return (await result.json<{ is_closed: number }>())[0]?.is_closed === 1
}

/** Keeps the corrections that the line items of the month show. All of its line items are in the store. */
export function keepCorrections(client: ClickHouse, monthMs: number, signal?: AbortSignal): Promise<void> {
  const month = `'${toDate(monthMs)}'`
  return replaceCorrections(client, monthMs, signal, [
    `SELECT toDate(${month}), tenant, consumer, api, currency, u.price, sum(u.calls), sum(u.units), sum(u.amount)
     FROM (
       SELECT tenant, consumer, api, currency, price, toInt64(calls) AS calls, units, amount FROM line_items
       WHERE ${isOfMonth('window_start', month)}
       UNION ALL
       SELECT tenant, consumer, api, currency, price, -toInt64(calls) AS calls, -units AS units, -amount AS amount
       FROM statement_lines WHERE tenant != '' AND month = toDate(${month})
     ) AS u
     GROUP BY tenant, consumer, api, currency, u.price
     HAVING sum(u.calls) != 0 OR sum(u.units) != 0 OR sum(u.amount) != 0`,
  ])
}

/** Keeps what the sums of the month have and its statement and corrections lack. */
export function keepRemainder(client: ClickHouse, monthMs: number, signal?: AbortSignal): Promise<void> {
  const month = `'${toDate(monthMs)}'`
  return replaceCorrections(client, monthMs, signal, [
    `SELECT * FROM statement_corrections WHERE month = toDate(${month})`,
    `SELECT toDate(${month}), tenant, consumer, api, currency, price, calls, units, amount
     FROM (${remainderSql(month, "tenant != ''")})`,
  ])
}

/**
 * Returns a query of the usage that the sums of a month have beyond its statement and corrections: per tenant, consumer, API and
 * currency, because sums have no prices.
 */
export function remainderSql(month: string, condition: string): string {
  return `
    SELECT tenant, consumer, api, currency,
      accurateCastOrDefault(if(sum(r.units) = 0, toDecimal256(0, 12), toDecimal256(sum(r.amount), 12) / toDecimal256(if(sum(r.units) = 0, 1, sum(r.units)), 6)), 'Decimal(18, 6)') AS price,
      sum(r.calls) AS calls, sum(r.units) AS units, sum(r.amount) AS amount
    FROM (
      SELECT tenant, consumer, api, currency, toInt64(calls) AS calls, units, amount FROM line_items_hourly
      WHERE ${condition} AND ${isOfMonth('hour', month)}
      UNION ALL
      SELECT tenant, consumer, api, currency, -toInt64(calls) AS calls, -units AS units, -amount AS amount
      FROM statement_lines WHERE ${condition} AND month = toDate(${month})
      UNION ALL
      SELECT tenant, consumer, api, currency, -calls AS calls, -units AS units, -amount AS amount
      FROM statement_corrections WHERE ${condition} AND month = toDate(${month})
    ) AS r
    GROUP BY tenant, consumer, api, currency
    HAVING sum(r.calls) != 0 OR sum(r.units) != 0 OR sum(r.amount) != 0`
}

async function replaceCorrections(
  client: ClickHouse,
  monthMs: number,
  signal: AbortSignal | undefined,
  selects: readonly string[],
): Promise<void> {
  const run = (query: string): Promise<unknown> => client.command({ query, abort_signal: inBackground(signal) })
  const id = toDate(monthMs).slice(0, 7).replace('-', '')
  await client.newParts.verified(async () => {
    const replace = async (next: string): Promise<void> => {
      for (const select of selects) await run(`INSERT INTO ${next} ${select} ${inBackgroundOf(client)}`)
      await replacePartition(client, { table: 'statement_corrections', id, from: next }, signal)
    }
    await withAside(client, 'statement_corrections', replace, signal)
  })
}

function isOfMonth(column: string, month: string): string {
  return `${column} >= toDateTime(${month}, 'UTC') AND ${column} < toDateTime(addMonths(toDate(${month}), 1), 'UTC')`
}

function toDate(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 10)
}

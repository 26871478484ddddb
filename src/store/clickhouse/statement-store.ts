/**
 * Statements in ClickHouse.
 *
 * A month is closed by copying its sums into a table of their own, which becomes visible as a whole. Usage that arrives later is the
 * difference between the line items and this copy.
 */

import { Problem } from '../../domain/problem.ts'
import type { StatementLine, StatementQuery, StatementStore } from '../statement-store.ts'
import type { UsageStore } from '../usage-store.ts'
import type { ClickHouse } from './client.ts'
import { readQuery } from './migrations.ts'
import type { Readers, Statement } from './readers.ts'
import { inBackground, inBackgroundOf } from './rollup-state.ts'
import { NOTHING_ROLLED } from './rollups.ts'
import { writeUsageOfMonth } from './statement-sql.ts'
import type { PricedUsage } from './summary-plan.ts'

type TotalRow = Pick<Row, 'currency' | 'calls' | 'units' | 'amount'>
type Row = Omit<StatementLine, 'calls'> & { readonly calls: string }

const CLOSES_AFTER_MS = 86_400_000
/** How long line items are kept; see `sql/schema`. */
const ITEMS_KEPT_MONTHS = 26
const CURRENCIES_MAX = 1_000
const LINES_MAX = 10_000
const NEXT = 'statement_lines_next'

export interface ClickHouseStatementOptions {
  readonly client: ClickHouse
  readonly readers: Readers
  readonly usage: Pick<UsageStore, 'summaries'>
  /** Days whose usage by price is read from a rollup. Default: none. */
  readonly priced?: PricedUsage
}

export function createClickHouseStatementStore({
  client,
  readers,
  usage,
  priced = NOTHING_ROLLED,
}: ClickHouseStatementOptions): StatementStore {
  const totalsSql = readQuery('statement_totals')
  const linesSql = readQuery('statement_lines')

  /** Reads the rollups, which takes less time than to read the line items of the month. */
  async function hasAllUsage(query: StatementQuery, signal?: AbortSignal): Promise<boolean> {
    const { tenant, consumer, monthMs, excludeApi } = query
    const range = { fromMs: monthMs, toMs: addMonths(monthMs, 1) }
    const summary = { tenant, customer: consumer, excludeApi, groupBy: [], limit: CURRENCIES_MAX, ...range }
    const found = await usage.summaries(summary, signal)
    const closed = await readers.read<TotalRow>(tenant, { query: totalsSql, params: toParams(query), consumer }, signal)
    const texts = found.rows.map(({ currency, calls, value, amount }) => `${currency} ${calls} ${value} ${amount}`)
    return texts.join() === closed.map((row) => `${row.currency} ${row.calls} ${row.units} ${row.amount}`).join()
  }

  return {
    async read(query, signal) {
      const { tenant, consumer, monthMs, nowMs } = query
      const params = toParams(query)
      const linesOf = async (statement: Statement): Promise<readonly StatementLine[]> =>
        toLines(await readers.read<Row>(tenant, { ...statement, consumer }, signal))
      const usageOf = (isLate: boolean): Promise<readonly StatementLine[]> => {
        const month = { query, toS: addMonths(monthMs, 1) / 1_000, limit: LINES_MAX + 1, isLate }
        return linesOf(writeUsageOfMonth(month, priced))
      }
      const [closed] = await readers.read<{ closed_ms: string }>(tenant, { query: CLOSED, params, consumer }, signal)
      if (closed === undefined) return { closedMs: null, lines: await usageOf(false), corrections: [] }
      const lines = await linesOf({ query: linesSql, params: { ...params, limit: LINES_MAX + 1 } })
      // Line items of the month may have expired, and would be missing.
      const isLate = monthMs >= firstKeptMs(nowMs) && !(await hasAllUsage(query, signal))
      return { closedMs: Number(closed.closed_ms), lines, corrections: isLate ? await usageOf(true) : [] }
    },
    async close(nowMs, signal) {
      for (const monthMs of await monthsToClose(client, nowMs, signal)) {
        signal?.throwIfAborted()
        await client.newParts.verified(() => closeMonth(client, monthMs, nowMs, signal))
      }
    },
  }
}

const CLOSED = `SELECT toUnixTimestamp64Milli(closed_at) AS closed_ms FROM statement_lines
  WHERE tenant = '' AND consumer = '' AND month = toDate({month:String}) LIMIT 1`

async function monthsToClose(client: ClickHouse, nowMs: number, signal?: AbortSignal): Promise<readonly number[]> {
  const result = await client.query({
    query: `SELECT DISTINCT partition_id AS month FROM system.parts
      WHERE active AND database = currentDatabase() AND table = 'line_items' AND partition_id NOT IN (
        SELECT partition_id FROM system.parts
        WHERE active AND database = currentDatabase() AND table = 'statement_lines' AND rows > 0)
      ORDER BY month`,
    format: 'JSONEachRow',
    abort_signal: inBackground(signal),
  })
  const months = (await result.json<{ month: string }>()).map(({ month }) =>
    Date.UTC(Number(month.slice(0, 4)), Number(month.slice(4)) - 1, 1),
  )
  return months.filter((monthMs) => addMonths(monthMs, 1) + CLOSES_AFTER_MS <= nowMs && monthMs >= firstKeptMs(nowMs))
}

async function closeMonth(client: ClickHouse, monthMs: number, nowMs: number, signal?: AbortSignal): Promise<void> {
  const run = (query: string): Promise<unknown> => client.command({ query, abort_signal: inBackground(signal) })
  const month = new Date(monthMs).toISOString().slice(0, 10)
  const closedAt = `fromUnixTimestamp64Milli(${nowMs}, 'UTC')`
  await run(`DROP TABLE IF EXISTS ${NEXT} SYNC`)
  await run(`CREATE TABLE ${NEXT} AS statement_lines`)
  await run(`INSERT INTO ${NEXT}
    SELECT toDate('${month}'), tenant, consumer, api, currency, price, sum(i.calls), sum(i.units), sum(i.amount), ${closedAt}
    FROM line_items AS i
    WHERE window_start >= toDateTime('${month}', 'UTC') AND window_start < toDateTime(addMonths(toDate('${month}'), 1), 'UTC')
    GROUP BY tenant, consumer, api, currency, price ${inBackgroundOf(client)}`)
  await run(`INSERT INTO ${NEXT} VALUES ('${month}', '', '', '', '', 0, 0, 0, 0, ${closedAt})`)
  await run(`ALTER TABLE statement_lines REPLACE PARTITION ID '${month.slice(0, 7).replace('-', '')}' FROM ${NEXT}`)
  await run(`DROP TABLE ${NEXT} SYNC`)
}

function toParams({ tenant, consumer, monthMs, excludeApi }: StatementQuery): Record<string, unknown> {
  return { tenant, consumer, month: new Date(monthMs).toISOString().slice(0, 10), exclude_api: excludeApi }
}

function toLines(rows: readonly Row[]): readonly StatementLine[] {
  if (rows.length > LINES_MAX) {
    const detail = `The statement has more than ${LINES_MAX.toLocaleString('en')} lines. Read the summaries or the line items of the month instead.`
    throw new Problem('unavailable', detail)
  }
  return rows.map((row) => ({ ...row, calls: Number(row.calls) }))
}

/** The first month of which no line item has expired. */
function firstKeptMs(nowMs: number): number {
  return addMonths(nowMs, 1 - ITEMS_KEPT_MONTHS)
}

/** Returns the first millisecond of the month so many months later. */
function addMonths(timeMs: number, months: number): number {
  const time = new Date(timeMs)
  return Date.UTC(time.getUTCFullYear(), time.getUTCMonth() + months, 1)
}

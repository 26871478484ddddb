/**
 * Statements in ClickHouse.
 *
 * A month is closed by copying its sums into a table of their own, which becomes visible as a whole. Usage that arrives later is the
 * difference between the line items and this copy; after the line items were removed, it is what was kept of this difference, and the
 * difference between the sums and both.
 */

import { Problem } from '../../../foundation/domain/problem.ts'
import { ALL_KEPT, notKept, type KeptUsage } from '../retention.ts'
import type { StatementLine, StatementQuery, StatementStore, StoredStatement } from '../statement-store.ts'
import type { UsageStore } from '../usage-store.ts'
import { withAside } from './aside-tables.ts'
import type { ClickHouse } from './client.ts'
import { readQuery } from './migrations.ts'
import type { Readers, Statement } from './readers.ts'
import { onAllReplicas, synchronise } from './replicas.ts'
import { inBackground, inBackgroundOf } from './rollup-state.ts'
import { NOTHING_ROLLED } from './rollups.ts'
import { remainderSql } from './statement-corrections.ts'
import { writeUsageOfMonth } from './statement-sql.ts'
import type { PricedUsage } from './summary-plan.ts'

type TotalRow = Pick<Row, 'currency' | 'calls' | 'units' | 'amount'>
type Row = Omit<StatementLine, 'calls'> & { readonly calls: string }

const CLOSES_AFTER_MS = 86_400_000
const CURRENCIES_MAX = 1_000
const LINES_MAX = 10_000

export interface ClickHouseStatementOptions {
  readonly client: ClickHouse
  readonly readers: Readers
  readonly usage: Pick<UsageStore, 'summaries'>
  /** Default: nothing is removed. */
  readonly kept?: () => KeptUsage
  /** Days whose usage by price is read from a rollup. Default: none. */
  readonly priced?: PricedUsage
}

export function createClickHouseStatementStore(options: ClickHouseStatementOptions): StatementStore {
  const { client, kept = () => ALL_KEPT } = options
  const reader = new StatementReader(options)
  return {
    async read(query, signal) {
      for (;;) {
        const before = kept()
        const [answer] = await Promise.allSettled([reader.read(query, before, signal)])
        // Usage of the month may have been removed meanwhile.
        if (kept() !== before) continue
        if (answer.status === 'rejected') throw answer.reason
        return answer.value
      }
    },
    async close(nowMs, signal) {
      // Another node may have closed a month on another replica.
      await synchronise(client, ['statement_lines', 'line_items'], signal)
      for (const monthMs of await monthsToClose(client, { nowMs, ...kept() }, signal)) {
        signal?.throwIfAborted()
        await client.newParts.verified(() => closeMonth(client, monthMs, nowMs, signal))
      }
    },
  }
}

class StatementReader {
  readonly #options: ClickHouseStatementOptions
  readonly #totalsSql = readQuery('statement_totals')
  readonly #linesSql = readQuery('statement_lines')

  constructor(options: ClickHouseStatementOptions) {
    this.#options = options
  }

  async read(query: StatementQuery, kept: KeptUsage, signal?: AbortSignal): Promise<StoredStatement> {
    const { monthMs } = query
    if (monthMs < kept.statementsFromMs)
      throw notKept('/month', 'Statements are kept from {keptFrom} on.', kept.statementsFromMs)
    const [closed] = await this.#rows<{ closed_ms: string }>({ query: CLOSED, params: toParams(query) }, query, signal)
    if (monthMs < kept.lineItemsFromMs) {
      // A month without usage was never closed.
      const closedMs = closed === undefined ? addMonths(monthMs, 1) + CLOSES_AFTER_MS : Number(closed.closed_ms)
      const lines = await this.#lines(toStatement(this.#linesSql, query), query, signal)
      const hasSums = monthMs >= kept.sumsFromMs
      const isLate = hasSums && !(await this.#hasAllUsage(query, { areItemsRemoved: true }, signal))
      const corrections = await this.#lines(toStatement(keptCorrectionsSql(isLate), query), query, signal)
      return { closedMs, lines, corrections }
    }
    if (closed === undefined) return { closedMs: null, lines: await this.#usage(query, false, signal), corrections: [] }
    const lines = await this.#lines(toStatement(this.#linesSql, query), query, signal)
    const isLate = !(await this.#hasAllUsage(query, { areItemsRemoved: false }, signal))
    return {
      closedMs: Number(closed.closed_ms),
      lines,
      corrections: isLate ? await this.#usage(query, true, signal) : [],
    }
  }

  /** Reads the usage of a month whose line items are kept; `isLate`: only what the closed statement lacks. */
  #usage(query: StatementQuery, isLate: boolean, signal?: AbortSignal): Promise<readonly StatementLine[]> {
    const month = { query, toS: addMonths(query.monthMs, 1) / 1_000, limit: LINES_MAX + 1, isLate }
    return this.#lines(writeUsageOfMonth(month, this.#options.priced ?? NOTHING_ROLLED), query, signal)
  }

  /** Reads the rollups, which takes less time than to read the rows of the month. */
  async #hasAllUsage(
    query: StatementQuery,
    { areItemsRemoved }: { readonly areItemsRemoved: boolean },
    signal?: AbortSignal,
  ): Promise<boolean> {
    const { tenant, consumer, monthMs, excludeApi } = query
    const range = { fromMs: monthMs, toMs: addMonths(monthMs, 1) }
    const summary = { tenant, customer: consumer, excludeApi, groupBy: [], limit: CURRENCIES_MAX, ...range }
    const found = await this.#options.usage.summaries(summary, signal)
    const params = { ...toParams(query), are_items_removed: areItemsRemoved ? 1 : 0 }
    const closed = await this.#rows<TotalRow>({ query: this.#totalsSql, params }, query, signal)
    const texts = found.rows.map(({ currency, calls, value, amount }) => `${currency} ${calls} ${value} ${amount}`)
    return texts.join() === closed.map((row) => `${row.currency} ${row.calls} ${row.units} ${row.amount}`).join()
  }

  async #lines(statement: Statement, query: StatementQuery, signal?: AbortSignal): Promise<readonly StatementLine[]> {
    return toLines(await this.#rows<Row>(statement, query, signal))
  }

  #rows<Of>(statement: Statement, { tenant, consumer }: StatementQuery, signal?: AbortSignal): Promise<readonly Of[]> {
    return this.#options.readers.read<Of>(tenant, { ...statement, consumer }, signal)
  }
}

const OF_CONSUMER = 'tenant = {tenant:String} AND consumer = {consumer:String} AND api != {exclude_api:String}'

/** The corrections that were kept of a month without line items, and what its sums have beyond them. */
function keptCorrectionsSql(isLate: boolean): string {
  const remainder = `UNION ALL
    SELECT api, currency, price, calls, units, amount FROM (${remainderSql('{month:String}', OF_CONSUMER)})`
  return `
    SELECT api, currency, toString(c.price) AS price, toString(sum(c.calls)) AS calls, toString(sum(c.units)) AS units,
      toString(sum(c.amount)) AS amount
    FROM (
      SELECT api, currency, price, calls, units, amount FROM statement_corrections
      WHERE ${OF_CONSUMER} AND month = toDate({month:String})
      ${isLate ? remainder : ''}
    ) AS c
    GROUP BY api, currency, c.price
    HAVING sum(c.calls) != 0 OR sum(c.units) != 0 OR sum(c.amount) != 0
    ORDER BY api, currency, c.price LIMIT {limit:UInt32}`
}

const CLOSED = `SELECT toUnixTimestamp64Milli(closed_at) AS closed_ms FROM statement_lines
  WHERE tenant = '' AND consumer = '' AND month = toDate({month:String}) LIMIT 1`

async function monthsToClose(
  client: ClickHouse,
  { nowMs, lineItemsFromMs }: { readonly nowMs: number } & Pick<KeptUsage, 'lineItemsFromMs'>,
  signal?: AbortSignal,
): Promise<readonly number[]> {
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
  return months.filter((monthMs) => addMonths(monthMs, 1) + CLOSES_AFTER_MS <= nowMs && monthMs >= lineItemsFromMs)
}

async function closeMonth(client: ClickHouse, monthMs: number, nowMs: number, signal?: AbortSignal): Promise<void> {
  const run = (query: string): Promise<unknown> => client.command({ query, abort_signal: inBackground(signal) })
  const month = new Date(monthMs).toISOString().slice(0, 10)
  const closedAt = `fromUnixTimestamp64Milli(${nowMs}, 'UTC')`
  const prepare = async (next: string): Promise<void> => {
    await run(`INSERT INTO ${next}
    SELECT toDate('${month}'), tenant, consumer, api, currency, price, sum(i.calls), sum(i.units), sum(i.amount), ${closedAt}
    FROM line_items AS i
    WHERE window_start >= toDateTime('${month}', 'UTC') AND window_start < toDateTime(addMonths(toDate('${month}'), 1), 'UTC')
    GROUP BY tenant, consumer, api, currency, price ${inBackgroundOf(client)}`)
    await run(`INSERT INTO ${next} VALUES ('${month}', '', '', '', '', 0, 0, 0, 0, ${closedAt})`)
    const id = month.slice(0, 7).replace('-', '')
    await run(`ALTER TABLE statement_lines REPLACE PARTITION ID '${id}' FROM ${next}${onAllReplicas(client)}`)
  }
  await withAside(client, 'statement_lines', prepare, signal)
}

function toParams({ tenant, consumer, monthMs, excludeApi }: StatementQuery): Record<string, unknown> {
  return { tenant, consumer, month: new Date(monthMs).toISOString().slice(0, 10), exclude_api: excludeApi }
}

function toStatement(sql: string, query: StatementQuery): Statement {
  return { query: sql, params: { ...toParams(query), limit: LINES_MAX + 1 } }
}

function toLines(rows: readonly Row[]): readonly StatementLine[] {
  if (rows.length > LINES_MAX) {
    const detail = `The statement has more than ${LINES_MAX.toLocaleString('en')} lines. Read the summaries or the line items of the month instead.`
    throw new Problem('unavailable', detail)
  }
  return rows.map((row) => ({ ...row, calls: Number(row.calls) }))
}

/** Returns the first millisecond of the month so many months later. */
function addMonths(timeMs: number, months: number): number {
  const time = new Date(timeMs)
  return Date.UTC(time.getUTCFullYear(), time.getUTCMonth() + months, 1)
}

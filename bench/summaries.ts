/**
 * How long a summary takes over many line items of one tenant: 20 APIs, 10,000 consumers, 30 days.
 *
 * The rows are generated inside the store. Each summary is read over ranges of random length and end, the first page of each. Every
 * answer is compared with the sum over the line items themselves, to the last digit. The same for statements of the two months, neither
 * of which is closed.
 *
 *   node bench/summaries.ts [--items 100000000] [--folder DIR] [--ranges 20] [--proofs 20]
 *
 * With a folder, its rows are kept and used again.
 */

import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openClickHouse, type ClickHouse } from '../src/storage/store/clickhouse/client.ts'
import { migrate } from '../src/storage/store/clickhouse/migrations.ts'
import { createReaders } from '../src/storage/store/clickhouse/readers.ts'
import { createRollups } from '../src/storage/store/clickhouse/rollups.ts'
import { createClickHouseStatementStore } from '../src/storage/store/clickhouse/statement-store.ts'
import { createClickHouseUsageStore } from '../src/storage/store/clickhouse/usage-store.ts'
import type { StatementLine, StatementStore } from '../src/storage/store/statement-store.ts'
import type { GroupField, SummaryQuery, SummaryRow } from '../src/storage/store/usage-store.ts'
import { createRandom } from '../test/random.ts'
import { APIS, CONSUMERS, consumerOf, DAY, DAYS, FIRST, generateUsage } from './generate-usage.ts'
import { describeMachine } from './machine.ts'
import { percentile } from './spread.ts'

const END = FIRST + DAYS * DAY
const TENANT = 'tenant-1'
const LIMIT = 50

const { values } = parseArgs({
  options: {
    items: { type: 'string', default: '100000000' },
    folder: { type: 'string' },
    ranges: { type: 'string', default: '20' },
    /** How many answers of each summary are compared with the line items; it takes seconds each. */
    proofs: { type: 'string', default: '20' },
    /** Hours of the last day that are not rolled up yet. */
    open: { type: 'string', default: '12' },
  },
})
const ranges = Number(values.ranges)
const random = createRandom(20)

console.log(`machine: ${describeMachine()}`)
const folder = values.folder ?? mkdtempSync(join(tmpdir(), 'summaries-'))
const isNew = !existsSync(join(folder, 'store'))
const client = openClickHouse({ url: null, folder })
const reader = openClickHouse({ url: null, folder })
try {
  await migrate(client)
  if (isNew) await timed('generated', () => generateUsage(client, { tenant: TENANT, items: Number(values.items) }))
  await printSizes()
  const rollups = createRollups(client)
  const now = END - DAY + Number(values.open) * 3_600_000
  await timed('rolled up or compared', () => rollups.roll(now))
  await timed('compared again', () => createRollups(client).roll(now))
  await printSizes()
  const usage = createClickHouseUsageStore(client, { rollups, readers: createReaders([reader]) })
  for (const [name, groupBy, more] of summaries()) {
    const times: number[] = []
    let proved = 0
    for (let index = 0; index < ranges; index++) {
      const query: SummaryQuery = { tenant: TENANT, ...randomRange(index), groupBy, limit: LIMIT, ...more() }
      const start = performance.now()
      const { rows } = await usage.summaries(query)
      times.push(performance.now() - start)
      if (proved < Number(values.proofs)) {
        await prove(name, query, rows)
        proved++
      }
    }
    show(name, times, proved)
  }
  const statements = createClickHouseStatementStore({
    client,
    readers: createReaders([reader]),
    usage,
    priced: rollups,
  })
  await client.command({ query: 'TRUNCATE TABLE statement_lines' })
  const [first, last] = [FIRST, END - 1].map(startOfMonth) as [number, number]
  await readStatements('statement of the current month', statements, last)
  await readStatements('statement of the month before', statements, first)
  await timed('closed the month before', () => statements.close(now))
  await readStatements('statement of a closed month', statements, first)
} catch (cause) {
  // The process may end when the store is closed.
  console.error(cause)
  process.exitCode = 1
} finally {
  await reader.close()
  await client.close()
  if (values.folder === undefined) rmSync(folder, { recursive: true, force: true })
}

function summaries(): readonly (readonly [string, readonly GroupField[], () => Partial<SummaryQuery>])[] {
  return [
    ['by API and customer (default)', ['api', 'customer'], () => ({})],
    ['by API', ['api'], () => ({})],
    ['per day', [], () => ({ interval: 'day' })],
    ['one customer', ['api', 'customer'], () => ({ customer: consumerOf(random.below(CONSUMERS)) })],
    ['one API by customer', ['customer'], () => ({ api: `api-${random.below(APIS)}-v1` })],
    ['by customer', ['customer'], () => ({})],
    ['one customer per day', ['api'], () => ({ customer: consumerOf(random.below(CONSUMERS)), interval: 'day' })],
  ]
}

/** The first range has all rows; the others have a random end and length, to the second. */
function randomRange(index: number): { fromMs: number; toMs: number } {
  if (index === 0) return { fromMs: FIRST, toMs: END }
  const [one, other] = [random.below((DAYS * DAY) / 1_000), random.below((DAYS * DAY) / 1_000)]
  return { fromMs: FIRST + Math.min(one, other) * 1_000, toMs: FIRST + Math.max(one, other) * 1_000 + 1 }
}

async function prove(name: string, query: SummaryQuery, rows: readonly SummaryRow[]): Promise<void> {
  const columns = {
    api: 'api',
    customer: 'consumer',
    operation: 'operation',
    subscription: 'subscription',
    agent: 'agent',
    revision: 'revision',
  }
  const keys = [
    ...(query.interval === 'day' ? ['toUnixTimestamp(toStartOfDay(window_start))'] : []),
    ...query.groupBy.map((field) => columns[field]),
    'currency',
  ]
  const filters = [
    ...(query.api === undefined ? [] : [`api = '${query.api}'`]),
    ...(query.customer === undefined ? [] : [`consumer = '${query.customer}'`]),
  ]
  const sql = `SELECT [${keys.map((key) => `toString(${key})`).join()}] AS key, toString(sum(i.calls)) AS calls,
      toString(sum(i.units)) AS value, toString(sum(i.amount)) AS amount
    FROM line_items AS i
    WHERE ${['tenant = {tenant:String}', 'window_start >= fromUnixTimestamp64Milli({fromMs:Int64})', 'window_start < fromUnixTimestamp64Milli({toMs:Int64})', ...filters].join(' AND ')}
    GROUP BY ${keys.join(', ')} ORDER BY ${keys.join(', ')} LIMIT ${query.limit}`
  const expected = await select<{ key: string[]; calls: string; value: string; amount: string }>(client, sql, {
    tenant: query.tenant,
    fromMs: query.fromMs,
    toMs: query.toMs,
  })
  const found = rows.map(({ group, calls, value, amount }) => [...Object.values(group), calls, value, amount].join(' '))
  const wanted = expected.map(({ key, calls, value, amount }) =>
    [...key.slice(query.interval === undefined ? 0 : 1, -1), calls, value, amount].join(' '),
  )
  if (found.length === 0 && query.toMs - query.fromMs > 3_600_000) throw new Error(`${name}: no rows`)
  if (found.join('\n') !== wanted.join('\n')) {
    throw new Error(
      `${name} of ${JSON.stringify(query)} differs:\n${found.slice(0, 3).join('\n')}\n${wanted.slice(0, 3).join('\n')}`,
    )
  }
}

async function readStatements(name: string, statements: StatementStore, monthMs: number): Promise<void> {
  const times: number[] = []
  let proved = 0
  for (let index = 0; index < ranges; index++) {
    const nowMs = END - DAY + Number(values.open) * 3_600_000
    const query = { tenant: TENANT, consumer: consumerOf(random.below(CONSUMERS)), monthMs, nowMs, excludeApi: '' }
    const start = performance.now()
    const { lines, corrections } = await statements.read(query)
    times.push(performance.now() - start)
    if (corrections.length > 0) throw new Error('a statement has corrections')
    if (proved < Number(values.proofs)) {
      await proveStatement(query, lines)
      proved++
    }
  }
  show(name, times, proved)
}

function startOfMonth(timeMs: number): number {
  return Date.UTC(new Date(timeMs).getUTCFullYear(), new Date(timeMs).getUTCMonth(), 1)
}

async function proveStatement(
  { consumer, monthMs }: { readonly consumer: string; readonly monthMs: number },
  lines: readonly StatementLine[],
): Promise<void> {
  const sql = `SELECT api, currency, toString(i.price) AS price, toString(sum(i.calls)) AS calls, toString(sum(i.units)) AS units,
      toString(sum(i.amount)) AS amount
    FROM line_items AS i WHERE tenant = {tenant:String} AND consumer = {consumer:String} AND toYYYYMM(window_start) = {month:UInt32}
    GROUP BY api, currency, i.price ORDER BY api, currency, i.price`
  const month = Number(new Date(monthMs).toISOString().slice(0, 7).replace('-', ''))
  const rows = await select<StatementLine>(client, sql, { tenant: TENANT, consumer, month })
  const toText = (line: StatementLine): string =>
    `${line.api} ${line.currency} ${line.price} ${line.calls} ${line.units} ${line.amount}`
  if (lines.length === 0) throw new Error('a statement has no lines')
  if (lines.map(toText).join('\n') !== rows.map(toText).join('\n'))
    throw new Error(`a statement of ${consumer} differs`)
}

function show(name: string, times: readonly number[], proved: number): void {
  const sorted = times.toSorted((a, b) => a - b)
  const shown = [50, 95, 100].map((percent) => percentile(sorted, percent).toFixed(0).padStart(5)).join(' ')
  console.log(`${name.padEnd(32)} p50, p95, max ms: ${shown}   ${ranges} ranges, ${proved} proved`)
}

async function printSizes(): Promise<void> {
  const sql = `SELECT table, sum(rows) AS rows, sum(bytes_on_disk) AS bytes, count() AS parts FROM system.parts
    WHERE active AND database = currentDatabase()  GROUP BY table HAVING rows > 1000 ORDER BY table`
  for (const { table, rows, bytes, parts } of await select<Record<string, string>>(client, sql)) {
    const each = (Number(bytes) / Number(rows)).toFixed(1)
    console.log(
      `  ${String(table).padEnd(22)} ${rows} rows, ${(Number(bytes) / 1e6).toFixed(0)} MB, ${each} bytes a row, ${parts} parts`,
    )
  }
}

async function select<Row>(from: ClickHouse, query: string, params: Record<string, unknown> = {}): Promise<Row[]> {
  return (await from.query({ query, query_params: params, format: 'JSONEachRow' })).json<Row>()
}

async function timed(name: string, task: () => Promise<unknown>): Promise<void> {
  const start = performance.now()
  await task()
  console.log(`${name} in ${((performance.now() - start) / 1_000).toFixed(1)} s`)
}

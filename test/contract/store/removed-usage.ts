/** A store from which usage is removed, and what its summaries and statements must show afterwards. */

import { expect } from 'vitest'
import { openClickHouse, type ClickHouse } from '../../../src/storage/store/clickhouse/client.ts'
import { readKeptUsage } from '../../../src/storage/store/clickhouse/kept-usage.ts'
import { migrate } from '../../../src/storage/store/clickhouse/migrations.ts'
import { createReaders, type Readers } from '../../../src/storage/store/clickhouse/readers.ts'
import { createRetention, type Retention } from '../../../src/storage/store/clickhouse/retention.ts'
import { createRollups, type Rollups } from '../../../src/storage/store/clickhouse/rollups.ts'
import { createClickHouseStatementStore } from '../../../src/storage/store/clickhouse/statement-store.ts'
import { createClickHouseUsageStore } from '../../../src/storage/store/clickhouse/usage-store.ts'
import type { KeptUsage, RetentionDays } from '../../../src/storage/store/retention.ts'
import type { StatementStore, StoredStatement } from '../../../src/storage/store/statement-store.ts'
import type { LineItem, SummaryQuery, UsageStore } from '../../../src/storage/store/usage-store.ts'
import type { Random } from '../../random.ts'
import { randomItems, randomQuery } from './random-usage.ts'
import { readSummary, sumUp } from './summary-model.ts'
import { addUp } from './usage-items.ts'

export const DAY = 86_400_000
export const HOUR = 3_600_000
export const START = Date.UTC(2026, 0, 10, 7)
/** Usage begins five months before the start. */
export const FIRST = Date.UTC(2025, 7, 1)
const DEFAULT_DAYS: RetentionDays = { lineItems: 800, sums: 3_660, risks: 30, requests: 7 }
export const SHORT: RetentionDays = { ...DEFAULT_DAYS, lineItems: 31, sums: 80 }

export interface UsageService {
  readonly client: ClickHouse
  readonly rollups: Rollups
  readonly retention: Retention
  readonly usage: UsageStore
  readonly statements: StatementStore
  /** Runs the background work of a service. */
  maintain(nowMs: number): Promise<void>
}

/** Composes the stores of usage as the service does. */
export async function openUsageService(
  folder: string,
  days: Partial<RetentionDays> = {},
  wrap: (readers: Readers, retention: Retention) => Readers = (readers) => readers,
): Promise<UsageService> {
  const client = openClickHouse({ url: null, folder })
  await migrate(client)
  const rollups = createRollups(client)
  const retention = createRetention({ client, days: { ...DEFAULT_DAYS, ...days }, kept: await readKeptUsage(client) })
  const readers = wrap(createReaders([client]), retention)
  const kept = (): KeptUsage => retention.kept
  const usage = createClickHouseUsageStore(client, { rollups, readers, kept })
  const statements = createClickHouseStatementStore({ client, readers, usage, kept })
  return {
    ...{ client, rollups, retention, usage, statements },
    async maintain(nowMs) {
      await rollups.roll(nowMs)
      await statements.close(nowMs)
      await retention.expire(nowMs)
    },
  }
}

export function itemsBetween(random: Random, [fromMs, toMs]: readonly [number, number], count: number): LineItem[] {
  return randomItems(random, count).map((each) => ({
    ...each,
    windowStartMs: fromMs + random.below((toMs - fromMs) / 10_000) * 10_000,
  }))
}

/** Reads random summaries; returns how many were refused. */
export async function expectExactOrRefused(
  { usage, retention }: UsageService,
  { random, items, nowMs, note, queries = 10 }: ExpectOptions,
): Promise<number> {
  let refused = 0
  for (let index = 0; index < queries; index++) {
    const query = anyQuery(random, nowMs)
    const text = `${note}, query ${index}: ${JSON.stringify(query)}`
    const answer = await readSummary(usage, query).catch((cause: unknown) => cause)
    if (isKept(query, retention.kept)) expect(answer, text).toEqual(sumUp(items, query))
    else {
      refused++
      expect(answer, text).toMatchObject({ code: 'payload_invalid', extensions: { keptFrom: expect.any(String) } })
    }
  }
  return refused
}

interface ExpectOptions {
  readonly random: Random
  readonly items: readonly LineItem[]
  readonly nowMs: number
  readonly note: string
  readonly queries?: number
}

function anyQuery(random: Random, nowMs: number): SummaryQuery {
  const at = (): number => FIRST - 5 * DAY + random.below((nowMs - FIRST) / 1_000 + 10 * 86_400) * 1_000
  const step = [1, 10_000, HOUR, DAY][random.below(4)]!
  const [one, other] = [at(), at()].map((timeMs) => Math.floor(timeMs / step) * step)
  const [fromMs, last] = [Math.min(one!, other!), Math.max(one!, other!)]
  const query = randomQuery(random)
  const toMs = query.interval === 'minute' ? Math.min(last, fromMs + DAY) : last
  return { ...query, fromMs, toMs, limit: 1_000 }
}

/** Whether a query needs nothing that was removed: sums for whole hours, line items for parts of an hour, minutes and revisions. */
function isKept(
  { fromMs, toMs, groupBy, revision, interval }: SummaryQuery,
  { lineItemsFromMs, sumsFromMs }: KeptUsage,
): boolean {
  if (fromMs >= toMs || fromMs >= lineItemsFromMs) return true
  if (revision !== undefined || groupBy.includes('revision') || interval === 'minute') return false
  const endsInHour = toMs % HOUR !== 0 && Math.floor(toMs / HOUR) * HOUR < lineItemsFromMs
  return fromMs >= sumsFromMs && fromMs % HOUR === 0 && !endsInHour
}

/** Calls, value and amount of all lines of a statement. */
export function totalOf({ lines, corrections }: StoredStatement) {
  return addUp([...lines, ...corrections].map(({ calls, units, amount }) => ({ calls, value: units, amount })))
}

/** Calls, value and amount of the line items of a consumer in a month. */
export function sumOfMonth(items: readonly LineItem[], consumer: string, monthMs: number) {
  const range = { fromMs: monthMs, toMs: nextMonth(monthMs) }
  return addUp(sumUp(items, { tenant: 'own', customer: consumer, groupBy: [], limit: 9, ...range }))
}

export function nextMonth(monthMs: number): number {
  const month = new Date(monthMs)
  return Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1)
}

export async function countBefore(client: ClickHouse, table: string, column: string, timeMs: number): Promise<number> {
  const query = `SELECT count() AS rows FROM ${table} WHERE ${column} < toDateTime(${timeMs / 1_000}, 'UTC')`
  const result = await client.query({ query, format: 'JSONEachRow' })
  return Number((await result.json<{ rows: string }>())[0]?.rows)
}

export async function expectRemoved({ client, retention }: UsageService): Promise<void> {
  const { lineItemsFromMs, sumsFromMs } = retention.kept
  expect(await countBefore(client, 'line_items', 'window_start', lineItemsFromMs)).toBe(0)
  for (const [table, column] of [
    ['line_items_hourly', 'hour'],
    ['usage_hourly_by_api', 'hour'],
    ['usage_daily', 'day'],
    ['usage_monthly', 'month'],
  ] as const) {
    expect(await countBefore(client, table, column, sumsFromMs), table).toBe(0)
  }
}

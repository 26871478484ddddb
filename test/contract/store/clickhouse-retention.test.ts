/**
 * Every summary equals the sum of all usage that was ever stored, or it is refused, whatever is removed when.
 *
 * Statements of closed months do not change when their line items and sums are removed.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { openClickHouse, type ClickHouse } from '../../../src/store/clickhouse/client.ts'
import { readKeptUsage } from '../../../src/store/clickhouse/kept-usage.ts'
import { migrate } from '../../../src/store/clickhouse/migrations.ts'
import { createReaders } from '../../../src/store/clickhouse/readers.ts'
import { createRetention, type Retention } from '../../../src/store/clickhouse/retention.ts'
import { createRollups, type Rollups } from '../../../src/store/clickhouse/rollups.ts'
import { createClickHouseStatementStore } from '../../../src/store/clickhouse/statement-store.ts'
import { createClickHouseUsageStore } from '../../../src/store/clickhouse/usage-store.ts'
import type { KeptUsage, RetentionDays } from '../../../src/store/retention.ts'
import type { StatementStore, StoredStatement } from '../../../src/store/statement-store.ts'
import type { LineItem, SummaryQuery, UsageStore } from '../../../src/store/usage-store.ts'
import { createRandom, type Random } from '../../random.ts'
import { randomItems, randomQuery } from './random-usage.ts'
import { readSummary, sumUp } from './summary-model.ts'
import { addUp, item } from './usage-items.ts'

const SEEDS = Number(process.env['SEEDS'] ?? 2)
const STEPS = Number(process.env['STEPS'] ?? 7)
const QUERIES = 10
const DAY = 86_400_000
const HOUR = 3_600_000
const START = Date.UTC(2026, 0, 10, 7)
/** Usage of five months before the start. */
const FIRST = Date.UTC(2025, 7, 1)
const DEFAULT_DAYS: RetentionDays = { lineItems: 800, sums: 3_660, risks: 30, requests: 7 }

let folder: string
let client: ClickHouse
let rollups: Rollups
let usage: UsageStore
let statements: StatementStore
let retention: Retention
let nowMs: number

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'retention-'))
  nowMs = START
  await open(DEFAULT_DAYS)
})
afterEach(async () => {
  await client.close()
  rmSync(folder, { recursive: true, force: true })
})

async function open(days: RetentionDays): Promise<void> {
  client = openClickHouse({ url: null, folder })
  await migrate(client)
  const readers = createReaders([client])
  rollups = createRollups(client)
  retention = createRetention({ client, days, kept: await readKeptUsage(client) })
  const kept = (): KeptUsage => retention.kept
  usage = createClickHouseUsageStore(client, { rollups, readers, kept })
  statements = createClickHouseStatementStore({ client, readers, usage, kept })
}

async function reopen(days: Partial<RetentionDays>): Promise<void> {
  await client.close()
  await open({ ...DEFAULT_DAYS, ...days })
}

/** The background work of a service. */
async function maintain(): Promise<void> {
  await rollups.roll(nowMs)
  await statements.close(nowMs)
  await retention.expire(nowMs)
}

/** Usage between two times, `latest` excluded. */
function itemsBetween(random: Random, { fromMs, toMs }: { fromMs: number; toMs: number }, count: number): LineItem[] {
  return randomItems(random, count).map((each) => ({
    ...each,
    windowStartMs: fromMs + random.below((toMs - fromMs) / 10_000) * 10_000,
  }))
}

function anyQuery(random: Random): SummaryQuery {
  const at = (): number => FIRST - 5 * DAY + random.below((nowMs - FIRST) / 1_000 + 10 * 86_400) * 1_000
  const step = [1, 10_000, HOUR, DAY][random.below(4)]!
  const [one, other] = [at(), at()].map((timeMs) => Math.floor(timeMs / step) * step)
  return { ...randomQuery(random), fromMs: Math.min(one!, other!), toMs: Math.max(one!, other!), limit: 1_000 }
}

/** Whether a range needs nothing that was removed: sums for its whole hours, line items for parts of an hour. */
function isKept({ fromMs, toMs }: SummaryQuery, { lineItemsFromMs, sumsFromMs }: KeptUsage): boolean {
  if (fromMs >= toMs || fromMs >= lineItemsFromMs) return true
  const endsInHour = toMs % HOUR !== 0 && Math.floor(toMs / HOUR) * HOUR < lineItemsFromMs
  return fromMs >= sumsFromMs && fromMs % HOUR === 0 && !endsInHour
}

async function expectExactOrRefused(random: Random, items: readonly LineItem[], note: string): Promise<number> {
  let refused = 0
  for (let index = 0; index < QUERIES; index++) {
    const query = anyQuery(random)
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

/** Calls, value and amount of a consumer in a month, from all its lines. */
function totalOf({ lines, corrections }: StoredStatement) {
  return addUp([...lines, ...corrections].map(({ calls, units, amount }) => ({ calls, value: units, amount })))
}

/** What the line items of a consumer in a month add up to. */
function sumOfMonth(items: readonly LineItem[], consumer: string, monthMs: number) {
  const query = { tenant: 'own', customer: consumer, groupBy: [], limit: 9, fromMs: monthMs, toMs: nextMonth(monthMs) }
  return addUp(sumUp(items, query))
}

function nextMonth(monthMs: number): number {
  const month = new Date(monthMs)
  return Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1)
}

const statementOf = (consumer: string, monthMs: number) =>
  statements.read({ tenant: 'own', consumer, monthMs, excludeApi: 'none-v1', nowMs })

async function rowsBefore(table: string, column: string, timeMs: number): Promise<number> {
  const query = `SELECT count() AS rows FROM ${table} WHERE ${column} < toDateTime(${timeMs / 1_000}, 'UTC')`
  const result = await client.query({ query, format: 'JSONEachRow' })
  return Number((await result.json<{ rows: string }>())[0]?.rows)
}

async function expectRemoved(): Promise<void> {
  const { lineItemsFromMs, sumsFromMs } = retention.kept
  expect(await rowsBefore('line_items', 'window_start', lineItemsFromMs)).toBe(0)
  for (const [table, column] of [
    ['line_items_hourly', 'hour'],
    ['usage_hourly_by_api', 'hour'],
    ['usage_daily', 'day'],
    ['usage_monthly', 'month'],
  ] as const) {
    expect(await rowsBefore(table, column, sumsFromMs), table).toBe(0)
  }
}

describe('retention of usage', () => {
  it.each(Array.from({ length: SEEDS }, (_, seed) => seed))(
    'never changes a sum that is still answered (seed %i)',
    { timeout: 300_000 },
    async (seed) => {
      const random = createRandom(seed)
      const items = itemsBetween(random, { fromMs: FIRST, toMs: nowMs }, 700)
      await usage.insert('first', items)
      const closed = new Map<string, StoredStatement['lines']>()
      let refused = 0
      for (let step = 0; step < STEPS; step++) {
        const lineItems = 31 + random.below(100)
        await reopen({ lineItems, sums: lineItems + random.below(120) })
        const note = `step ${step}`
        refused += await expectExactOrRefused(random, items, `${note}, opened`)
        await maintain()
        await expectRemoved()
        refused += await expectExactOrRefused(random, items, `${note}, removed`)
        for (let monthMs = FIRST; monthMs < nowMs; monthMs = nextMonth(monthMs)) {
          if (monthMs < retention.kept.sumsFromMs) continue
          const consumer = `con_${random.below(4)}`
          const statement = await statementOf(consumer, monthMs)
          const about = `${note}, ${consumer} in ${new Date(monthMs).toISOString()}`
          expect(totalOf(statement), about).toEqual(sumOfMonth(items, consumer, monthMs))
          if (statement.closedMs === null) continue
          const key = `${consumer} ${monthMs}`
          expect(statement.lines, about).toEqual(closed.get(key) ?? statement.lines)
          closed.set(key, statement.lines)
        }
        // Some arrive late, also before what is kept.
        const late = itemsBetween(random, { fromMs: Math.max(FIRST, nowMs - 150 * DAY), toMs: nowMs }, 20)
        nowMs += random.below(25) * DAY + random.below(DAY)
        const added = [...late, ...itemsBetween(random, { fromMs: nowMs - 5 * DAY, toMs: nowMs }, 60)]
        await usage.insert(`step-${step}`, added)
        items.push(...added)
      }
      expect(refused).toBeGreaterThan(0)
      expect(retention.kept.lineItemsFromMs).toBeGreaterThan(FIRST)
    },
  )

  const OLD = Date.UTC(2025, 7, 5, 9)

  it('refuses what is gone with the setting and the earliest time, also after the setting is longer again', async () => {
    await usage.insert('first', [
      item({ tenant: 'own', windowStartMs: OLD }),
      item({ tenant: 'own', windowStartMs: nowMs - DAY }),
    ])
    await maintain()
    const all: SummaryQuery = { tenant: 'own', fromMs: 1, toMs: nowMs, groupBy: [], limit: 9 }
    expect((await usage.summaries(all)).rows).toMatchObject([{ calls: 2 }])

    await reopen({ lineItems: 31 })
    await maintain()
    await reopen({})
    await maintain()
    const keptFrom = '2025-12-01T00:00:00.000Z'
    const list = usage.lineItems({ tenant: 'own', fromMs: OLD, toMs: nowMs, limit: 9 })
    await expect(list).rejects.toMatchObject({
      code: 'payload_invalid',
      message: `Line items are kept from ${keptFrom} on (RETENTION_LINE_ITEMS_DAYS). Send this time or a later one as \`from\`.`,
      errors: [{ pointer: '/from' }],
      extensions: { keptFrom },
    })
    const wholeHours = { ...all, fromMs: 0, toMs: nowMs - (nowMs % HOUR) }
    expect((await usage.summaries(wholeHours)).rows).toMatchObject([{ calls: 2 }])
    await expect(usage.summaries({ ...wholeHours, fromMs: OLD + 1_000 })).rejects.toMatchObject({
      errors: [
        { pointer: '/from', detail: expect.stringMatching(/^Before 2025-12-01T.* \(RETENTION_LINE_ITEMS_DAYS\)/) },
      ],
    })
    await expect(usage.summaries({ ...wholeHours, toMs: OLD + 1_000 })).rejects.toMatchObject({
      errors: [{ pointer: '/to' }],
      extensions: { keptFrom },
    })

    await reopen({ lineItems: 31, sums: 31 })
    await maintain()
    await expect(usage.summaries(wholeHours)).rejects.toMatchObject({
      message: `Sums are kept from ${keptFrom} on (RETENTION_SUMS_DAYS). Send this time or a later one as \`from\`.`,
    })
    expect((await usage.summaries({ ...all, fromMs: Date.parse(keptFrom) })).rows).toMatchObject([{ calls: 1 }])
  })

  it('removes the line items of a month only after its statement is closed', async () => {
    await usage.insert('first', [item({ tenant: 'own', windowStartMs: OLD })])
    await reopen({ lineItems: 31 })
    await retention.expire(nowMs)
    expect(retention.kept.lineItemsFromMs).toBe(0)
    expect(await rowsBefore('line_items', 'window_start', nowMs)).toBe(1)
    await statements.close(nowMs)
    await retention.expire(nowMs)
    expect(await rowsBefore('line_items', 'window_start', nowMs)).toBe(0)
  })

  it('keeps corrections: those before the removal per price, later ones per API, also without sums', async () => {
    const month = Date.UTC(2025, 7)
    const of = (changes: Partial<LineItem>) => item({ tenant: 'own', windowStartMs: OLD, ...changes })
    await usage.insert('first', [of({}), of({ priceMicro: 500_000 })])
    await statements.close(nowMs)
    await usage.insert('late', [of({ unitsMicro: 3_000_000n }), of({ priceMicro: 500_000, calls: 4 })])
    const before = await statementOf('con_1', month)
    expect(before.corrections).toHaveLength(2)
    await reopen({ lineItems: 31 })
    await maintain()
    expect(await statementOf('con_1', month)).toEqual(before)

    const later = of({ calls: 2, unitsMicro: 3_000_000n, priceMicro: 123_456 })
    await usage.insert('later', [later])
    const price = { api: 'payments-v1', currency: 'EUR', price: '0.123456' }
    const correction = { ...price, calls: 2, units: '3', amount: '0.370368' }
    const after = { ...before, corrections: [correction, ...before.corrections] }
    expect(await statementOf('con_1', month)).toEqual(after)
    for (let time = 0; time < 2; time++) {
      await maintain()
      expect(await statementOf('con_1', month)).toEqual(after)
    }
    expect(await rowsBefore('line_items', 'window_start', nowMs)).toBe(0)

    await reopen({ lineItems: 31, sums: 31 })
    await maintain()
    expect(await rowsBefore('line_items_hourly', 'hour', nowMs)).toBe(0)
    expect(await statementOf('con_1', month)).toEqual(after)
    expect(await statementOf('con_2', month)).toMatchObject({ lines: [], corrections: [] })
    await maintain()
    expect(await statementOf('con_1', month)).toEqual(after)
  })
})

/** Removals beside reads and repeated flushes, of requests and risk events, and in stores of earlier versions. */

import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createFlusher } from '../../../src/pipeline/metering/flush.ts'
import { createLog } from '../../../src/foundation/runtime/log.ts'
import { openClickHouse, type ClickHouse } from '../../../src/storage/store/clickhouse/client.ts'
import { compareDefinitions } from '../../../src/storage/store/clickhouse/definitions.ts'
import { createFlushLog } from '../../../src/storage/store/clickhouse/flush-log.ts'
import { readKeptUsage } from '../../../src/storage/store/clickhouse/kept-usage.ts'
import { migrate, SQL_FOLDER } from '../../../src/storage/store/clickhouse/migrations.ts'
import type { Readers } from '../../../src/storage/store/clickhouse/readers.ts'
import { createRetention, type Retention } from '../../../src/storage/store/clickhouse/retention.ts'
import { createClickHouseUsageStore } from '../../../src/storage/store/clickhouse/usage-store.ts'
import { openSqliteCheckpoint } from '../../../src/storage/store/sqlite/checkpoint.ts'
import type { LineItem, SummaryQuery } from '../../../src/storage/store/usage-store.ts'
import { countBefore, DAY, openUsageService, SHORT, START, type UsageService } from './removed-usage.ts'
import { item } from './usage-items.ts'

const AUGUST = Date.UTC(2025, 7)
const OLD = AUGUST + 4 * DAY
const OCTOBER = Date.UTC(2025, 9)
const WHOLE = { missingTables: [], changedTables: [], lostDerived: [] }

let folder: string
let service: UsageService | null = null

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'removals-'))
})
afterEach(async () => {
  await service?.client.close()
  service = null
  rmSync(folder, { recursive: true, force: true })
})

const of = (changes: Partial<LineItem> = {}) => item({ tenant: 'own', windowStartMs: OLD, ...changes })
const all: SummaryQuery = { tenant: 'own', fromMs: OCTOBER, toMs: START, groupBy: [], limit: 9 }

describe('a read that a removal overtakes', () => {
  /** Removes usage between the plan of the next read and its statement. */
  async function openOvertaken(): Promise<{ service: UsageService; overtake: () => void }> {
    let isDue = false
    const wrap = (readers: Readers, retention: Retention): Readers => ({
      async read(tenant, statement, signal) {
        if (isDue) {
          isDue = false
          await retention.expire(START)
        }
        return readers.read(tenant, statement, signal)
      },
    })
    service = await openUsageService(folder, SHORT, wrap)
    await service.usage.insert('first', [
      of(),
      of({ windowStartMs: OCTOBER + DAY }),
      of({ windowStartMs: START - DAY }),
    ])
    await service.statements.close(START)
    return { service, overtake: () => void (isDue = true) }
  }

  it('is refused instead of answered with the rows that are left', async () => {
    const opened = await openOvertaken()
    opened.overtake()
    const list = opened.service.usage.lineItems({ tenant: 'own', fromMs: OLD, toMs: START, limit: 9 })
    await expect(list).rejects.toMatchObject({ code: 'payload_invalid', errors: [{ pointer: '/from' }] })
  })

  it.each([
    ['whose sums go', { ...all, fromMs: AUGUST }],
    ['whose line items go', { ...all, fromMs: OCTOBER + 1_000, toMs: START - 1 }],
  ])('of a summary %s is refused', async (_, query) => {
    const opened = await openOvertaken()
    opened.overtake()
    await expect(opened.service.usage.summaries(query)).rejects.toMatchObject({ code: 'payload_invalid' })
    expect((await opened.service.usage.summaries(all)).rows).toMatchObject([{ calls: 2 }])
  })

  it('is repeated for a statement', async () => {
    const opened = await openOvertaken()
    const query = { tenant: 'own', consumer: 'con_1', monthMs: AUGUST, excludeApi: 'x-v1', nowMs: START }
    await opened.service.usage.insert('late', [of({ calls: 5 })])
    const before = await opened.service.statements.read(query)
    expect(before.corrections).toMatchObject([{ calls: 5 }])
    opened.overtake()
    expect(await opened.service.statements.read(query)).toEqual(before)
  })
})

describe('a flush that is repeated after its line items were removed', () => {
  const LATE = [of({ calls: 3 }), of({ windowStartMs: START - DAY, calls: 4 })]

  it.each([
    ['of a removed month', LATE.slice(0, 1), 3],
    ['of a removed month and a later one', LATE, 7],
  ])('%s adds to the sums once', async (_, items, calls) => {
    for (const isStored of [true, false]) {
      const name = `stored-${isStored}`
      service = await openUsageService(join(folder, name), { ...SHORT, sums: 3_660 })
      await service.usage.insert('first', [of()])
      await service.maintain(START)
      expect(service.retention.kept.lineItemsFromMs).toBeGreaterThan(OLD)

      const { client, usage, retention } = service
      const checkpoint = openSqliteCheckpoint({ path: join(folder, `${name}.db`), newInstance: () => 'one' })
      const instance = { instance: () => 'one', nowMs: () => START, registryEnd: async () => 42 }
      const flushLog = createFlushLog({ client, isEmbedded: true, ...instance })
      let repairs = 0
      const flusher = createFlusher({
        checkpoint,
        usage: {
          ...usage,
          async insert(token, rows) {
            if (repairs > 0) return usage.insert(token, rows)
            // The process ends after the insert, or before it; its line items are removed before the next one repeats the flush.
            if (isStored) await usage.insert(token, rows)
            await retention.expire(START)
            repairs++
            throw new Error('ended')
          },
        },
        levels: { insert: async () => {} },
        requests: { insert: async () => {} },
        flushLog: { ...flushLog, repairs: () => repairs },
        requestLog: 'refused',
        clock: { nowMs: () => START, after: (_delay, task) => (queueMicrotask(task), () => {}), every: () => () => {} },
        log: createLog('silent'),
        count: () => {},
      })
      await flusher.flush({ 'gateway-0': { segment: 5, offset: 100 } }, { items, levels: [], requests: [] })
      checkpoint.close()

      expect((await usage.summaries({ ...all, fromMs: AUGUST })).rows, name).toMatchObject([{ calls: calls + 1 }])
      const query = { tenant: 'own', consumer: 'con_1', monthMs: AUGUST, excludeApi: 'x-v1', nowMs: START }
      expect((await service.statements.read(query)).corrections, name).toMatchObject([{ calls: 3 }])
      await service.maintain(START)
      expect((await service.statements.read(query)).corrections, name).toMatchObject([{ calls: 3 }])
      await client.close()
    }
    service = null
  })
})

describe('usage on a server', () => {
  it('is removed when other services of the server refuse to read it', async () => {
    service = await openUsageService(folder)
    await service.usage.insert('first', [of()])
    await service.statements.close(START)
    const client = Object.assign(Object.create(service.client) as ClickHouse, { isEmbedded: false })
    const open = async () => createRetention({ client, days: SHORT, kept: await readKeptUsage(client) })
    const retention = await open()
    const other = await open()
    await retention.expire(START)
    expect(retention.kept.lineItemsFromMs).toBeGreaterThan(OLD)
    await other.expire(START + 600_000)
    expect(other.kept).toEqual(retention.kept)
    expect(await countBefore(client, 'line_items', 'window_start', START)).toBe(1)
    expect(await countBefore(client, 'line_items_hourly', 'hour', START)).toBe(1)
    await retention.expire(START + 1_200_000)
    expect(await countBefore(client, 'line_items', 'window_start', START)).toBe(0)
    expect(await countBefore(client, 'line_items_hourly', 'hour', START)).toBe(0)
  })
})

describe('requests and risk events', () => {
  it('are removed by the day when their retention has ended', async () => {
    service = await openUsageService(folder, { requests: 2, risks: 12 })
    const { client, retention } = service
    const days = [0, 1, 2, 3, 11, 12, 13, 40]
    for (const [table, column] of [
      ['request_log', 'request_id'],
      ['risk_events', 'id'],
    ] as const) {
      const values = days.map((day) => ({ tenant: 'own', at: START - day * DAY, [column]: `day ${day}` }))
      await client.insert({ table, values, format: 'JSONEachRow' })
    }
    const read = async (table: string, column: string): Promise<readonly string[]> => {
      const query = `SELECT ${column} AS id FROM ${table} ORDER BY at DESC`
      const result = await client.query({ query, format: 'JSONEachRow' })
      return (await result.json<{ id: string }>()).map(({ id }) => id)
    }
    const removed: string[] = []
    await retention.expire(START, { onRemoved: (table, period) => removed.push(`${table} ${period}`) })
    expect(await read('request_log', 'request_id')).toEqual(['day 0', 'day 1', 'day 2'])
    expect(await read('risk_events', 'id')).toEqual(['day 0', 'day 1', 'day 2', 'day 3', 'day 11', 'day 12'])
    expect(removed.filter((each) => each.startsWith('risk'))).toEqual(['risk_events before 2025-12-29'])
    const again: string[] = []
    await retention.expire(START + 1_000, { onRemoved: (table) => again.push(table) })
    expect(again).toEqual([])
  })
})

describe('a store of an earlier version', () => {
  /** The schema before retention was a setting. */
  function earlierSchema(): string {
    const copy = join(folder, 'schema')
    cpSync(join(SQL_FOLDER, 'schema'), copy, {
      recursive: true,
      filter: (path) => !path.endsWith('0010_retention.sql'),
    })
    return copy
  }

  it('loses nothing to the engine any more, also if the migration is cut off and repeated', async () => {
    const store = join(folder, 'store')
    const client = openClickHouse({ url: null, folder: store })
    const run = (query: string): Promise<unknown> => client.command({ query })
    await migrate(client, earlierSchema())
    await run('SYSTEM STOP TTL MERGES')
    const expired = of({ windowStartMs: Date.UTC(2015, 3, 5) })
    const usage = createClickHouseUsageStore(client)
    for (const token of ['first', 'second']) await usage.insert(token, [expired])
    for (const expected of [0, 1]) {
      if (expected === 1)
        await run(`ALTER TABLE schema_changes DELETE WHERE file LIKE '0010%' SETTINGS mutations_sync = 1`)
      await migrate(client)
      expect(await compareDefinitions(client)).toEqual(WHOLE)
    }
    await run('SYSTEM START TTL MERGES')
    for (const table of ['line_items', 'line_items_hourly']) await run(`OPTIMIZE TABLE ${table} FINAL`)
    expect(await countBefore(client, 'line_items', 'window_start', START)).toBe(2)
    const range = { fromMs: 0, toMs: START }
    expect((await usage.summaries({ ...all, ...range })).rows).toMatchObject([{ calls: 2 }])
    // It is younger than the retention of that version: nothing can be missing.
    expect(await readKeptUsage(client)).toMatchObject({ lineItemsFromMs: 0, sumsFromMs: 0 })
    await client.close()
  })

  it('answers nothing that the engine may have removed, if it is older than that', async () => {
    const client = openClickHouse({ url: null, folder: join(folder, 'store') })
    await migrate(client, earlierSchema())
    await client.command({ query: `INSERT INTO schema_changes VALUES ('0000_first.sql', '', now() - INTERVAL 3 YEAR)` })
    await migrate(client)
    const { lineItemsFromMs, sumsFromMs } = await readKeptUsage(client)
    const query = `SELECT toString(addMonths(toDate(${lineItemsFromMs / 1_000}), 26) > now('UTC')) AS is_later,
      toString(addMonths(toDate(${lineItemsFromMs / 1_000}), 25) <= now('UTC')) AS is_earlier`
    const result = await client.query({ query, format: 'JSONEachRow' })
    expect(await result.json()).toEqual([{ is_later: '1', is_earlier: '1' }])
    expect(sumsFromMs).toBe(0)
    await client.close()
  })
})

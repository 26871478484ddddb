/** A flush that was cut off is not stored twice, also if ClickHouse has forgotten its token. */

import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { PendingFlush } from '../../../src/storage/store/checkpoint.ts'
import type { LineItem } from '../../../src/storage/store/usage-store.ts'
import { openClickHouse, type ClickHouse } from '../../../src/storage/store/clickhouse/client.ts'
import { createFlushLog } from '../../../src/storage/store/clickhouse/flush-log.ts'
import { createLog } from '../../../src/foundation/runtime/log.ts'
import { createFlusher } from '../../../src/pipeline/metering/flush.ts'
import { writeKeptUsage } from '../../../src/storage/store/clickhouse/kept-usage.ts'
import { DamagedParts } from '../../../src/storage/store/clickhouse/new-parts.ts'
import { openSqliteCheckpoint } from '../../../src/storage/store/sqlite/checkpoint.ts'
import { migrate } from '../../../src/storage/store/clickhouse/migrations.ts'
import { createClickHouseUsageStore } from '../../../src/storage/store/clickhouse/usage-store.ts'

const NOW = Date.UTC(2026, 5, 15, 12)
const MAY = Date.UTC(2026, 4, 3, 12)
const ROWS = { 'line_items/202606': 1, 'calls/202606': 3 }

let folder: string
let client: ClickHouse
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'held-flush-'))
  await open()
})
afterEach(async () => {
  await client.close()
  rmSync(folder, { recursive: true, force: true })
})

async function open(): Promise<void> {
  client = openClickHouse({ url: null, folder })
  await migrate(client)
}

const at = (flush: number) => ({ 'gateway-0': { segment: 5, offset: flush * 100 } })
const flush = (number: number): PendingFlush => ({ number, from: at(number - 1), to: at(number), tokens: 'range' })

const logOf = (instance: string, isEmbedded = true) =>
  createFlushLog({
    client,
    isEmbedded,
    instance: () => instance,
    nowMs: () => NOW,
    registryEnd: async () => 42,
  })

const ITEM: LineItem = {
  windowStartMs: NOW,
  tenant: 'acme',
  api: 'payments-v1',
  operation: 'createPayment',
  consumer: 'con_1',
  consumerName: 'Acme',
  subscription: 'sub_1',
  agent: '',
  variant: '',
  currency: 'EUR',
  priceMicro: 1,
  calls: 3,
  unitsMicro: 1n,
}

const insertRow = (token: string) => createClickHouseUsageStore(client).insert(token, [ITEM])

async function store(instance: string, number: number): Promise<void> {
  await logOf(instance).begin(flush(number), ROWS)
  await insertRow(`${instance}-${number}`)
  await logOf(instance).done(flush(number), ROWS)
}

async function storedRows() {
  const result = await client.query({
    query: `SELECT (SELECT count() FROM line_items) AS lineItems, sum(calls) AS calls, groupUniqArray(toString(hour)) AS hours,
              sum(units) AS units, sum(amount) AS amount FROM line_items_hourly`,
    format: 'JSONEachRow',
  })
  const [row] = await result.json<{
    lineItems: string
    calls: string
    hours: string[]
    units: number
    amount: number
  }>()
  return { ...row, lineItems: Number(row?.lineItems), calls: Number(row?.calls) }
}

describe('a flush that was cut off', () => {
  it('is held by the store as far as it was stored, beside those of other data folders', async () => {
    await store('b', 1)
    await store('a', 1)
    expect(await logOf('a').held(flush(2), 0)).toBeNull()
    await logOf('a').begin(flush(2), ROWS)
    expect(await logOf('a').held(flush(2), 0)).toEqual({
      isDone: false,
      items: 'absent',
      levels: 'unknown',
      stored: {},
      registryEnd: 42,
    })
    await insertRow('a-2')
    expect(await logOf('a').held(flush(2), 0)).toEqual({
      isDone: false,
      items: 'there',
      levels: 'unknown',
      stored: ROWS,
      registryEnd: 42,
    })
    await logOf('a').done(flush(2), ROWS)
    expect(await logOf('a').held(flush(2), 0)).toEqual({
      isDone: true,
      items: 'there',
      levels: 'there',
      stored: {},
      registryEnd: 42,
    })
  })

  it('gets its hourly totals alone if the store has only its line items, as in a copy of a running folder', async () => {
    await store('a', 1)
    await logOf('a').begin(flush(2), ROWS)
    await client.command({ query: 'DROP VIEW line_items_to_hourly' })
    await insertRow('a-2')
    expect(await logOf('a').held(flush(2), 0)).toMatchObject({ items: 'without-totals' })

    await createClickHouseUsageStore(client).insertTotals('totals-a-2', [ITEM])
    expect(await logOf('a').held(flush(2), 0)).toMatchObject({ items: 'there' })
    expect(await storedRows()).toEqual({
      lineItems: 2,
      calls: 6,
      hours: ['2026-06-15 12:00:00'],
      units: 0.000002,
      amount: 0.000000000002,
    })
  })

  it('gets its line items alone if the store has only the hourly totals made from them', async () => {
    await store('a', 1)
    await logOf('a').begin(flush(2), ROWS)
    await createClickHouseUsageStore(client).insertTotals('totals-a-2', [ITEM])
    expect(await logOf('a').held(flush(2), 0)).toMatchObject({ items: 'without-line-items' })

    await createClickHouseUsageStore(client).insertWithoutTotals('usage-a-2', [ITEM])
    expect(await logOf('a').held(flush(2), 0)).toMatchObject({ items: 'there' })
    expect(await storedRows()).toEqual({
      lineItems: 2,
      calls: 6,
      hours: ['2026-06-15 12:00:00'],
      units: 0.000002,
      amount: 0.000000000002,
    })
    await store('a', 3)
    expect(await storedRows()).toMatchObject({ lineItems: 3, calls: 9 })
  })

  it('is repeated under its own tokens if the store is a server, which may still insert the rows', async () => {
    await store('a', 1)
    await logOf('a').begin(flush(2), ROWS)
    expect(await logOf('a', false).held(flush(2), 0)).toMatchObject({ items: 'unknown' })
    await insertRow('a-2')
    expect(await logOf('a', false).held(flush(2), 0)).toMatchObject({ items: 'there' })
  })

  it('is not held if the store noted another range under its number', async () => {
    await store('a', 1)
    expect(await logOf('a').held({ ...flush(1), to: at(9) }, 0)).toBeNull()
  })

  it.each([
    ['is known by its hourly totals', ['202605']],
    ['is known by its hourly totals and its later line items', ['202605', '202606']],
  ])('%s if line items of it were removed meanwhile', async (_, months) => {
    const totals = Object.fromEntries(
      months.flatMap((month) => [[`line_items/${month}`, 1] as const, [`calls/${month}`, 3] as const]),
    )
    const items = months.map((month) => ({ ...ITEM, windowStartMs: month === '202605' ? MAY : NOW }))
    const log = logOf('a')
    await store('a', 1)
    const usage = createClickHouseUsageStore(client)
    await log.begin(flush(2), { 'line_items/202605': 1, 'calls/202605': 3 })
    await usage.insert('a-2', [{ ...ITEM, windowStartMs: MAY }])
    await log.done(flush(2), { 'line_items/202605': 1, 'calls/202605': 3 })

    await log.begin(flush(3), totals)
    await writeKeptUsage(client, { subject: 'line_items', fromMs: Date.UTC(2026, 5), nowMs: NOW })
    await client.command({ query: `ALTER TABLE line_items DROP PARTITION ID '202605'` })
    expect(await logOf('a').held(flush(3), 0)).toMatchObject({ items: 'absent' })
    await usage.insert('a-3', items)
    await client.command({ query: `ALTER TABLE line_items DROP PARTITION ID '202605'` })
    expect(await logOf('a').held(flush(3), 0)).toMatchObject({ items: 'there' })
  })

  it('is known when ClickHouse has forgotten the token, under which the rows would be stored again', async () => {
    await store('a', 1)
    await logOf('a').begin(flush(2), ROWS)
    await insertRow('a-2')
    await client.close()
    // A power cut: parts are synced, the list of tokens is not.
    for (const path of globSync(join(folder, '**/deduplication_log_*.txt'))) {
      writeFileSync(path, readFileSync(path, 'latin1').split('\n')[0] + '\n')
    }
    await open()

    expect(await logOf('a').held(flush(2), 0)).toMatchObject({ items: 'there' })
    await insertRow('a-2')
    const result = await client.query({ query: 'SELECT count() AS rows FROM line_items', format: 'JSONEachRow' })
    expect(Number((await result.json<{ rows: string }>())[0]?.rows)).toBe(3)
  })
})

describe('a flush whose attempt failed while the store was repaired', () => {
  it('is compared with the store, because the store may have lost the token of stored rows', async () => {
    const usage = createClickHouseUsageStore(client)
    const inserted: string[] = []
    let repairs = 0
    const flusher = createFlusher({
      checkpoint: openSqliteCheckpoint({ path: join(folder, 'checkpoint.db'), newInstance: () => 'one' }),
      usage: {
        ...usage,
        async insert(token, items) {
          inserted.push(token)
          await usage.insert(token, items)
          repairs++
          throw new DamagedParts('parts of the store are repaired')
        },
      },
      levels: { insert: async () => {} },
      requests: { insert: async () => {} },
      flushLog: { ...logOf('one'), repairs: () => repairs },
      requestLog: 'refused',
      clock: { nowMs: () => NOW, after: (_, task) => (queueMicrotask(task), () => {}), every: () => () => {} },
      log: createLog('silent'),
      count: () => {},
    })
    await flusher.flush(at(1), { items: [ITEM], levels: [], requests: [] })

    expect(inserted).toHaveLength(1)
    expect(await storedRows()).toMatchObject({ lineItems: 1, calls: 3 })
  })
})

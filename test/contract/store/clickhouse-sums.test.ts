/** Line items and hourly totals of the embedded store are compared by their sums, and completed from each other. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { insertFlush, readStoredRows, type FlushTargets } from '../../../src/pipeline/metering/insert-flush.ts'
import { completeRows } from '../../../src/storage/recovery/recover-store.ts'
import { readStoreClaims } from '../../../src/storage/recovery/store-claims.ts'
import type { PendingFlush } from '../../../src/storage/store/checkpoint.ts'
import { openClickHouse, type ClickHouse } from '../../../src/storage/store/clickhouse/client.ts'
import { createFlushLog } from '../../../src/storage/store/clickhouse/flush-log.ts'
import { migrate } from '../../../src/storage/store/clickhouse/migrations.ts'
import { createClickHouseUsageStore } from '../../../src/storage/store/clickhouse/usage-store.ts'
import type { LineItem, UsageStore } from '../../../src/storage/store/usage-store.ts'
import { item as usageItem } from './usage-items.ts'

const NOW = Date.UTC(2026, 5, 15, 12)

let folder: string
let client: ClickHouse
let usage: UsageStore
/** Another one in each test, because the store remembers tokens. */
let instance = ''
let instances = 0

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sums-'))
  client = openClickHouse({ url: null, folder })
  await migrate(client)
  usage = createClickHouseUsageStore(client)
})
beforeEach(async () => {
  instance = `a${++instances}`
  for (const table of ['line_items', 'line_items_hourly', 'flushes'])
    await client.command({ query: `TRUNCATE TABLE ${table}` })
})
afterAll(async () => {
  await client.close()
  rmSync(folder, { recursive: true, force: true })
})

const at = (flush: number) => ({ 'gateway-0': { segment: 5, offset: flush * 100 } })
const flush = (number: number): PendingFlush => ({ number, from: at(number - 1), to: at(number), tokens: 'range' })
const log = () =>
  createFlushLog({ client, isEmbedded: true, instance: () => instance, nowMs: () => NOW, registryEnd: async () => 42 })

const item = (calls: number, changes: Partial<LineItem> = {}): LineItem =>
  usageItem({
    tenant: 'acme',
    windowStartMs: NOW,
    priceMicro: 2_000,
    calls,
    unitsMicro: BigInt(calls) * 1_000_000n,
    ...changes,
  })

const token = (number: number): string => `usage-${instance}-${number}`
const totalsOf = (items: readonly LineItem[]) => ({
  'line_items/202606': items.length,
  'calls/202606': items.reduce((sum, { calls }) => sum + calls, 0),
})

async function store(number: number, ...items: LineItem[]): Promise<void> {
  await log().begin(flush(number), totalsOf(items))
  await usage.insert(token(number), items)
  await log().done(flush(number), totalsOf(items))
}

const claims = (flushes: number) => readStoreClaims(client, { instance, flushes }, { isNew: false, nowMs: NOW })
/** Removes the line items of a flush, as the engine removes a part that it cannot open. */
const removePart = (number: number) =>
  client.command({ query: `ALTER TABLE line_items DELETE WHERE flush_number = ${number} SETTINGS mutations_sync = 1` })

async function sums() {
  const read = async (table: string) => {
    const query = `SELECT consumer, toInt32(sum(t.calls)) AS calls, toFloat64(sum(t.units)) AS units, toFloat64(sum(t.amount)) AS amount
                   FROM ${table} AS t GROUP BY consumer ORDER BY consumer`
    return (await client.query({ query, format: 'JSONEachRow' })).json()
  }
  return { items: await read('line_items'), hours: await read('line_items_hourly') }
}

describe('a part of line_items', () => {
  it.each([
    ['calls', item(4, { unitsMicro: 3_000_000n }), 'calls 8 and 7'],
    ['units and amounts', item(3, { unitsMicro: 5_000_000n }), 'units 9 and 7, amount 0.018 and 0.014'],
    ['amounts', item(3, { priceMicro: 3_000 }), 'amount 0.017 and 0.014'],
  ])('is recognised if another one with as many rows replaced it: other %s', async (_, other, sentence) => {
    await store(1, item(3))
    await store(2, item(4))
    expect(await claims(2)).toMatchObject({ differing: [], isExact: true })
    await removePart(1)
    await usage.insertWithoutTotals(token(1), [other])
    expect(await claims(2)).toMatchObject({ missing: [], differing: [`2026-06 (${sentence})`], isExact: false })
  })

  it('is missed also if an interrupted flush stored as many rows', async () => {
    await store(1, item(3))
    await log().begin(flush(2), totalsOf([item(4)]))
    await usage.insert(token(2), [item(4)])
    expect(await claims(1)).toMatchObject({ missing: [], differing: [] })
    await removePart(1)
    expect(await claims(1)).toMatchObject({
      missing: [],
      differing: ['2026-06 (calls 4 and 7, units 4 and 7, amount 0.008 and 0.014)'],
    })
  })
})

describe('an interrupted flush', () => {
  it.each([
    ['neither table', async () => {}],
    ['line_items', () => usage.insertWithoutTotals(token(2), [item(3)])],
    ['line_items_hourly', () => usage.insertTotals(`usage-totals-${instance}-2`, [item(3)])],
    ['both', () => usage.insert(token(2), [item(3)])],
  ])('is no difference if it is stored in %s', async (_, insert) => {
    await store(1, item(3))
    await log().begin(flush(2), totalsOf([item(3)]))
    await insert()
    expect(await claims(1)).toMatchObject({ missing: [], differing: [] })
  })
})

describe('an interrupted flush whose records are missing in part', () => {
  const whole = item(6)
  const insert = {
    line_items: () => usage.insertWithoutTotals(token(2), [whole]),
    line_items_hourly: () => usage.insertTotals(`usage-totals-${instance}-2`, [whole]),
  }

  it.each(['line_items', 'line_items_hourly'] as const)('is completed from what is stored in %s', async (table) => {
    await store(1, item(3))
    await log().begin(flush(2), totalsOf([whole]))
    await insert[table]()
    const flushLog = createFlushLog({
      ...{ client, isEmbedded: true, instance: () => instance, nowMs: () => NOW, registryEnd: async () => 42 },
      completeRows: async () => (await completeRows(client, NOW)) !== '',
    })
    const stored = await readStoredRows(flushLog, flush(2), 0)
    const targets = {
      ...{ usage, flushLog, levels: { insert: async () => {} }, requests: { insert: async () => {} } },
      checkpoint: { instance } as FlushTargets['checkpoint'],
    }
    const metered = { items: [item(4)], levels: [], requests: [] }
    await insertFlush(targets, { flush: flush(2), metered, stored }, new AbortController().signal)
    expect(await claims(2)).toMatchObject({ missing: [], excess: [], differing: [], isExact: true })
    const sum = [{ consumer: 'con_1', calls: 9, units: 9, amount: 0.018 }]
    expect(await sums()).toEqual({ items: sum, hours: sum })
  })
})

describe('after the loss of rows was accepted', () => {
  const BOTH = [item(3), item(5, { consumer: 'con_2', windowStartMs: NOW + 3_600_000 })]
  const WHOLE = [
    { consumer: 'con_1', calls: 7, units: 7, amount: 0.014 },
    { consumer: 'con_2', calls: 5, units: 5, amount: 0.01 },
  ]

  beforeEach(async () => {
    await store(1, ...BOTH)
    await store(2, item(4))
  })

  it('nothing is made if nothing was lost', async () => {
    expect(await completeRows(client, NOW)).toBe('')
    expect(await sums()).toEqual({ items: WHOLE, hours: WHOLE })
  })

  it('line items are made again from the hourly totals, also twice', async () => {
    for (let round = 0; round < 2; round++) {
      await client.command({
        query: round === 0 ? 'TRUNCATE TABLE line_items' : `ALTER TABLE line_items DROP PARTITION ID '202606'`,
      })
      expect(await completeRows(client, NOW)).toBe(
        'line items of 12 calls were made again from the hourly totals, with their time to the hour',
      )
      expect(await sums()).toEqual({ items: WHOLE, hours: WHOLE })
    }
    expect(await completeRows(client, NOW)).toBe('')
  })

  it('line items that remain are kept as they are', async () => {
    await removePart(2)
    expect(await completeRows(client, NOW)).toContain('line items of 4 calls')
    expect(await sums()).toEqual({ items: WHOLE, hours: WHOLE })
    const { rows } = await usage.lineItems({ tenant: 'acme', fromMs: NOW, toMs: NOW + 7_200_000, limit: 10 })
    expect(rows.find(({ customer }) => customer === 'con_2')).toMatchObject({ customerName: 'Acme', calls: 5 })
  })

  it('hourly totals that lack calls are made again from the line items, also twice', async () => {
    for (let round = 0; round < 2; round++) {
      await client.command({ query: 'TRUNCATE TABLE line_items_hourly' })
      expect(await completeRows(client, NOW)).toBe('hourly totals of 12 calls were made again from line items')
      expect(await sums()).toEqual({ items: WHOLE, hours: WHOLE })
    }
  })

  it('both are made again if each lacks an hour of the other', async () => {
    await removePart(1)
    await client.command({
      query: `ALTER TABLE line_items_hourly DELETE WHERE consumer = 'con_1' SETTINGS mutations_sync = 1`,
    })
    await completeRows(client, NOW)
    const found = await sums()
    expect(found.items).toEqual(found.hours)
    expect(found.hours).toEqual([{ consumer: 'con_1', calls: 4, units: 4, amount: 0.008 }, WHOLE[1]])
  })

  it('a flush that was interrupted before its hourly totals is billed', async () => {
    await log().begin(flush(3), totalsOf([item(6, { consumer: 'con_2' })]))
    await usage.insertWithoutTotals(token(3), [item(6, { consumer: 'con_2' })])
    expect(await completeRows(client, NOW)).toBe('hourly totals of 6 calls were made again from line items')
    const whole = [WHOLE[0], { consumer: 'con_2', calls: 11, units: 11, amount: 0.022 }]
    expect(await sums()).toEqual({ items: whole, hours: whole })
  })

  it('the bill stays the same if line items contradict hourly totals that lack no call', async () => {
    await removePart(2)
    await usage.insertWithoutTotals(token(1), [item(9)])
    expect(await completeRows(client, NOW)).toContain('line items of 7 calls')
    expect(await sums()).toEqual({ items: WHOLE, hours: WHOLE })
  })

  it('line items without any hourly totals are removed if these lack no call', async () => {
    await usage.insertWithoutTotals(token(1), [item(9, { consumer: 'con_3' })])
    await completeRows(client, NOW)
    expect(await sums()).toEqual({ items: WHOLE, hours: WHOLE })
  })
})

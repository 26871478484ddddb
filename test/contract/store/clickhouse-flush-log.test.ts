import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { acceptRows } from '../../../src/storage/recovery/recover-store.ts'
import { readStoreClaims } from '../../../src/storage/recovery/store-claims.ts'
import type { PendingFlush } from '../../../src/storage/store/checkpoint.ts'
import { openClickHouse, type ClickHouse } from '../../../src/storage/store/clickhouse/client.ts'
import { createFlushLog } from '../../../src/storage/store/clickhouse/flush-log.ts'
import { lastNotes, noteOf } from '../../../src/storage/store/clickhouse/flush-notes.ts'
import { writeKeptUsage } from '../../../src/storage/store/clickhouse/kept-usage.ts'
import { migrate } from '../../../src/storage/store/clickhouse/migrations.ts'
import { createClickHouseUsageStore } from '../../../src/storage/store/clickhouse/usage-store.ts'

const NOW = Date.UTC(2026, 5, 15, 12)
const MONTH = '202606'

let folder: string
let client: ClickHouse

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'flush-log-'))
  client = openClickHouse({ url: null, folder })
  await migrate(client)
})
afterAll(async () => {
  await client.close()
  rmSync(folder, { recursive: true, force: true })
})

const at = (flush: number) => ({ 'gateway-0': { segment: 5, offset: flush * 100 } })
const flush = (number: number): PendingFlush => ({ number, from: at(number - 1), to: at(number), tokens: 'range' })
const ROWS = { [`line_items/${MONTH}`]: 1, [`calls/${MONTH}`]: 3 }

function open(instance: string) {
  return createFlushLog({
    client,
    isEmbedded: true,
    instance: () => instance,
    nowMs: () => NOW,
    registryEnd: async () => 42,
  })
}

async function insertRow(token: string): Promise<void> {
  const item = {
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
  await createClickHouseUsageStore(client).insert(token, [item])
}

const claimsOf = (instance: string, flushes: number) =>
  readStoreClaims(client, { instance, flushes }, { isNew: false, nowMs: NOW })

describe('the flush log in ClickHouse', () => {
  it('counts the rows of all flushes and the rows before the first one, over restarts and repetitions', async () => {
    await insertRow('before-notes')
    for (let number = 1; number <= 3; number++) {
      // A new instance each time, as after a restart.
      const log = open('a')
      await log.begin(flush(number), ROWS)
      await insertRow(`a-${number}`)
      expect(await log.done(flush(number), ROWS)).toBe(42)
      await open('a').begin(flush(number), ROWS)
      await open('a').done(flush(number), ROWS)
    }
    const totals = { [`line_items/${MONTH}`]: 4, [`calls/${MONTH}`]: 12 }
    expect(await lastNotes(client)).toMatchObject([{ instance: 'a', number: 3, isDone: true, totals, registryEnd: 42 }])
    expect(await noteOf(client, 'a', 0)).toMatchObject({ from: at(0), to: at(0), isDone: true })
    expect(await claimsOf('a', 1)).toMatchObject({ next: { number: 2 }, notedAfter: 2, missing: [], isExact: true })
  })

  it('counts each data folder on the same store separately', async () => {
    await open('b').begin(flush(1), ROWS)
    await insertRow('b-1')
    expect(await claimsOf('b', 0)).toMatchObject({ last: { number: 1, isDone: false }, missing: [], isExact: true })
    await open('b').done(flush(1), ROWS)

    expect(await noteOf(client, 'b', 1)).toMatchObject({ totals: ROWS })
    expect(await claimsOf('a', 3)).toMatchObject({ missing: [], isExact: true })
  })

  it('reports missing rows and calls until their loss is accepted', async () => {
    const log = open('a')
    await log.begin(flush(4), ROWS)
    await client.command({ query: 'TRUNCATE TABLE line_items' })
    await client.command({ query: 'TRUNCATE TABLE line_items_hourly' })
    expect((await claimsOf('a', 3)).missing).toEqual([
      '5 of 5 rows of line_items in 2026-06',
      '15 of 15 calls in the hourly totals in 2026-06',
    ])
    await acceptRows(client, { instance: 'b', flushes: 1, position: at(1) }, { registryEnd: 42, nowMs: NOW })
    await acceptRows(client, { instance: 'a', flushes: 3, position: at(3) }, { registryEnd: 42, nowMs: NOW })
    expect(await claimsOf('a', 3)).toMatchObject({ last: { number: 4, isDone: false }, missing: [] })

    await insertRow('a-4')
    await open('a').done(flush(4), ROWS)
    // It is unknown whether its rows are among the lost ones: the totals are a lower bound.
    expect(await claimsOf('a', 4)).toMatchObject({ missing: [] })
  })

  it('reports nothing missing if a flush is repeated after its loss was accepted', async () => {
    await open('a').begin(flush(5), ROWS)
    await insertRow('a-5')
    await open('a').done(flush(5), ROWS)
    await client.command({ query: 'TRUNCATE TABLE line_items' })
    await client.command({ query: 'TRUNCATE TABLE line_items_hourly' })
    // The checkpoint has not committed the flush: it is repeated, and the store drops its rows by their token.
    await acceptRows(client, { instance: 'a', flushes: 4, position: at(4) }, { registryEnd: 42, nowMs: NOW })
    expect(await claimsOf('a', 4)).toMatchObject({ last: { number: 5, isDone: true }, missing: [] })

    const log = open('a')
    await log.begin(flush(5), ROWS)
    await log.done(flush(5), ROWS)
    await log.begin(flush(6), ROWS)
    await insertRow('a-6')
    await log.done(flush(6), ROWS)
    expect(await claimsOf('a', 6)).toMatchObject({ missing: [], isExact: true })
  })

  it('deletes old entries, but not the latest ones', async () => {
    const log = open('c')
    await log.begin(flush(99_999), {})
    await log.done(flush(99_999), {})
    for (const number of [399_999, 400_000]) await log.done(flush(number), {})
    while ((await noteOf(client, 'c', 99_999)) !== null);

    expect(await noteOf(client, 'c', 399_999)).toMatchObject({ isDone: true })
    expect((await lastNotes(client)).find(({ instance }) => instance === 'c')).toMatchObject({ number: 400_000 })
  })

  it('reports rows that no flush recorded, except those of a flush in progress', async () => {
    await open('a').begin(flush(7), ROWS)
    await insertRow('a-7')
    expect(await claimsOf('a', 6)).toMatchObject({ excess: [], isExact: true })
    await insertRow('stray')
    expect(await claimsOf('a', 6)).toMatchObject({
      missing: [],
      excess: ['1 rows of line_items in 2026-06', '3 calls in the hourly totals in 2026-06'],
      isExact: false,
    })
  })

  it('does not report usage that was removed', async () => {
    await client.command({ query: 'TRUNCATE TABLE line_items' })
    await client.command({ query: 'TRUNCATE TABLE line_items_hourly' })
    expect((await claimsOf('a', 6)).missing).toHaveLength(2)
    const fromMs = Date.UTC(2026, 6, 1)
    await writeKeptUsage(client, { subject: 'line_items', fromMs, nowMs: NOW })
    expect((await claimsOf('a', 6)).missing).toHaveLength(1)
    await writeKeptUsage(client, { subject: 'sums', fromMs, nowMs: NOW })
    expect((await claimsOf('a', 6)).missing).toEqual([])
  })
})

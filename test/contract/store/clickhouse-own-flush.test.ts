/** Several instances on one server: each finds its own rows by their writer, whatever the others store meanwhile. */

import { mkdtempSync, rmSync, cpSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readStoreClaims } from '../../../src/storage/recovery/store-claims.ts'
import { acceptRows } from '../../../src/storage/recovery/recover-store.ts'
import { createFlusher } from '../../../src/pipeline/metering/flush.ts'
import { totalsOf } from '../../../src/pipeline/metering/flush-totals.ts'
import { createLog } from '../../../src/foundation/runtime/log.ts'
import type { PendingFlush } from '../../../src/storage/store/checkpoint.ts'
import { openClickHouse, type ClickHouse } from '../../../src/storage/store/clickhouse/client.ts'
import { createFlushLog } from '../../../src/storage/store/clickhouse/flush-log.ts'
import { lastNotes, writeNote } from '../../../src/storage/store/clickhouse/flush-notes.ts'
import { insertOnce } from '../../../src/storage/store/clickhouse/insert-once.ts'
import { migrate, SQL_FOLDER } from '../../../src/storage/store/clickhouse/migrations.ts'
import { UNVERIFIED } from '../../../src/storage/store/clickhouse/new-parts.ts'
import { createClickHouseRequestStore } from '../../../src/storage/store/clickhouse/request-store.ts'
import { createClickHouseServiceLevelStore } from '../../../src/storage/store/clickhouse/service-level-store.ts'
import { createClickHouseUsageStore } from '../../../src/storage/store/clickhouse/usage-store.ts'
import { flushToken } from '../../../src/storage/store/flush-token.ts'
import { openSqliteCheckpoint } from '../../../src/storage/store/sqlite/checkpoint.ts'
import type { LineItem, UsageStore } from '../../../src/storage/store/usage-store.ts'
import { item } from './usage-items.ts'

const NOW = Date.UTC(2026, 5, 15, 12)
const MAY = Date.UTC(2026, 4, 31, 23, 59, 50)
const SETTLED = 120_000
const ITEM = item({ tenant: 'acme', windowStartMs: NOW, calls: 3 })
const EARLIER = item({ tenant: 'acme', windowStartMs: MAY, calls: 5 })
const VIEW = 'line_items_to_hourly'

let folder: string
let client: ClickHouse
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'own-flush-'))
  // The engine of this process, as a server: it stores rows of several instances.
  client = Object.assign(openClickHouse({ url: null, folder }), { isEmbedded: false, newParts: UNVERIFIED })
})
afterEach(async () => {
  await client.close()
  rmSync(folder, { recursive: true, force: true })
})

const at = (flush: number) => ({ 'gateway-0': { segment: 5, offset: flush * 100 } })
const flush = (number: number): PendingFlush => ({ number, from: at(number - 1), to: at(number), tokens: 'range' })
const tokenOf = (instance: string, number: number, table = 'usage') => flushToken(table, instance, flush(number))

const logOf = (instance: string) =>
  createFlushLog({ client, isEmbedded: false, instance: () => instance, nowMs: () => NOW, registryEnd: async () => 0 })

const usage = () => createClickHouseUsageStore(client)

async function store(instance: string, number: number, items: readonly LineItem[] = [ITEM]): Promise<void> {
  const totals = totalsOf({ items, levels: [] })
  const log = logOf(instance)
  await log.begin(flush(number), totals)
  await usage().insert(tokenOf(instance, number), items)
  await log.done(flush(number), totals)
}

/** Begins a flush, and stores its rows without the view, or the totals alone. */
async function storeHalf(instance: string, number: number, items: readonly LineItem[]): Promise<void> {
  await logOf(instance).begin(flush(number), totalsOf({ items, levels: [] }))
  await client.command({ query: `DETACH TABLE ${VIEW} SYNC` })
  await usage().insert(tokenOf(instance, number), items)
  await client.command({ query: `ATTACH TABLE ${VIEW}` })
}

const claimsOf = (instance: string, flushes: number) =>
  readStoreClaims(client, { instance, flushes }, { isNew: false, nowMs: NOW })

async function stored(): Promise<{ items: number; calls: number }> {
  const result = await client.query({
    query: `SELECT (SELECT count() FROM line_items) AS items, (SELECT sum(calls) FROM line_items_hourly) AS calls`,
    format: 'JSONEachRow',
  })
  const [row] = await result.json<{ items: string; calls: string }>()
  return { items: Number(row?.items), calls: Number(row?.calls) }
}

/** Flushes as a service does, with an insert of line items that does something else before or after. */
function flusherOf(instance: string, insert: UsageStore['insert'], nowMs = () => NOW) {
  const flushLog = logOf(instance)
  const checkpoint = openSqliteCheckpoint({ path: join(folder, `${instance}.db`), newInstance: () => instance })
  const flusher = createFlusher({
    checkpoint,
    usage: { ...usage(), insert },
    levels: createClickHouseServiceLevelStore(client),
    requests: createClickHouseRequestStore(client),
    flushLog,
    requestLog: 'off',
    clock: { nowMs, after: (_, task) => (queueMicrotask(task), () => {}), every: () => () => {} },
    log: createLog('silent'),
    count: () => {},
  })
  return { checkpoint, flusher }
}

describe('instances on one server', () => {
  beforeEach(() => migrate(client))

  it('compare their own rows, whatever others store, and need no baseline', async () => {
    await usage().insert('of-an-earlier-version', [ITEM])
    await store('a', 1)
    await logOf('b').begin(flush(1), totalsOf({ items: [ITEM], levels: [] }))
    await usage().insert(tokenOf('b', 1), [ITEM])
    expect(await claimsOf('a', 1)).toMatchObject({ missing: [], excess: [], isExact: true })
    expect(await claimsOf('b', 0)).toMatchObject({ missing: [], excess: [], isExact: true })
    expect(await claimsOf('c', 0)).toMatchObject({ last: null, hasRows: true, isExact: true })
    expect((await lastNotes(client)).map(({ instance, number }) => `${instance} ${number}`)).toEqual(['a 1', 'b 1'])
  })

  it('report their own missing and excess rows, and not those of others, until the loss is accepted', async () => {
    await store('a', 1, [ITEM, item({ tenant: 'acme', windowStartMs: NOW, operation: 'other' })])
    await store('b', 1)
    const query = `ALTER TABLE line_items DELETE WHERE operation = 'other' SETTINGS mutations_sync = 1`
    await client.command({ query })
    expect((await claimsOf('a', 1)).missing).toEqual(['1 of 2 rows of this service in line_items in 2026-06'])
    expect(await claimsOf('b', 1)).toMatchObject({ isExact: true })
    await acceptRows(client, { instance: 'a', flushes: 1, position: at(1) }, { registryEnd: 0, nowMs: NOW })
    expect(await claimsOf('a', 1)).toMatchObject({ missing: [], excess: [] })
    await store('a', 2)
    expect(await claimsOf('a', 2)).toMatchObject({ isExact: true })

    await usage().insert(tokenOf('b', 7), [ITEM])
    expect(await claimsOf('a', 2)).toMatchObject({ isExact: true })
    expect((await claimsOf('b', 1)).excess).toEqual([
      '1 rows of this service in line_items in 2026-06',
      '3 calls of this service in the hourly totals in 2026-06',
    ])
  })
})

describe('a flush on a server that was cut off', () => {
  beforeEach(() => migrate(client))

  it('is found by its number, with rows of another instance stored meanwhile', async () => {
    await store('a', 1)
    expect(await logOf('a').held(flush(2), 0)).toBeNull()
    await logOf('a').begin(flush(2), totalsOf({ items: [ITEM], levels: [] }))
    await store('b', 1)
    expect((await logOf('a').held(flush(2), 0))?.items).toEqual(new Map([['202606', 'unknown']]))
    expect((await logOf('a').held(flush(2), SETTLED))?.items).toEqual(new Map([['202606', 'absent']]))
    await usage().insert(tokenOf('a', 2), [ITEM])
    await store('b', 2)
    expect(await logOf('a').held(flush(2), 0)).toMatchObject({
      items: new Map([['202606', 'there']]),
      stored: { 'line_items/202606': 1, 'calls/202606': 3 },
    })
  })

  it('is found under the tokens of a later attempt as well', async () => {
    await logOf('a').begin(flush(1), totalsOf({ items: [ITEM, EARLIER], levels: [] }))
    await usage().insert(tokenOf('a', 1), [EARLIER])
    await usage().insert(flushToken('usage', 'a', { ...flush(1), attempt: 7 }), [ITEM])
    const there = new Map([
      ['202606', 'there'],
      ['202605', 'there'],
    ])
    expect((await logOf('a').held(flush(1), SETTLED))?.items).toEqual(there)
    expect((await logOf('a').held({ ...flush(1), attempt: 9 }, SETTLED))?.items).toEqual(there)
  })

  it('is completed by month: an insert is atomic in each partition only', async () => {
    await logOf('a').begin(flush(1), totalsOf({ items: [ITEM, EARLIER], levels: [] }))
    await usage().insert(tokenOf('a', 1), [EARLIER])
    expect((await logOf('a').held(flush(1), SETTLED))?.items).toEqual(
      new Map([
        ['202606', 'absent'],
        ['202605', 'there'],
      ]),
    )
  })

  it('waits until no earlier insert can add what is missing, and gets its hourly totals alone', async () => {
    await store('a', 1)
    await storeHalf('a', 2, [ITEM])
    await expect(logOf('a').held(flush(2), SETTLED - 1)).rejects.toThrow(/without their hourly totals/)
    expect((await logOf('a').held(flush(2), SETTLED))?.items).toEqual(new Map([['202606', 'without-totals']]))
    await usage().insertTotals(flushToken('usage-totals', 'a', flush(2)), [ITEM])
    expect((await logOf('a').held(flush(2), 0))?.items).toEqual(new Map([['202606', 'there']]))
    expect(await stored()).toEqual({ items: 2, calls: 6 })
  })

  it('gets its line items alone if the server has only the hourly totals', async () => {
    await store('a', 1)
    await logOf('a').begin(flush(2), totalsOf({ items: [ITEM], levels: [] }))
    await usage().insertTotals(flushToken('usage-totals', 'a', flush(2)), [ITEM])
    expect((await logOf('a').held(flush(2), SETTLED))?.items).toEqual(new Map([['202606', 'without-line-items']]))
    await usage().insertWithoutTotals(tokenOf('a', 2), [ITEM])
    expect((await logOf('a').held(flush(2), 0))?.items).toEqual(new Map([['202606', 'there']]))
    expect(await stored()).toEqual({ items: 2, calls: 6 })
  })
})

describe('a flush whose answer was lost', () => {
  beforeEach(() => migrate(client))

  it('is not stored again when other instances made the server evict its token', async () => {
    for (const table of ['line_items', 'line_items_hourly'])
      await client.command({ query: `ALTER TABLE ${table} MODIFY SETTING non_replicated_deduplication_window = 2` })
    let inserts = 0
    const { checkpoint, flusher } = flusherOf('a', async (token, items) => {
      inserts++
      await usage().insert(token, items)
      for (const number of [1, 2, 3]) await store('b', number)
      // The window is so small that the token alone does not tell.
      if (inserts === 1) throw new Error('the answer was lost')
    })
    await flusher.flush(at(1), { items: [ITEM], levels: [], requests: [] })
    expect(inserts).toBe(1)
    expect(await stored()).toEqual({ items: 4, calls: 12 })
    expect(await claimsOf('a', 1)).toMatchObject({ missing: [], excess: [] })
    checkpoint.close()
  })

  it('is inserted once its absence is certain, and under its first token until then', async () => {
    const tokens: string[] = []
    const { checkpoint, flusher } = flusherOf('a', async (token, items) => {
      tokens.push(token)
      if (tokens.length === 1) throw new Error('the connection was cut')
      await usage().insert(token, items)
    })
    await flusher.flush(at(1), { items: [ITEM], levels: [], requests: [] })
    expect(new Set(tokens).size).toBe(1)
    expect(await stored()).toEqual({ items: 1, calls: 3 })
    checkpoint.close()
  })

  it('keeps its first token while its insert may still run, though the clock of the system is set forward', async () => {
    const tokens: string[] = []
    let nowMs = NOW
    const insert: UsageStore['insert'] = async (token, items) => {
      tokens.push(token)
      if (tokens.length === 1) throw new Error('the connection was cut')
      // The first insert runs late.
      await usage().insert(tokens[0]!, items)
      await usage().insert(token, items)
    }
    const { checkpoint, flusher } = flusherOf('a', insert, () => (tokens.length === 0 ? NOW : (nowMs += 3_600_000)))
    await flusher.flush(at(1), { items: [ITEM], levels: [], requests: [] })
    expect(await stored()).toEqual({ items: 1, calls: 3 })
    checkpoint.close()
  })
})

describe('a store of a version before the writers', () => {
  /** A row as that version stored it. */
  const OLD_ROW = { window_start: NOW / 1_000, tenant: 'acme', api: 'payments-v1', calls: 3 }

  beforeEach(async () => {
    const before = join(folder, 'schema')
    cpSync(join(SQL_FOLDER, 'schema'), before, { recursive: true, filter: (path) => !path.includes('0012_') })
    await migrate(client, before)
    const [from, to] = [at(0), at(1)]
    const totals = { 'line_items/202606': 1, 'calls/202606': 3 }
    await insertOnce(client, { table: 'line_items', token: tokenOf('a', 1), rows: [OLD_ROW] })
    const note = { instance: 'a', number: 1, from, to, isDone: true, atMs: NOW, totals, registryEnd: 0 }
    await writeNote(client, note)
    const double = { 'line_items/202606': 2, 'calls/202606': 6 }
    await writeNote(client, { ...note, number: 2, from: at(1), to: at(2), isDone: false, totals: double })
  })

  it('keeps its rows, and compares those with a writer from then on', async () => {
    await migrate(client)
    expect(await claimsOf('a', 1)).toMatchObject({ missing: [], excess: [], last: { number: 2 } })
    await store('b', 1)
    expect(await stored()).toEqual({ items: 2, calls: 6 })
    expect(await claimsOf('b', 1)).toMatchObject({ isExact: true })
  })

  it.each(['stored', 'not stored'])('completes a flush that it began and that was %s', async (state) => {
    const row = { table: 'line_items', token: tokenOf('a', 2), rows: [OLD_ROW] }
    if (state === 'stored') await insertOnce(client, row)
    await migrate(client)
    const log = logOf('a')
    const held = await log.held(flush(2), SETTLED)
    expect(held?.items).toBe(state === 'stored' ? 'there' : 'unknown')
    if (held?.items !== 'there') await usage().insert(tokenOf('a', 2), [ITEM])
    await log.done(flush(2), totalsOf({ items: [ITEM], levels: [] }))
    expect(await stored()).toEqual({ items: 2, calls: 6 })
    expect(await claimsOf('a', 2)).toMatchObject({ missing: [], excess: [] })
    await store('a', 3)
    expect(await claimsOf('a', 3)).toMatchObject({ missing: [], excess: [], isExact: true })
  })
})

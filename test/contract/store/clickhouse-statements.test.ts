/** A statement equals its line items to the last digit; a closed month does not change any more. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { addDecimals, toDecimal } from '../../../src/foundation/domain/decimal.ts'
import { openClickHouse, type ClickHouse } from '../../../src/storage/store/clickhouse/client.ts'
import { migrate } from '../../../src/storage/store/clickhouse/migrations.ts'
import { createReaders } from '../../../src/storage/store/clickhouse/readers.ts'
import { createRollups, type Rollups } from '../../../src/storage/store/clickhouse/rollups.ts'
import { createClickHouseStatementStore } from '../../../src/storage/store/clickhouse/statement-store.ts'
import { createClickHouseUsageStore } from '../../../src/storage/store/clickhouse/usage-store.ts'
import type { StatementLine, StatementStore } from '../../../src/storage/store/statement-store.ts'
import type { LineItem, UsageStore } from '../../../src/storage/store/usage-store.ts'
import { createRandom } from '../../random.ts'
import { DAY, NOW, randomItems } from './random-usage.ts'
import { item } from './usage-items.ts'

const MARCH = Date.UTC(2026, 2, 1)
const APRIL = Date.UTC(2026, 3, 1)

let folder: string
let client: ClickHouse
let rollups: Rollups
let usage: UsageStore
let statements: StatementStore

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'statements-'))
  client = openClickHouse({ url: null, folder })
  await migrate(client)
  const readers = createReaders([client])
  rollups = createRollups(client)
  usage = createClickHouseUsageStore(client, { readers, rollups })
  statements = createClickHouseStatementStore({ client, readers, usage, priced: rollups })
})
afterEach(async () => {
  await client.close()
  rmSync(folder, { recursive: true, force: true })
})

const read = (changes: { consumer?: string; tenant?: string; monthMs?: number; nowMs?: number } = {}) =>
  statements.read({ tenant: 'own', consumer: 'con_1', monthMs: MARCH, nowMs: NOW, excludeApi: 'api0-v1', ...changes })

/** The lines of con_1 in March, computed by hand. */
function linesOf(items: readonly LineItem[]): readonly StatementLine[] {
  const own = items.filter(
    ({ tenant, consumer, api, windowStartMs }) =>
      tenant === 'own' && consumer === 'con_1' && api !== 'api0-v1' && windowStartMs >= MARCH && windowStartMs < APRIL,
  )
  const groups = Map.groupBy(own, ({ api, currency, priceMicro }) =>
    JSON.stringify([api, currency, String(priceMicro).padStart(12, '0')]),
  )
  return [...groups.keys()].sort().map((key) => {
    const rows = groups.get(key)!
    const [{ api, currency, priceMicro }] = rows as [LineItem]
    return {
      api,
      currency,
      price: toDecimal(BigInt(priceMicro), 6),
      calls: rows.reduce((sum, { calls }) => sum + calls, 0),
      units: addDecimals(rows.map(({ unitsMicro }) => toDecimal(unitsMicro, 6))),
      amount: addDecimals(rows.map(({ unitsMicro }) => toDecimal(unitsMicro * BigInt(priceMicro), 12))),
    }
  })
}

describe('a statement', () => {
  it('equals its line items, open, closed, and with what arrives later', async () => {
    const random = createRandom(3)
    const items = randomItems(random, 1_500)
    await usage.insert('first', items)
    expect(await read()).toEqual({ closedMs: null, lines: linesOf(items), corrections: [] })
    expect(linesOf(items).length).toBeGreaterThan(8)

    const closedMs = APRIL + DAY
    await statements.close(closedMs - 1)
    expect((await read()).closedMs).toBeNull()
    await statements.close(closedMs)
    await rollups.roll(closedMs)
    const closed = { closedMs, lines: linesOf(items), corrections: [] }
    expect(await read()).toEqual(closed)

    const late = randomItems(random, 300)
    await usage.insert('late', late)
    expect(await read()).toEqual({ ...closed, corrections: linesOf(late) })
    await rollups.roll(NOW)
    await statements.close(NOW)
    expect(await read()).toEqual({ ...closed, corrections: linesOf(late) })
  })

  it('of a month without usage has no lines, and everything that arrives later is a correction', async () => {
    await usage.insert('other', [item({ tenant: 'own', consumer: 'con_2', windowStartMs: MARCH })])
    await statements.close(NOW)
    expect(await read()).toEqual({ closedMs: NOW, lines: [], corrections: [] })
    const late = [item({ tenant: 'own', windowStartMs: MARCH + DAY })]
    await usage.insert('late', late)
    expect(await read()).toEqual({ closedMs: NOW, lines: [], corrections: linesOf(late) })
  })

  it('shows nothing of another tenant or consumer', async () => {
    await usage.insert('first', [item({ tenant: 'own', windowStartMs: MARCH })])
    for (const close of [false, true]) {
      if (close) await statements.close(NOW)
      for (const query of [{ tenant: 'other' }, { consumer: 'con_2' }, { tenant: '', consumer: '' }]) {
        expect(await read(query)).toMatchObject({ lines: [], corrections: [] })
      }
    }
  })

  it('stays when its line items have expired, without corrections', async () => {
    const items = [item({ tenant: 'own', windowStartMs: MARCH })]
    await usage.insert('first', items)
    await statements.close(NOW)
    await client.command({ query: 'TRUNCATE TABLE line_items' })
    const nowMs = Date.UTC(2028, 4, 1)
    expect(await read({ nowMs })).toEqual({ closedMs: NOW, lines: linesOf(items), corrections: [] })
  })

  it('is closed as a whole: a close that was cut off is repeated', async () => {
    const items = [item({ tenant: 'own', windowStartMs: MARCH })]
    await usage.insert('first', items)
    await client.command({ query: 'CREATE TABLE statement_lines_next AS statement_lines' })
    await client.command({
      query: `INSERT INTO statement_lines_next VALUES ('2026-03-01', 'own', 'con_1', 'x', '', 0, 9, 9, 9, now64(3))`,
    })
    await statements.close(NOW)
    expect(await read()).toEqual({ closedMs: NOW, lines: linesOf(items), corrections: [] })
  })

  it('is complete if the month is closed while it is read', async () => {
    const items = [item({ tenant: 'own', windowStartMs: MARCH })]
    await usage.insert('first', items)
    let reads = 0
    const readers = createReaders([client])
    const closing = createClickHouseStatementStore({
      client,
      usage,
      readers: {
        async read(tenant, statement, signal) {
          if (reads++ === 1) await statements.close(NOW)
          return readers.read(tenant, statement, signal)
        },
      },
    })
    const query = { tenant: 'own', consumer: 'con_1', monthMs: MARCH, nowMs: NOW, excludeApi: '' }
    expect(await closing.read(query)).toEqual({ closedMs: null, lines: linesOf(items), corrections: [] })
    expect((await read()).closedMs).toBe(NOW)
  })

  it('with more lines than fit into an answer is refused, open and closed', async () => {
    const items = Array.from({ length: 10_001 }, (_, index) =>
      item({ tenant: 'own', windowStartMs: MARCH, priceMicro: index }),
    )
    await usage.insert('first', items.slice(1))
    expect((await read()).lines).toHaveLength(10_000)
    await usage.insert('more', items.slice(0, 1))
    for (const close of [false, true]) {
      if (close) await statements.close(NOW)
      const message = expect.stringMatching(/more than 10,000 lines/)
      await expect(read()).rejects.toMatchObject({ code: 'unavailable', message })
    }
  })

  it('is read from the rollup by price, as exact as before', async () => {
    const items = randomItems(createRandom(7), 1_000)
    await usage.insert('first', items)
    await rollups.roll(NOW)
    for (let dayMs = MARCH; dayMs < APRIL; dayMs += DAY) expect(rollups.isDayPriced(dayMs / 1_000)).toBe(true)
    expect(await read()).toEqual({ closedMs: null, lines: linesOf(items), corrections: [] })
    await client.command({ query: 'TRUNCATE TABLE line_items' })
    expect(await read()).toEqual({ closedMs: null, lines: linesOf(items), corrections: [] })
  })

  it('equals its line items while usage arrives and is rolled up (random)', { timeout: 300_000 }, async () => {
    const random = createRandom(11)
    const items: LineItem[] = []
    let closedMs: number | null = null
    let closed: readonly LineItem[] = []
    for (let step = 0; step < 14; step++) {
      const batch = randomItems(random, 1 + random.below(60)).filter((_, index) => step < 5 || index < 40)
      const inserted = usage.insert(`batch${step}`, batch)
      const rolled = random.below(2) === 0 ? rollups.roll(NOW) : null
      await Promise.all([inserted, rolled])
      items.push(...batch)
      if (random.below(2) === 0) await rollups.roll(NOW)
      if (step === 8) {
        await statements.close((closedMs = NOW))
        closed = [...items]
      }
      const late = items.slice(closed.length)
      const expected =
        closedMs === null
          ? { closedMs, lines: linesOf(items), corrections: [] }
          : { closedMs, lines: linesOf(closed), corrections: linesOf(late) }
      expect(await read(), `step ${step}`).toEqual(expected)
    }
    expect(linesOf(items.slice(closed.length)).length).toBeGreaterThan(0)
  })

  it('of an earlier month is read from the line items, and the rollup by price is removed a round later', async () => {
    const items = [item({ tenant: 'own', windowStartMs: MARCH })]
    await usage.insert('first', items)
    const nowMs = Date.UTC(2026, 5, 1, 12)
    const rows = async () =>
      (await client.query({ query: 'SELECT day FROM usage_daily_by_price', format: 'JSONEachRow' })).json<unknown>()
    const expected = { closedMs: null, lines: linesOf(items), corrections: [] }
    await rollups.roll(NOW)
    expect(await rows()).toHaveLength(1)
    await rollups.roll(nowMs)
    expect(rollups.isDayPriced(MARCH / 1_000)).toBe(false)
    expect(await rows()).toHaveLength(1)
    expect(await read()).toEqual(expected)
    await rollups.roll(nowMs)
    expect(await rows()).toEqual([])
    expect(await read()).toEqual(expected)
  })

  it('of a new day is added to the rollups, whose other days stay as they are', async () => {
    const partsOf = async (table: string): Promise<readonly string[]> => {
      const query = `SELECT name FROM system.parts WHERE active AND database = currentDatabase() AND table = '${table}' ORDER BY name`
      const rows = await (await client.query({ query, format: 'JSONEachRow' })).json<{ name: string }>()
      return rows.map(({ name }) => name)
    }
    const tables = ['usage_daily', 'usage_daily_by_price', 'usage_hourly_by_api']
    for (const table of tables) await client.command({ query: `SYSTEM STOP MERGES ${table}` })
    await usage.insert('first', [item({ tenant: 'own', windowStartMs: MARCH })])
    await rollups.roll(MARCH + DAY + DAY / 2)
    const before = await Promise.all(tables.map(partsOf))
    await usage.insert('second', [item({ tenant: 'own', windowStartMs: MARCH + DAY })])
    await rollups.roll(MARCH + 2 * DAY + DAY / 2)
    const after = await Promise.all(tables.map(partsOf))
    expect(before.map(({ length }) => length)).toEqual([1, 1, 1])
    expect(after.map((parts) => parts.length)).toEqual([2, 2, 2])
    expect(after.flat()).toEqual(expect.arrayContaining(before.flat()))
    expect((await read()).lines).toMatchObject([{ calls: 2 }])
  })

  it('does not trust a rollup by price that lacks usage', async () => {
    const items = [item({ tenant: 'own', windowStartMs: MARCH }), item({ tenant: 'own', windowStartMs: MARCH + DAY })]
    await usage.insert('first', items)
    await rollups.roll(NOW)
    for (const damage of [
      'TRUNCATE TABLE usage_daily_by_price',
      `INSERT INTO usage_daily_by_price SELECT * FROM usage_daily_by_price LIMIT 1`,
    ]) {
      await client.command({ query: damage })
      const restarted = createRollups(client)
      const fresh = createClickHouseStatementStore({
        client,
        readers: createReaders([client]),
        usage,
        priced: restarted,
      })
      const query = { tenant: 'own', consumer: 'con_1', monthMs: MARCH, nowMs: NOW, excludeApi: '' }
      const expected = { closedMs: null, lines: linesOf(items), corrections: [] }
      expect(await fresh.read(query)).toEqual(expected)
      await restarted.roll(NOW)
      expect(restarted.isDayPriced(MARCH / 1_000)).toBe(true)
      expect(await fresh.read(query)).toEqual(expected)
    }
  })
})

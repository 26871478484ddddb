/** Summaries equal the sums of their line items for any range, grouping and filter, whatever part of them is rolled up. */

import { globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openClickHouse, type ClickHouse } from '../../../src/storage/store/clickhouse/client.ts'
import { createStoreFreezer } from '../../../src/storage/store/clickhouse/frozen-store.ts'
import { migrate } from '../../../src/storage/store/clickhouse/migrations.ts'
import { createReaders } from '../../../src/storage/store/clickhouse/readers.ts'
import { createRollups, type Rollups } from '../../../src/storage/store/clickhouse/rollups.ts'
import { createClickHouseUsageStore } from '../../../src/storage/store/clickhouse/usage-store.ts'
import type { GroupField, LineItem, UsageStore } from '../../../src/storage/store/usage-store.ts'
import { readSeed } from '../../random-seed.ts'
import { createRandom, type Random } from '../../random.ts'
import { item } from './usage-items.ts'
import { readSummary, sumUp } from './summary-model.ts'
import { DAY, FIRST, NOW, randomItems, randomQuery } from './random-usage.ts'

const SEEDS = Number(process.env['SEEDS'] ?? 2)
const QUERIES = Number(process.env['QUERIES'] ?? 6)

let folder: string
let client: ClickHouse
let reader: ClickHouse
let rollups: Rollups
let usage: UsageStore

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rollups-'))
  await open()
})
afterEach(async () => {
  await close()
  rmSync(folder, { recursive: true, force: true })
})

async function open(): Promise<void> {
  client = openClickHouse({ url: null, folder })
  await migrate(client)
  reader = openClickHouse({ url: null, folder })
  rollups = createRollups(client)
  usage = createClickHouseUsageStore(client, { rollups, readers: createReaders([reader]) })
}

async function close(): Promise<void> {
  await reader.close()
  await client.close()
}

async function expectExact(random: Random, items: readonly LineItem[], note: string): Promise<void> {
  for (let index = 0; index < QUERIES; index++) {
    const query = randomQuery(random)
    expect(await readSummary(usage, query), `${note}, query ${index}: ${JSON.stringify(query)}`).toEqual(
      sumUp(items, query),
    )
  }
}

describe('rollups', () => {
  it.each(Array.from({ length: SEEDS }, (_, index) => readSeed(0) + index))(
    'never change a summary (seed %i)',
    async (seed) => {
      const random = createRandom(seed)
      const items = randomItems(random, 900)
      await usage.insert('first', items)
      await expectExact(random, items, 'nothing rolled up')
      await rollups.roll(NOW)
      await expectExact(random, items, 'rolled up')
      expect(rollups.isDayRolled(FIRST / 1_000 + 86_400)).toBe(true)
      expect(rollups.isMonthRolled(Date.UTC(2026, 2, 1) / 1_000)).toBe(true)

      const late = randomItems(random, 40)
      await usage.insert('late', late)
      items.push(...late)
      await expectExact(random, items, 'late usage')
      await rollups.roll(NOW)
      await expectExact(random, items, 'rolled up again')

      await close()
      await open()
      await expectExact(random, items, 'opened again')
      const made: string[] = []
      await rollups.roll(NOW, { onMonth: (month) => made.push(month) })
      expect(made).toEqual([])
      await expectExact(random, items, 'compared after the start')
    },
  )

  it('are made again if a table of them is lost, damaged in part or from an older copy', async () => {
    const random = createRandom(99)
    const items = randomItems(random, 400)
    await usage.insert('first', items)
    await rollups.roll(NOW)
    const damages = [
      ['TRUNCATE TABLE usage_daily', 3],
      ["ALTER TABLE usage_hourly_by_api DROP PARTITION ID '202603'", 1],
      ['TRUNCATE TABLE usage_monthly', 2],
      ["INSERT INTO usage_daily SELECT * FROM usage_daily WHERE day = '2026-03-05' LIMIT 1", 1],
      ["INSERT INTO usage_monthly SELECT * FROM usage_monthly WHERE month = '2026-02-01' LIMIT 1", 1],
      ['TRUNCATE TABLE usage_daily_by_price', 2],
      ["INSERT INTO usage_daily_by_price SELECT * FROM usage_daily_by_price WHERE day = '2026-03-05' LIMIT 1", 1],
      ["INSERT INTO usage_daily SELECT '2026-04-02', * EXCEPT day FROM usage_daily LIMIT 1", 1],
      ["INSERT INTO usage_daily SELECT '2025-12-31', * EXCEPT day FROM usage_daily LIMIT 1", 1],
    ] as const
    for (const [query, months] of damages) {
      await client.command({ query })
      await close()
      await open()
      const made: string[] = []
      await rollups.roll(NOW, { onMonth: (month) => made.push(month) })
      expect(made, query).toHaveLength(months)
      await expectExact(random, items, query)
    }
  })

  it('do not disturb a backup, which leaves out the tables in which they are prepared', async () => {
    await usage.insert('first', randomItems(createRandom(7), 200))
    const freezer = createStoreFreezer({ client: reader, url: null, folder, leaveOut: '' })
    let isRolling = true
    const rolling = rollups.roll(NOW).finally(() => (isRolling = false))
    let freezes = 0
    for (; isRolling; freezes++) await freezer.freeze(`copy${freezes}`)
    await rolling
    expect(freezes).toBeGreaterThan(3)
    const tables = globSync(join(folder, 'metadata/default/usage_daily*.sql')).map((path) => basename(path))
    expect(tables.sort()).toEqual(['usage_daily.sql', 'usage_daily_by_price.sql'])
    await freezer.thaw()
  })

  it('keep on a page by day the groups whose API and consumer sort after those of later days', async () => {
    const [first, day] = [Date.UTC(2026, 2, 3), Date.UTC(2026, 2, 5)]
    const items = ['z', 'a', 'b', 'c', 'd'].map((consumer, index) =>
      item({ tenant: 'own', consumer, windowStartMs: index === 0 ? day : day + DAY }),
    )
    await usage.insert('first', items)
    await rollups.roll(NOW)
    for (const limit of [1, 2, 10]) {
      const range = { tenant: 'own', fromMs: first, toMs: day + 3 * DAY, interval: 'day' as const, limit }
      const query = { ...range, groupBy: ['api' as const, 'customer' as const] }
      expect(await readSummary(usage, query)).toEqual(sumUp(items, query))
    }
  })

  it('have what summaries of one consumer name, or are not read', async () => {
    const items = randomItems(createRandom(5), 300)
    await usage.insert('first', items)
    await rollups.roll(NOW)
    const range = { tenant: 'own', fromMs: FIRST, toMs: NOW, customer: items[0]!.consumer, limit: 1_000 }
    const groups: readonly (readonly GroupField[])[] = [
      [],
      ['api', 'customer'],
      ['operation'],
      ['subscription'],
      ['agent'],
    ]
    const filters = [{}, { api: 'api1-v1' }, { excludeApi: 'api1-v1' }, { operation: 'op1' }, { subscription: 'sub_1' }]
    for (const groupBy of groups) {
      for (const filter of filters) {
        const query = { ...range, ...filter, groupBy }
        expect(await readSummary(usage, query), JSON.stringify(query)).toEqual(sumUp(items, query))
      }
    }
  })

  it('leave out a day whose totals are being inserted', async () => {
    const day = Date.UTC(2026, 2, 5)
    await usage.insert('first', [item({ tenant: 'own', windowStartMs: day })])
    await rollups.inserting([day + 1], () => rollups.roll(NOW))
    expect(rollups.isDayRolled(day / 1_000)).toBe(false)
    await rollups.roll(NOW)
    expect(rollups.isDayRolled(day / 1_000)).toBe(true)
    expect(rollups.isMonthRolled(Date.UTC(2026, 2, 1) / 1_000)).toBe(true)
  })

  it('leave out a month while totals of one of its empty days are being inserted', async () => {
    const day = Date.UTC(2026, 2, 5)
    const month = Date.UTC(2026, 2, 1) / 1_000
    await usage.insert('first', [item({ tenant: 'own', windowStartMs: day })])
    await rollups.inserting([day + 3 * DAY], () => rollups.roll(NOW))
    expect([rollups.isDayRolled(day / 1_000), rollups.isMonthRolled(month)]).toEqual([true, false])
    await rollups.roll(NOW)
    expect(rollups.isMonthRolled(month)).toBe(true)
  })

  it('leave out the current day, and the last one for ten minutes', async () => {
    const day = Date.UTC(2026, 2, 5)
    await usage.insert('first', [item({ tenant: 'own', windowStartMs: day })])
    await rollups.roll(day + DAY + 599_999)
    expect(rollups.isDayRolled(day / 1_000)).toBe(false)
    await rollups.roll(day + DAY + 600_000)
    expect(rollups.isDayRolled(day / 1_000)).toBe(true)
  })
})

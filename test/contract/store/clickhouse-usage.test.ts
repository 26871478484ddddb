import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openClickHouse, type ClickHouse } from '../../../src/storage/store/clickhouse/client.ts'
import { migrate } from '../../../src/storage/store/clickhouse/migrations.ts'
import { createClickHouseUsageStore } from '../../../src/storage/store/clickhouse/usage-store.ts'
import type { LineItemRow, UsageStore } from '../../../src/storage/store/usage-store.ts'
import { toDecimal } from '../../../src/foundation/domain/decimal.ts'
import { createRandom } from '../../random.ts'
import { addUp, NOON, HOUR, ALL, item } from './usage-items.ts'

let folder: string
let client: ClickHouse
let usage: UsageStore

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'clickhouse-'))
  await open()
})
afterAll(async () => {
  await client.close()
  rmSync(folder, { recursive: true, force: true })
})

async function open(): Promise<void> {
  client = openClickHouse({ url: process.env['TEST_CLICKHOUSE_URL'] ?? null, folder })
  await migrate(client)
  usage = createClickHouseUsageStore(client)
}
const total = async (tenant: string) => (await usage.summaries({ tenant, ...ALL, groupBy: [], limit: 10 })).rows[0]
async function everyRow(tenant: string, limit: number): Promise<LineItemRow[]> {
  const rows: LineItemRow[] = []
  for (let after: string | null | undefined; after !== null;) {
    const page = await usage.lineItems({ tenant, ...ALL, limit, ...(after !== undefined && { after }) })
    rows.push(...page.rows)
    after = page.next
  }
  return rows
}
describe('usage in ClickHouse', () => {
  it('has a row per channel, which pages keep apart and totals add up', async () => {
    const tenant = 'channels'
    const rows = [item({ tenant }), item({ tenant, channel: 'mcp', calls: 2 })]
    await usage.insert('channels-1', rows)
    const pages = await everyRow(tenant, 1)
    expect(pages.map(({ channel, calls }) => [channel, calls])).toEqual([
      ['http', 1],
      ['mcp', 2],
    ])
    expect(await total(tenant)).toMatchObject({ calls: 3 })
  })

  it('equals sums computed by hand to the last digit, by row, in total and by interval', async () => {
    const seed = 7
    const random = createRandom(seed)
    const rows = Array.from({ length: 3_000 }, () =>
      item({
        tenant: 'sums',
        windowStartMs: NOON + random.below(40 * 360) * 10_000,
        consumer: `con_${random.below(3)}`,
        operation: `op${random.below(3)}`,
        priceMicro: [0, 1, 333_333, 999_999_999][random.below(4)]!,
        unitsMicro: BigInt(random.below(1_000_000)) * BigInt(random.below(1_000_000)),
        calls: random.below(1_000),
      }),
    )
    for (let part = 0; part < 6; part++) await usage.insert(`sums-${part}`, rows.slice(part * 500, part * 500 + 500))

    const units = rows.reduce((sum, { unitsMicro }) => sum + unitsMicro, 0n)
    const amount = rows.reduce((sum, { unitsMicro, priceMicro }) => sum + unitsMicro * BigInt(priceMicro), 0n)
    const calls = rows.reduce((sum, row) => sum + row.calls, 0)
    const expected = { calls, value: toDecimal(units, 6), amount: toDecimal(amount, 12) }
    expect(await total('sums')).toMatchObject(expected)
    expect(addUp(await everyRow('sums', 100))).toEqual(expected)
    for (const interval of ['minute', 'hour', 'day', 'month'] as const) {
      const { rows: groups } = await usage.summaries({
        tenant: 'sums',
        ...ALL,
        groupBy: ['api'],
        interval,
        limit: 5_000,
      })
      expect(addUp(groups), interval).toEqual(expected)
    }
  })

  it('is exact for any range, which includes its start and excludes its end', async () => {
    const seed = 11
    const random = createRandom(seed)
    const rows = Array.from({ length: 400 }, (_, index) =>
      item({ tenant: 'edges', windowStartMs: NOON + random.below(5 * 360) * 10_000, calls: index + 1 }),
    )
    await usage.insert('edges-1', rows)
    const ranges = Array.from({ length: 30 }, () => {
      const fromMs = NOON + random.below(5 * 360) * 10_000
      return { fromMs, toMs: fromMs + random.below(3 * 360) * 10_000 }
    })
    ranges.push({ fromMs: NOON + HOUR, toMs: NOON + 2 * HOUR }, { fromMs: NOON + 5, toMs: NOON + 15 })

    for (const { fromMs, toMs } of ranges) {
      const expected = rows
        .filter(({ windowStartMs: at }) => at >= fromMs && at < toMs)
        .reduce((sum, { calls }) => sum + calls, 0)
      const { rows: found } = await usage.summaries({ tenant: 'edges', fromMs, toMs, groupBy: [], limit: 1 })
      expect(found[0]?.calls ?? 0, `seed ${seed}: [${fromMs}, ${toMs})`).toBe(expected)
    }
  })

  it('merges partial rows of one key and window, and pages without gaps or duplicates', async () => {
    const rows = Array.from({ length: 50 }, (_, index) =>
      item({
        tenant: 'pages',
        windowStartMs: NOON + (index % 5) * 10_000,
        api: `api${index % 2}-v1`,
        consumer: `con_${index % 3}`,
        agent: index % 7 === 0 ? 'agt' : '',
      }),
    )
    await usage.insert('pages-1', rows)
    await usage.insert('pages-2', rows)
    const whole = await everyRow('pages', 500)

    expect(whole).toHaveLength(
      new Set(rows.map(({ windowStartMs, api, consumer, agent }) => [windowStartMs, api, consumer, agent].join())).size,
    )
    expect(whole.every(({ calls }) => calls >= 2)).toBe(true)
    for (const limit of [1, 7, 500]) expect(await everyRow('pages', limit)).toEqual(whole)
  })

  it('groups by the requested fields, in a stable order', async () => {
    const rows = ['b', 'a', 'c'].flatMap((consumer) =>
      ['x', 'y'].map((operation) => item({ tenant: 'groups', consumer, operation })),
    )
    await usage.insert('groups-1', rows)
    const query = { tenant: 'groups', ...ALL, limit: 10 }

    const byCustomer = await usage.summaries({ ...query, groupBy: ['customer'], limit: 1 })
    const rest = await usage.summaries({ ...query, groupBy: ['customer'], after: byCustomer.next! })
    expect([...byCustomer.rows, ...rest.rows].map(({ group, calls }) => [group, calls])).toEqual([
      [{ customer: 'a' }, 2],
      [{ customer: 'b' }, 2],
      [{ customer: 'c' }, 2],
    ])
    expect(rest.next).toBeNull()
    expect((await usage.summaries({ ...query, groupBy: ['operation'], customer: 'a' })).rows).toMatchObject([
      { group: { operation: 'x' }, calls: 1 },
      { group: { operation: 'y' }, calls: 1 },
    ])
  })

  it('returns intervals in UTC, limited to the requested range', async () => {
    const lastNight = Date.UTC(2026, 2, 31, 23, 59, 50)
    await usage.insert('utc-1', [
      item({ tenant: 'utc', windowStartMs: lastNight }),
      item({ tenant: 'utc', windowStartMs: lastNight + 10_000 }),
    ])
    const query = { tenant: 'utc', fromMs: NOON, toMs: NOON + 24 * HOUR, groupBy: [], limit: 10 }
    const ranges = async (interval: 'minute' | 'hour' | 'day' | 'month') =>
      (await usage.summaries({ ...query, interval })).rows.map(({ fromMs, toMs }) =>
        [fromMs, toMs].map((timeMs) => new Date(timeMs).toISOString().slice(5, 16)),
      )

    expect(await ranges('minute')).toEqual([
      ['03-31T23:59', '04-01T00:00'],
      ['04-01T00:00', '04-01T00:01'],
    ])
    expect(await ranges('hour')).toEqual([
      ['03-31T23:00', '04-01T00:00'],
      ['04-01T00:00', '04-01T01:00'],
    ])
    expect(await ranges('day')).toEqual([
      ['03-31T12:00', '04-01T00:00'],
      ['04-01T00:00', '04-01T12:00'],
    ])
    expect(await ranges('month')).toEqual(await ranges('day'))
  })

  it('excludes one API on request, and filters by each field', async () => {
    await usage.insert('filters-1', [
      item({ tenant: 'filters', api: 'platform-v1' }),
      item({ tenant: 'filters', subscription: 'sub_2' }),
    ])
    const rows = async (filter: object) =>
      (await usage.lineItems({ tenant: 'filters', ...ALL, limit: 10, ...filter })).rows.map(
        ({ api, subscription }) => `${api} ${subscription}`,
      )

    expect(await rows({ excludeApi: 'platform-v1' })).toEqual(['payments-v1 sub_2'])
    expect(await rows({ api: 'platform-v1' })).toEqual(['platform-v1 sub_1'])
    expect(await rows({ subscription: 'sub_2' })).toEqual(['payments-v1 sub_2'])
    expect(await rows({ customer: 'nobody' })).toEqual([])
  })

  it('preserves any text, in rows and in queries', async () => {
    const texts = [
      "O'Hara",
      'back\\slash',
      'tab\tline\nreturn\r',
      'null\0byte',
      '{api:String}',
      '日本 🙂',
      "' OR 1=1 --",
      '\\N',
      '\u0008"',
    ]
    await usage.insert(
      'texts-1',
      texts.map((consumer) => item({ tenant: 'texts', consumer, consumerName: consumer })),
    )
    for (const customer of texts) {
      const { rows } = await usage.lineItems({ tenant: 'texts', ...ALL, customer, limit: 10 })
      expect(rows, JSON.stringify(customer)).toMatchObject([{ customer, customerName: customer, calls: 1 }])
    }
  })

  it('accepts malformed text, so that one tenant cannot block the bill of others', async () => {
    await usage.insert('broken-1', [item({ tenant: 'broken', operation: 'lone\ud800surrogate' })])

    expect(await total('broken')).toMatchObject({ calls: 1 })
  })

  it('never returns a row of another tenant, for any query', async () => {
    const seed = 23
    const random = createRandom(seed)
    const tenants = ['iso-a', 'iso-b', "iso-a' OR '1'='1", '']
    for (const [index, tenant] of tenants.entries())
      await usage.insert(
        `iso-${index}`,
        Array.from({ length: 50 }, () => item({ tenant, api: `api${random.below(3)}-v1`, consumer: `of ${tenant}` })),
      )
    for (let round = 0; round < 40; round++) {
      const tenant = tenants[random.below(tenants.length)]!
      const filter = {
        tenant,
        fromMs: 0,
        toMs: NOON + random.below(2) * 10_000,
        ...(random.below(2) && { api: `api${random.below(3)}-v1` }),
        ...(random.below(4) === 0 && { customer: `of ${tenants[random.below(tenants.length)]!}` }),
      }
      const { rows } = await usage.lineItems({ ...filter, limit: 100 })
      const { rows: groups } = await usage.summaries({ ...filter, groupBy: ['customer'], limit: 100 })
      const seen = [...rows.map(({ customer }) => customer), ...groups.map(({ group }) => group.customer)]
      expect(
        seen.filter((customer) => customer !== `of ${tenant}`),
        `seed ${seed}, round ${round}`,
      ).toEqual([])
    }
  })

  it('refuses a cursor that it did not issue', async () => {
    const ask = (after: string) => usage.lineItems({ tenant: 'pages', ...ALL, after, limit: 1 })
    for (const after of [
      '',
      'x',
      '[]',
      '[-1,"","","","","",""]',
      '[1e12,"","","","","",""]',
      '[1.5,"","","","","",""]',
    ])
      await expect(ask(after), after).rejects.toMatchObject({ code: 'cursor_invalid' })
  })
})

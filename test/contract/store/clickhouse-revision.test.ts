/** Revisions in line items, also in a store of the version before them, and in a flush that the upgrade interrupted. */

import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openClickHouse, type ClickHouse } from '../../../src/storage/store/clickhouse/client.ts'
import { insertOnce } from '../../../src/storage/store/clickhouse/insert-once.ts'
import { migrate, SQL_FOLDER } from '../../../src/storage/store/clickhouse/migrations.ts'
import { createClickHouseUsageStore } from '../../../src/storage/store/clickhouse/usage-store.ts'
import type { LineItemRow, UsageStore } from '../../../src/storage/store/usage-store.ts'
import { ALL, item, NOON } from './usage-items.ts'

let folder: string
let client: ClickHouse

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'clickhouse-'))
  client = openClickHouse({ url: null, folder: join(folder, 'store') })
})
afterEach(async () => {
  await client.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Applies the files up to `0012`. */
async function migrateBefore(): Promise<void> {
  const earlier = join(folder, 'schema')
  mkdirSync(earlier)
  const names = readdirSync(join(SQL_FOLDER, 'schema')).filter((name) => name < '0013')
  for (const name of names) copyFileSync(join(SQL_FOLDER, 'schema', name), join(earlier, name))
  await migrate(client, earlier)
}

const TENANT = 'earlier'
/** As the version before wrote `item({ tenant: TENANT })`. */
const ROW = {
  ...{ window_start: NOON / 1_000, tenant: TENANT, api: 'payments-v1', operation: 'createPayment' },
  ...{ consumer: 'con_1', consumer_name: 'Acme', subscription: 'sub_1', agent: '', variant: '', currency: 'EUR' },
  ...{ price: '0.25', calls: 1, units: '1', amount: '0.25', channel: 'http', writer: '', flush_number: 0 },
}

describe('line items in ClickHouse', () => {
  let usage: UsageStore
  beforeEach(async () => {
    await migrate(client)
    usage = createClickHouseUsageStore(client)
  })

  async function everyRow(tenant: string, limit: number): Promise<LineItemRow[]> {
    const rows: LineItemRow[] = []
    for (let after: string | null | undefined; after !== null;) {
      const page = await usage.lineItems({ tenant, ...ALL, limit, ...(after !== undefined && { after }) })
      rows.push(...page.rows)
      after = page.next
    }
    return rows
  }

  it('have a row per revision, which pages keep apart, filters select and totals add up', async () => {
    const tenant = 'revisions'
    // 10 sorts after 9 as a number only.
    const rows = [9, 10].flatMap((revision) => [
      item({ tenant, revision, calls: revision, unitsMicro: BigInt(revision) }),
      item({ tenant, revision, calls: 1, windowStartMs: NOON + 10_000, channel: 'mcp' as const }),
    ])
    await usage.insert('revisions-1', [...rows, item({ tenant, api: 'other-v1' })])
    const whole = await everyRow(tenant, 50)
    expect(whole.map(({ api, revision, channel, calls }) => [api, revision, channel, calls])).toEqual([
      ['other-v1', 0, 'http', 1],
      ['payments-v1', 9, 'http', 9],
      ['payments-v1', 10, 'http', 10],
      ['payments-v1', 9, 'mcp', 1],
      ['payments-v1', 10, 'mcp', 1],
    ])
    for (const limit of [1, 2, 3]) expect(await everyRow(tenant, limit)).toEqual(whole)

    const query = { tenant, ...ALL, api: 'payments-v1', limit: 10 }
    const { rows: ofNine } = await usage.lineItems({ ...query, revision: 9 })
    expect(ofNine.map(({ revision, calls }) => [revision, calls])).toEqual([
      [9, 9],
      [9, 1],
    ])
    expect((await usage.lineItems({ tenant, ...ALL, limit: 10, revision: 0 })).rows).toHaveLength(1)
    const first = await usage.summaries({ ...query, groupBy: ['revision'], limit: 1 })
    const rest = await usage.summaries({ ...query, groupBy: ['revision'], after: first.next! })
    expect([...first.rows, ...rest.rows].map(({ group, calls, value }) => [group, calls, value])).toEqual([
      [{ revision: 9 }, 10, '1.000009'],
      [{ revision: 10 }, 11, '1.00001'],
    ])
    const ofTen = await usage.summaries({ ...query, revision: 10, groupBy: ['api'], interval: 'hour' })
    expect(ofTen.rows).toMatchObject([{ group: { api: 'payments-v1' }, calls: 11 }])
    const total = await usage.summaries({ tenant, ...ALL, groupBy: [], limit: 1 })
    expect(total.rows).toMatchObject([{ calls: 22 }])
  })

  it('continue a page of an earlier version after all channels and revisions of its last row', async () => {
    const tenant = 'earlier-cursors'
    const later = item({ tenant, consumer: 'con_2', revision: 1 })
    const both = [7, 8].flatMap((revision) => [item({ tenant, revision }), item({ tenant, revision, channel: 'mcp' })])
    await usage.insert('earlier-cursors-1', [...both, later])
    const key = [NOON / 1_000, 'payments-v1', 'con_1', 'createPayment', 'sub_1', '', 'EUR']
    const after = async (cursor: readonly unknown[]) =>
      (await usage.lineItems({ tenant, ...ALL, limit: 10, after: JSON.stringify(cursor) })).rows.map(
        ({ customer, channel, revision }) => `${customer} ${channel} ${revision}`,
      )

    expect(await after(key)).toEqual(['con_2 http 1'])
    expect(await after([...key, 'http'])).toEqual(['con_1 mcp 7', 'con_1 mcp 8', 'con_2 http 1'])
    expect(await after([...key, 'mcp'])).toEqual(['con_2 http 1'])
    expect(await after([...key, 'mcp', 7])).toEqual(['con_1 mcp 8', 'con_2 http 1'])
    for (const revision of ['7', -1, 1.5, 2 ** 32, null, [7]])
      await expect(after([...key, 'mcp', revision])).rejects.toMatchObject({ code: 'cursor_invalid' })
    await expect(after([...key, 'mcp', 7, 7])).rejects.toMatchObject({ code: 'cursor_invalid' })
    const query = { tenant, ...ALL, groupBy: ['revision' as const], limit: 10 }
    for (const revision of ['7', -1, 2 ** 32])
      await expect(usage.summaries({ ...query, after: JSON.stringify([revision, 'EUR']) })).rejects.toMatchObject({
        code: 'cursor_invalid',
      })
  })
})

describe('a store of the version before revisions', () => {
  it('keeps its rows as those of revision 0, and adds later ones to the same totals', async () => {
    await migrateBefore()
    await insertOnce(client, { table: 'line_items', token: 'usage-1', rows: [ROW] })
    await migrate(client)
    const usage = createClickHouseUsageStore(client)
    await usage.insert('usage-2', [item({ tenant: TENANT, revision: 2 })])
    // A node of the version before goes on to insert beside this one.
    await insertOnce(client, { table: 'line_items', token: 'usage-3', rows: [ROW] })

    const { rows } = await usage.lineItems({ tenant: TENANT, ...ALL, limit: 10 })
    expect(rows.map(({ revision, calls, amount }) => [revision, calls, amount])).toEqual([
      [0, 2, '0.5'],
      [2, 1, '0.25'],
    ])
    const total = await usage.summaries({ tenant: TENANT, ...ALL, groupBy: [], limit: 1 })
    expect(total.rows).toMatchObject([{ calls: 3, value: '3', amount: '0.75' }])
  })

  it('stores a flush once that was inserted before the upgrade and is repeated after it', async () => {
    await migrateBefore()
    await insertOnce(client, { table: 'line_items', token: 'usage-1', rows: [ROW] })
    await migrate(client)
    const usage = createClickHouseUsageStore(client)
    await usage.insert('usage-1', [item({ tenant: TENANT })])

    for (const groupBy of [[], ['revision']] as const) {
      const { rows } = await usage.summaries({ tenant: TENANT, ...ALL, api: 'payments-v1', groupBy, limit: 10 })
      expect(rows.map(({ calls }) => calls)).toEqual([1])
    }
  })
})

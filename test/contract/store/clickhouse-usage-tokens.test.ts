import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openClickHouse, type ClickHouse } from '../../../src/storage/store/clickhouse/client.ts'
import { migrate } from '../../../src/storage/store/clickhouse/migrations.ts'
import { createClickHouseUsageStore } from '../../../src/storage/store/clickhouse/usage-store.ts'
import type { LineItem, LineItemRow, UsageStore } from '../../../src/storage/store/usage-store.ts'
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
describe('an insert of usage in ClickHouse', () => {
  it('stores the rows of a token once, in the line items and in the rollup', async () => {
    const rows = [item({ tenant: 'once' }), item({ tenant: 'once', operation: 'other', calls: 2 })]
    await usage.insert('once-1', rows)
    await usage.insert('once-1', rows)
    await usage.insert('once-2', rows)

    expect(await total('once')).toMatchObject({ calls: 6, value: '4', amount: '1' })
    expect((await everyRow('once', 10)).map(({ calls }) => calls)).toEqual([2, 4])
  })

  it('does not deduplicate an insert without a token against one with a token', async () => {
    await usage.insert('plain-1', [item({ tenant: 'plain' })])
    const values = [{ tenant: 'plain', window_start: NOON / 1_000, calls: 10 }]
    for (let time = 0; time < 2; time++) await client.insert({ table: 'line_items', values, format: 'JSONEachRow' })
    await usage.insert('plain-2', [item({ tenant: 'plain' })])

    // Without a token, the hash of the rows is the token: the second of two equal inserts is a duplicate.
    expect(addUp(await everyRow('plain', 10)).calls).toBe(12)
  })

  it('deduplicates by token while many inserts run concurrently', async () => {
    const once = () =>
      Promise.all(
        Array.from({ length: 60 }, (_, index) =>
          usage.insert(`many-${index}`, Array<LineItem>(index % 3 === 0 ? 5_000 : 1).fill(item({ tenant: 'many' }))),
        ),
      )
    await once()
    await once()

    expect(await total('many')).toMatchObject({ calls: 20 * 5_000 + 40 })
  })

  it('remembers its tokens after it was closed and opened again', async () => {
    await usage.insert('again-1', [item({ tenant: 'again' })])
    await client.close()
    await open()
    await usage.insert('again-1', [item({ tenant: 'again' })])

    expect(await total('again')).toMatchObject({ calls: 1, value: '1' })
  })

  it('stores a token once if its rows are in several months', async () => {
    const rows = [NOON, NOON + 24 * HOUR].map((windowStartMs) => item({ tenant: 'months', windowStartMs }))
    await usage.insert('months-1', rows)
    await usage.insert('months-1', rows)

    expect(await total('months')).toMatchObject({ calls: 2 })
  })
})

/** Usage as callers read it, over the real store. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openClickHouse, type ClickHouse } from '../../../src/storage/store/clickhouse/client.ts'
import { migrate } from '../../../src/storage/store/clickhouse/migrations.ts'
import { createClickHouseUsageStore } from '../../../src/storage/store/clickhouse/usage-store.ts'
import type { LineItem, UsageStore } from '../../../src/storage/store/usage-store.ts'
import { NOW_MS, openTestPlatform, type TestPlatform } from '../../fixtures/test-platform.ts'

type Item = Readonly<Record<string, unknown>>

const WINDOW_MS = 10_000
const CUSTOMERS = ['con_1', 'con_2', 'con_3']
/** A name with as many special characters as a document may contain. */
const OPERATION = `it's "a" \\ ${'ü'.repeat(200)}`

let folder: string
let client: ClickHouse
let usage: UsageStore

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-usage-'))
  client = openClickHouse({ url: process.env['TEST_CLICKHOUSE_URL'] ?? null, folder })
  await migrate(client)
  usage = createClickHouseUsageStore(client)
  const rows = Array.from({ length: 30 }, (_, index) => lineItem(index))
  await usage.insert('platform-own', rows)
  await usage.insert(
    'platform-rival',
    rows.map((row) => ({ ...row, tenant: 'rival', consumerName: 'Rival' })),
  )
  await usage.insert(
    'platform-self',
    rows.map((row) => ({ ...row, api: 'platform-v1' })),
  )
})

afterAll(async () => {
  await client.close()
  rmSync(folder, { recursive: true, force: true })
})

function lineItem(index: number): LineItem {
  return {
    windowStartMs: NOW_MS - (30 - index) * WINDOW_MS,
    tenant: 'acme',
    api: 'payments-v1',
    operation: index % 2 === 0 ? OPERATION : 'pay',
    consumer: CUSTOMERS[index % CUSTOMERS.length] ?? '',
    consumerName: '=Shop',
    subscription: 'sub_1',
    agent: '',
    variant: '',
    currency: 'EUR',
    priceMicro: 1,
    calls: 1,
    unitsMicro: 500_000n,
  }
}

async function everyItem(platform: TestPlatform, token: string, path: string): Promise<Item[]> {
  const items: Item[] = []
  for (let cursor = ''; ;) {
    const answer = await platform.send('GET', path + cursor, { token })
    expect(answer.status, answer.text).toBe(200)
    items.push(...(answer.body['items'] as Item[]))
    if (answer.body['next'] === null) return items
    cursor = `&cursor=${String(answer.body['next'])}`
  }
}

describe('usage over the real store', () => {
  it('returns each line item of the tenant once, page by page, and none of another tenant', async () => {
    const platform = await openTestPlatform({ usage })
    const items = await everyItem(platform, platform.token('acme'), '/v1?limit=7')

    expect(items).toHaveLength(30)
    expect(new Set(items.map(({ time }) => time)).size).toBe(30)
    expect(items.every(({ customerName, api }) => customerName === '=Shop' && api === 'payments-v1')).toBe(true)
    expect(items[0]).toMatchObject({ value: 0.5, amount: '0.0000005', calls: 1, operation: OPERATION })
    expect(await everyItem(platform, platform.token('stranger'), '/v1?limit=7')).toEqual([])
  })

  it('has totals that equal the sums of its line items', async () => {
    const platform = await openTestPlatform({ usage })
    const token = platform.token('acme')
    const byCustomer = await everyItem(platform, token, '/v1/summaries?limit=2')
    expect(byCustomer.map(({ customer, calls, value }) => [customer, calls, value])).toEqual(
      CUSTOMERS.map((customer) => [customer, 10, 5]),
    )
    expect(await everyItem(platform, token, '/v1/summaries?groupBy=')).toMatchObject([
      { calls: 30, amount: '0.000015' },
    ])
    const own = await everyItem(platform, token, '/v1/summaries?groupBy=api&api=platform-v1')
    expect(own).toMatchObject([{ api: 'platform-v1', calls: 30 }])
  })

  it('treats the value of a filter as text, whatever it contains', async () => {
    const platform = await openTestPlatform({ usage })
    const token = platform.token('acme')
    const operation = encodeURIComponent(OPERATION)
    expect(await everyItem(platform, token, `/v1?limit=9&operation=${operation}`)).toHaveLength(15)
    for (const attack of ["' OR 1=1 --", '{tenant:String}', "acme') UNION ALL SELECT", '%']) {
      expect(await everyItem(platform, token, `/v1?api=${encodeURIComponent(attack)}`)).toEqual([])
    }
  })

  it('400 for a cursor with an invalid position', async () => {
    const platform = await openTestPlatform({ usage })
    for (const position of ['[]', '{"a":1}', '[1,2,3,4,5,6]', 'x'.repeat(2_000)]) {
      const cursor = Buffer.from(`1 0 ${NOW_MS} ${position}`).toString('base64url')
      const answer = await platform.send('GET', `/v1?cursor=${cursor}`, { token: platform.token('acme') })
      expect(answer).toMatchObject({ status: 400, body: { code: 'cursor_invalid' } })
    }
  })

  it('exports a table in which no cell is a formula', async () => {
    const platform = await openTestPlatform({ usage })
    const headers = { accept: 'text/csv' }
    const { text } = await platform.send('GET', '/v1?limit=1', { token: platform.token('acme'), headers })
    expect(text.split('\r\n')[1]).toMatch(/^payments-v1,con_1,'=Shop,/)
  })
})

/** Queries over ten years, or of which the answer would have millions of rows, are bounded and say so. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openClickHouse, type ClickHouse } from '../../../src/storage/store/clickhouse/client.ts'
import { migrate } from '../../../src/storage/store/clickhouse/migrations.ts'
import { createReaders, type Readers } from '../../../src/storage/store/clickhouse/readers.ts'
import { createClickHouseUsageStore } from '../../../src/storage/store/clickhouse/usage-store.ts'
import { openTestPlatform, type TestPlatform } from '../../fixtures/test-platform.ts'

/** Nine years in a range of ten: the store removes older totals. */
const YEAR = new Date().getUTCFullYear()
const DAYS = 9 * 365
const CONSUMERS = 200
const FROM = Date.UTC(YEAR - 9, 0, 1)
const RANGE = `from=${YEAR - 10}-01-01T00:00:00Z&to=${YEAR}-01-01T00:00:00Z`
const PAGE = 500

let folder: string
let client: ClickHouse
let platform: TestPlatform
/** The number of rows that each read of the store returned. */
const reads: number[] = []

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'long-ranges-'))
  client = openClickHouse({ url: process.env['TEST_CLICKHOUSE_URL'] ?? null, folder })
  await migrate(client)
  await client.command({
    query: `INSERT INTO line_items_hourly
      (hour, tenant, api, operation, consumer, subscription, agent, currency, calls, units, amount) SELECT toDateTime(${FROM / 1_000} + intDiv(number, ${CONSUMERS}) * 86400, 'UTC'), 'acme',
      'payments-v1', 'pay', concat('con_', leftPad(toString(number % ${CONSUMERS}), 3, '0')), 'sub_1', '', 'EUR', 1, 1, 0.000001
      FROM numbers(${DAYS * CONSUMERS}) SETTINGS max_partitions_per_insert_block = 0`,
  })
}, 120_000)

beforeEach(async () => {
  reads.length = 0
  const readers = createReaders([client])
  const counting: Readers = {
    async read<Row>(...args: Parameters<Readers['read']>) {
      const rows = await readers.read<Row>(...args)
      reads.push(rows.length)
      return rows
    },
  }
  platform = await openTestPlatform({ usage: createClickHouseUsageStore(client, { readers: counting }) })
})

afterAll(async () => {
  await client.close()
  rmSync(folder, { recursive: true, force: true })
})

const get = (path: string, accept = 'application/json') =>
  platform.send('GET', path, { token: platform.token('acme'), headers: { accept } })

function expectBounded(): void {
  expect(Math.max(...reads)).toBeLessThanOrEqual(PAGE + 1)
  expect(reads.length).toBeLessThanOrEqual(8)
}

describe('a query over ten years', { timeout: 60_000 }, () => {
  it.each(['day', 'hour'])('by %s and consumer returns a page, and where the next begins', async (interval) => {
    const path = `/v1/summaries?${RANGE}&groupBy=customer&interval=${interval}&limit=${PAGE}`
    const first = await get(path)
    expect(first.status, first.text).toBe(200)
    expect(first.body['items']).toHaveLength(PAGE)
    expectBounded()
    const next = await get(`${path}&cursor=${String(first.body['next'])}`)
    const keysOf = ({ body }: typeof first): string[] =>
      (body['items'] as { from: string; customer: string }[]).map(({ from, customer }) => `${from} ${customer}`)
    const keys = [...keysOf(first), ...keysOf(next)]
    expect(keys).toHaveLength(2 * PAGE)
    expect(new Set(keys).size).toBe(2 * PAGE)
    expect(keys.toSorted()).toEqual(keys)
  })

  it('by month totals every row', async () => {
    const { body } = await get(`/v1/summaries?${RANGE}&groupBy=api&interval=month&limit=${PAGE}`)
    const items = body['items'] as { calls: number }[]
    expect(items).toHaveLength(9 * 12)
    expect(items.reduce((sum, { calls }) => sum + calls, 0)).toBe(DAYS * CONSUMERS)
    expect(body['next']).toBeNull()
    expectBounded()
  })

  it('cannot be exported as a whole: a page of CSV has the address of the next', async () => {
    const answer = await get(`/v1/summaries?${RANGE}&groupBy=customer&interval=day`, 'text/csv')
    expect(answer.status).toBe(200)
    expect(answer.text.split('\r\n')).toHaveLength(1 + 50 + 1)
    expect(answer.headers['link']).toMatch(/rel="next"/)
    const limit = await get(`/v1/summaries?${RANGE}&groupBy=customer&interval=day&limit=${PAGE + 1}`, 'text/csv')
    expect(limit).toMatchObject({ status: 400, body: { errors: [{ pointer: '/limit' }] } })
    for (const path of ['/v1', '/v1/requests']) {
      expect(await get(`${path}?${RANGE}&limit=${PAGE + 1}`)).toMatchObject({ status: 400 })
    }
  })
})

describe('a read that would take too much', () => {
  const SHORTER = expect.stringMatching(/more than 15 s or too much memory\. Ask for a shorter range/)
  const read = (query: string): Promise<unknown> => createReaders([client]).read('acme', { query, params: {} })

  it('time is ended, and says so', async () => {
    const endless = 'SELECT count() FROM numbers(1000000000000) WHERE sipHash64(number) = 1'
    await expect(read(endless)).rejects.toMatchObject({ code: 'unavailable', message: SHORTER })
  })

  it('memory is refused, and says so', async () => {
    const large = 'SELECT length(range(toUInt64(400000000 + number))) FROM numbers(1)'
    await expect(read(large)).rejects.toMatchObject({ code: 'unavailable', message: SHORTER })
  })
})

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openClickHouse, type ClickHouse } from '../../../src/storage/store/clickhouse/client.ts'
import { migrate } from '../../../src/storage/store/clickhouse/migrations.ts'
import { createClickHouseRequestStore } from '../../../src/storage/store/clickhouse/request-store.ts'
import type { LoggedRequest, RequestStore } from '../../../src/storage/store/request-store.ts'
import { NOW_MS, openTestPlatform } from '../../fixtures/test-platform.ts'

let folder: string
let client: ClickHouse
let store: RequestStore
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'clickhouse-'))
  client = openClickHouse({ url: process.env['TEST_CLICKHOUSE_URL'] ?? null, folder })
  await migrate(client)
  store = createClickHouseRequestStore(client)
})
afterAll(async () => {
  await client.close()
  rmSync(folder, { recursive: true, force: true })
})

const NOON_MS = Date.UTC(2026, 2, 31, 12)
const request = (changes: Partial<LoggedRequest> = {}): LoggedRequest => ({
  timeMs: NOON_MS,
  tenant: 'acme',
  api: 'payments-v1',
  operation: `it's "a" \\ ü`,
  requestId: '0123456789abcdef00000001',
  status: 403,
  outcome: 'operation_forbidden',
  consumer: 'con_1',
  consumerName: 'Shop',
  subscription: 'sub_1',
  agent: '',
  person: 'per_1',
  durationUs: 4_000_000_000,
  upstreamUs: 0,
  requestBytes: 5_000_000_000,
  responseBytes: 1,
  unitsMicro: 1_500_000,
  explanation: '{"detail":"The credential does not open this operation."}',
  channel: 'http',
  revision: 3,
  ...changes,
})
const range = { fromMs: 0, toMs: NOON_MS + 86_400_000 }

describe('the request log in ClickHouse', () => {
  it('stores the rows of a token once, and returns them unchanged', async () => {
    const { tenant: _, ...expected } = request({ tenant: 'once' })
    await store.insert('once-1', [request({ tenant: 'once' })])
    await store.insert('once-1', [request({ tenant: 'once' })])

    expect(await store.find({ tenant: 'once', ...range, limit: 10 })).toEqual([expected])
  })

  it('returns the calls of one tenant, latest first, page by page and by filter', async () => {
    const rows = Array.from({ length: 25 }, (_, index) =>
      request({
        tenant: 'page',
        timeMs: NOON_MS + Math.floor(index / 3),
        requestId: index.toString(16).padStart(24, '0'),
        outcome: index % 2 === 0 ? 'rate_limited' : 'credential_invalid',
      }),
    )
    await store.insert('page-1', [...rows, request({ tenant: 'rival', requestId: 'ff' })])
    const found: string[] = []
    for (let before: { timeMs: number; requestId: string } | null | undefined; before !== null;) {
      const page = await store.find({ tenant: 'page', ...range, limit: 4, ...(before !== undefined && { before }) })
      found.push(...page.map(({ requestId }) => requestId))
      before = page.length < 4 ? null : page.at(-1)!
    }
    expect(found).toEqual(rows.map(({ requestId }) => requestId).reverse())

    const find = (filter: object) => store.find({ tenant: 'page', ...range, limit: 100, ...filter })
    expect(await find({ outcome: 'rate_limited' })).toHaveLength(13)
    expect(await find({ revision: 3 })).toHaveLength(25)
    expect(await find({ revision: 0 })).toHaveLength(0)
    await store.insert('page-2', [request({ tenant: 'page', timeMs: NOON_MS, requestId: 'f0', outcome: 'served' })])
    expect(await find({})).toHaveLength(26)
    expect(await find({ isRefused: true })).toHaveLength(25)
    expect(await find({ requestId: rows[7]?.requestId })).toMatchObject([{ requestId: rows[7]?.requestId }])
    expect(await find({ api: 'other-v1' })).toEqual([])
    expect(await find({ customer: "x' OR 1 = 1 --" })).toEqual([])
    expect(await find({ toMs: NOON_MS + 1 })).toHaveLength(4)
  })

  it('is read over HTTP, and a forged cursor returns nothing of another tenant', async () => {
    const platform = await openTestPlatform({ requests: store })
    const times = [1, 2, 3].map((minutes) => NOW_MS - minutes * 60_000)
    const ofHouse = times.map((timeMs, index) => request({ tenant: 'platform', timeMs, requestId: `a${index}` }))
    await store.insert('platform-1', ofHouse)
    const token = platform.token('platform')
    const first = await platform.send('GET', '/v1/requests?limit=2', { token })
    const second = await platform.send('GET', `/v1/requests?limit=2&cursor=${String(first.body['next'])}`, { token })
    const items = [...(first.body['items'] as object[]), ...(second.body['items'] as object[])]

    expect(items).toMatchObject([
      { requestId: 'a0', customer: 'con_1', onBehalfOf: 'per_1', durationMs: 4_000_000, resourceUnits: 1.5 },
      { requestId: 'a1' },
      { requestId: 'a2' },
    ])
    expect(second.body['next']).toBeNull()
    const foreign = await platform.send('GET', `/v1/requests?cursor=${String(first.body['next'])}`, {
      token: platform.token('rival'),
    })
    expect(foreign.body['items']).toEqual([])
    await store.insert('platform-2', [
      request({ tenant: 'platform', timeMs: NOW_MS - 1_000, requestId: 'b0', outcome: 'served' }),
      request({ tenant: 'rival', timeMs: NOW_MS - 1_000, requestId: 'b1', outcome: 'rate_limited' }),
    ])
    const refused = await platform.send('GET', '/v1/requests?outcome=refused', { token })
    expect(refused.body['items']).toMatchObject([{ requestId: 'a0' }, { requestId: 'a1' }, { requestId: 'a2' }])
    for (const query of ['cursor=bm8', 'from=yesterday', 'outcome=', 'limit=501']) {
      expect((await platform.send('GET', `/v1/requests?${query}`, { token })).status, query).toBe(400)
    }
  })
})

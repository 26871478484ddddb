import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openClickHouse, type ClickHouse } from '../../../src/storage/store/clickhouse/client.ts'
import { migrate } from '../../../src/storage/store/clickhouse/migrations.ts'
import { createClickHouseRequestStore } from '../../../src/storage/store/clickhouse/request-store.ts'
import type {
  FollowedFilter,
  FollowedLog,
  LoggedRequest,
  RequestStore,
} from '../../../src/storage/store/request-store.ts'

let folder: string
let client: ClickHouse
let store: RequestStore & FollowedLog
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
const request = (tenant: string, requestId: string, changes: Partial<LoggedRequest> = {}): LoggedRequest => ({
  ...{ timeMs: NOON_MS, tenant, api: 'pay-v1', operation: 'list', requestId, status: 403 },
  ...{ outcome: 'rate_limited', consumer: 'con_1', consumerName: 'Shop', subscription: 'sub_1', agent: '' },
  ...{ person: 'per_1', durationUs: 7, upstreamUs: 0, requestBytes: 5_000_000_000, responseBytes: 1 },
  ...{ unitsMicro: 1_500_000, explanation: '', channel: 'mcp', revision: 3, ...changes },
})
const all = (tenant: string, changes: Partial<FollowedFilter> = {}): FollowedFilter => ({
  ...{ tenant, sinceMs: NOON_MS, isFresh: false, ...changes },
})

/** As `filter writer@flush: ids of found`. */
async function follow(
  filters: readonly FollowedFilter[],
  position: Readonly<Record<string, number>> = {},
  limit = 100,
): Promise<readonly string[]> {
  const groups = await store.follow({ filters, position: new Map(Object.entries(position)), limit })
  return groups
    .map(({ filter, writer, lastFlush, found, requests }) => {
      const ids = requests.map(({ requestId }) => requestId).join(' ')
      return `${filter} ${writer}@${lastFlush}: ${ids} of ${found}`
    })
    .sort()
}

const W1 = '11'.repeat(8)
const W2 = '22'.repeat(8)

describe('the request log that grows', () => {
  it('returns calls unchanged, but their explanations', async () => {
    const stored = request('whole', 'a0', { explanation: '{"detail":"It is secret."}', operation: `it's \\ ü` })
    await store.insert(`requests-${W1}-1`, [stored])
    const [group] = await store.follow({ filters: [all('whole')], position: new Map(), limit: 10 })
    expect(group!.requests).toEqual([{ ...stored, explanation: '' }])
  })

  it('returns what each writer stored after the position, with the last flush and the number of the rest', async () => {
    await store.insert(`requests-${W1}-4`, [request('step', 'a1'), request('step', 'a2', { timeMs: NOON_MS + 5 })])
    await store.insert(`requests-${W2}-9`, [request('step', 'b1', { timeMs: NOON_MS + 1 })])
    const one = [all('step')]
    expect(await follow(one)).toEqual([`0 ${W1}@4: a1 a2 of 2`, `0 ${W2}@9: b1 of 1`])
    expect(await follow(one, { [W1]: 3, [W2]: 9 })).toEqual([`0 ${W1}@4: a1 a2 of 2`])
    expect(await follow(one, { [W1]: 4, [W2]: 9 })).toEqual([])
    await store.insert(`requests-${W1}-5`, [request('step', 'a3', { timeMs: NOON_MS + 9 })])
    expect(await follow(one, { [W1]: 3, [W2]: 9 }, 1)).toEqual([`0 ${W1}@5: a1 of 3`])
    const fresh = [...one, all('step', { isFresh: true, sinceMs: NOON_MS + 5 })]
    expect(await follow(fresh, { [W1]: 4, [W2]: 9 })).toEqual([`0 ${W1}@5: a3 of 1`, `1 ${W1}@5: a2 a3 of 2`])
  })

  it('selects by each filter for itself', async () => {
    await store.insert(`requests-${W1}-20`, [
      request('pick', 'p1', { api: 'other-v1' }),
      request('pick', 'p2', { consumer: 'con_2' }),
      request('pick', 'p3', { outcome: 'served' }),
      request('pick', 'p4', { api: 'other-v1', consumer: 'con_3', revision: 4 }),
    ])
    const ofRevisions = [{ revision: 4 }, { revision: 5 }, { api: 'pay-v1', revision: 4 }]
    const filters = [
      ...ofRevisions,
      { api: 'pay-v1' },
      { customer: 'con_2' },
      { outcome: 'served' },
      { isRefused: true as const },
    ]
    expect(await follow(filters.map((filter) => all('pick', filter)))).toEqual([
      `0 ${W1}@20: p4 of 1`,
      `3 ${W1}@20: p2 p3 of 2`,
      `4 ${W1}@20: p2 of 1`,
      `5 ${W1}@20: p3 of 1`,
      `6 ${W1}@20: p1 p2 p4 of 3`,
    ])
  })

  it('keeps tenants apart, whatever their filters and names are', async () => {
    const hostile = `x'] OR 1 = 1 --\\\0\t\n'`
    await store.insert(`requests-${W1}-30`, [request('house', 'h1'), request('rival', 'r1'), request(hostile, 'x1')])
    const filters = [all('house'), all('rival', { customer: hostile }), all(hostile), all('', { api: '' }), all('%')]
    expect(await follow(filters)).toEqual([`0 ${W1}@30: h1 of 1`, `2 ${W1}@30: x1 of 1`])
    const odd = ['', "'", '\\', '\0', '\ud800', '%27', '{x:String}', 'ü'.repeat(256)]
    const oddFilters = odd.flatMap((name) => [
      all('house', { api: `${name}x` }),
      all('house', { customer: `${name}x` }),
    ])
    expect(await follow([...oddFilters, all('house')])).toEqual([`16 ${W1}@30: h1 of 1`])
    expect(await follow([])).toEqual([])
    expect(await follow([all('rival')], { [hostile]: 1 })).toEqual([`0 ${W1}@30: r1 of 1`])
  })
})

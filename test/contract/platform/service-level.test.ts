/** Promised and measured service levels, as operators read them, over the real store. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bucketOf } from '../../../src/foundation/domain/latency-buckets.ts'
import { openClickHouse, type ClickHouse } from '../../../src/storage/store/clickhouse/client.ts'
import { migrate } from '../../../src/storage/store/clickhouse/migrations.ts'
import { createClickHouseServiceLevelStore } from '../../../src/storage/store/clickhouse/service-level-store.ts'
import type { ServiceLevelRow, ServiceLevelStore } from '../../../src/storage/store/service-level-store.ts'
import { publishApi } from '../../fixtures/published-api.ts'
import { NOW_MS, openTestPlatform, type TestPlatform } from '../../fixtures/test-platform.ts'

const MINUTE_MS = 60_000
const PATH = '/v1/apis/payments-v1/serviceLevel'

let folder: string
let client: ClickHouse
let levels: ServiceLevelStore

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-levels-'))
  client = openClickHouse({ url: process.env['TEST_CLICKHOUSE_URL'] ?? null, folder })
  await migrate(client)
  levels = createClickHouseServiceLevelStore(client)
  await levels.insert('own', [
    minute(1, { calls: 100, errors: 3, successes: 97, ms: 20 }),
    minute(2, { calls: 100, unanswered: 10, successes: 90, ms: 30 }),
    // 20 calls per second: above the load to which the promise of latency applies.
    minute(3, { calls: 1_200, successes: 1_200, ms: 900 }),
    minute(90, { calls: 7, successes: 7, ms: 1 }),
  ])
  await levels.insert('rival', [{ ...minute(1, { calls: 5_000, unanswered: 5_000 }), tenant: 'rival' }])
})

afterAll(async () => {
  await client.close()
  rmSync(folder, { recursive: true, force: true })
})

function minute(ago: number, of: Partial<ServiceLevelRow> & { ms?: number }): ServiceLevelRow {
  const { ms = 0, ...counts } = of
  const successes = of.successes ?? 0
  return {
    minuteMs: NOW_MS - (NOW_MS % MINUTE_MS) - ago * MINUTE_MS,
    tenant: 'acme',
    api: 'payments-v1',
    operation: 'createPayment',
    calls: 0,
    unanswered: 0,
    errors: 0,
    successes,
    latencyUs: successes * ms * 1_000,
    latency: new Map([[bucketOf(ms * 1_000), successes]]),
    ...counts,
  }
}

async function promised(): Promise<{ platform: TestPlatform; token: string }> {
  const platform = await openTestPlatform({ levels })
  const token = platform.token('acme')
  await publishApi(platform, token)
  const runtime = `
  - name: all day
    availability: 99
    5xxResponsePercent: 1
    throughput: [{ rps: 10, latency: [{ percentile: 95, maximum: 50, mean: 24 }] }]`
  const declaration = `opensla: 1.0.0\ninfo: { variant: gold }\nruntime: ${runtime}\n`
  const body = { api: 'payments-v1', specification: Buffer.from(declaration).toString('base64') }
  expect((await platform.send('POST', '/v1/openslaspecs', { token, body })).status).toBe(201)
  return { platform, token }
}

describe('the service level of an API', () => {
  it('is measured over the last hour by default, in windows, and compared with each promise', async () => {
    const { platform, token } = await promised()
    const { status, body } = await platform.send('GET', PATH, { token })

    expect(status).toBe(200)
    expect(body['measured']).toMatchObject({ calls: 1_400, availabilityPercent: 99.286, errorPercent: 0.216 })
    expect((body['windows'] as { calls: number }[]).map(({ calls }) => calls)).toEqual([1_200, 100, 100])
    const promises = (body['promises'] as Record<string, unknown>[]).filter(({ variant }) => variant === 'gold')
    expect(promises).toMatchObject([
      { name: 'all day', measure: 'availability', promised: 99, measured: 99.286, isKept: true, calls: 1_400 },
      { measure: '5xxResponsePercent', promised: 1, measured: 0.216, isKept: true },
      { measure: 'latency', percentile: 95, rps: 10, promised: 50, isKept: true, calls: 200 },
      { measure: 'meanLatency', rps: 10, promised: 24, measured: 24.813, isKept: false },
    ])
  })

  it('covers the requested range', async () => {
    const { platform, token } = await promised()
    const at = (ago: number) => new Date(NOW_MS - (NOW_MS % MINUTE_MS) - ago * MINUTE_MS).toISOString()
    const callsIn = async (query: string) =>
      (await platform.send('GET', `${PATH}?${query}`, { token })).body['measured']

    expect(await callsIn(`from=${at(2)}&to=${at(1)}`)).toMatchObject({ calls: 100, availabilityPercent: 90 })
    expect(await callsIn(`from=${at(100)}`)).toMatchObject({ calls: 1_407 })
    expect(await callsIn(`to=${at(95)}`)).toMatchObject({ calls: 0, availabilityPercent: null })
  })

  it.each([
    ['from=yesterday', 400],
    ['from=2027-01-02T00:00:00Z&to=2027-01-01T00:00:00Z', 400],
    ['from=2026-01-01T00:00:00Z&to=2026-02-02T00:00:00Z', 400],
    ['from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z', 200],
    ['step=1', 400],
  ])('answers %s with %i', async (query, status) => {
    const { platform, token } = await promised()

    expect((await platform.send('GET', `${PATH}?${query}`, { token })).status).toBe(status)
  })

  it('is not visible to another tenant', async () => {
    const { platform } = await promised()

    expect((await platform.send('GET', PATH, { token: platform.token('rival') })).status).toBe(404)
  })
})

describe('the service level of all APIs', () => {
  it('adds up the APIs of the tenant, without the platform API', async () => {
    const { platform, token } = await promised()
    await levels.insert('others', [
      { ...minute(1, { calls: 11, successes: 11, ms: 5 }), api: 'orders-v1' },
      { ...minute(1, { calls: 900, successes: 900, ms: 5 }), api: 'platform-v1' },
    ])
    const { status, body } = await platform.send('GET', '/v1/serviceLevels', { token })
    expect([status, body['measured']]).toMatchObject([200, { calls: 1_411, errorPercent: 0.214 }])
    const rival = await platform.send('GET', '/v1/serviceLevels', { token: platform.token('rival') })
    expect(rival.body['measured']).toMatchObject({ calls: 5_000, availabilityPercent: 0 })
    for (const query of ['from=yesterday', 'from=2026-01-01T00:00:00Z&to=2026-02-02T00:00:00Z', 'api=orders-v1'])
      expect((await platform.send('GET', `/v1/serviceLevels?${query}`, { token })).status).toBe(400)
  })
})

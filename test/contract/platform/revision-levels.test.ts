/** Service levels of the revisions of an API, as operators read them, over the real store. */

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
import { NOW_MS, openTestPlatform } from '../../fixtures/test-platform.ts'

const MINUTE_MS = 60_000
const THIS_MINUTE = NOW_MS - (NOW_MS % MINUTE_MS)

let folder: string
let client: ClickHouse
let levels: ServiceLevelStore

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-levels-'))
  client = openClickHouse({ url: null, folder })
  await migrate(client)
  levels = createClickHouseServiceLevelStore(client)
  await levels.insert('own', [
    minute(5, { revision: 1, calls: 100, errors: 3, successes: 97, ms: 20 }),
    minute(0, { revision: 1, calls: 50, successes: 50, ms: 20 }),
    minute(0, { revision: 12, calls: 10, unanswered: 1, errors: 2, successes: 7, ms: 90 }),
    minute(90, { revision: 3, calls: 7, successes: 7, ms: 1 }),
  ])
  await levels.insert('rival', [{ ...minute(1, { revision: 1, calls: 5_000, unanswered: 5_000 }), tenant: 'rival' }])
})

afterAll(async () => {
  await client.close()
  rmSync(folder, { recursive: true, force: true })
})

function minute(ago: number, of: Partial<ServiceLevelRow> & { ms?: number }): ServiceLevelRow {
  const { ms = 0, ...counts } = of
  const successes = of.successes ?? 0
  return {
    ...{ minuteMs: THIS_MINUTE - ago * MINUTE_MS, tenant: 'acme', api: 'payments-v1', operation: 'createPayment' },
    ...{ calls: 0, unanswered: 0, errors: 0, successes, latencyUs: successes * ms * 1_000 },
    latency: new Map([[bucketOf(ms * 1_000), successes]]),
    ...counts,
  }
}

async function published() {
  const platform = await openTestPlatform({ levels })
  const token = platform.token('acme')
  const rival = platform.token('rival')
  await publishApi(platform, token)
  const { body } = await platform.send('GET', '/v1/proxies?api=payments-v1', { token })
  const [proxy] = body['items'] as { id: string }[]
  const path = `/v1/proxies/${proxy!.id}/levels`
  return { platform, token, rival, path, send: (query = '') => platform.send('GET', `${path}${query}`, { token }) }
}

describe('the service levels of revisions', () => {
  it('are those of the last hour by default, with the minute that is running and the fate of each revision', async () => {
    const { send } = await published()
    const { status, body } = await send()

    expect(status).toBe(200)
    const latency = { meanMs: 20, p50Ms: expect.any(Number), p95Ms: expect.any(Number), p99Ms: expect.any(Number) }
    const one = { revision: 1, fate: 'active', calls: 150, unanswered: 0, errors: 3, errorPercent: 2 }
    expect(body).toEqual({
      items: [
        {
          ...{ revision: 12, fate: null, calls: 10, unanswered: 1, errors: 2 },
          ...{ availabilityPercent: 90, errorPercent: 22.222, latency: { ...latency, meanMs: 90 } },
        },
        { ...one, availabilityPercent: 100, latency },
      ],
      next: null,
    })
  })

  it('cover the requested range, page by page', async () => {
    const { send } = await published()
    const at = (ago: number) => new Date(THIS_MINUTE - ago * MINUTE_MS).toISOString()
    const revisionsIn = async (query: string) =>
      ((await send(query)).body['items'] as { revision: number; calls: number }[]).map((each) => [
        each.revision,
        each.calls,
      ])
    expect(await revisionsIn(`?from=${at(5)}&to=${at(4)}`)).toEqual([[1, 100]])
    expect(await revisionsIn(`?from=${at(95)}&to=${at(80)}`)).toEqual([[3, 7]])
    expect(await revisionsIn(`?to=${at(100)}`)).toEqual([])
    const first = await send('?limit=1')
    expect(await revisionsIn(`?limit=1&cursor=${String(first.body['next'])}`)).toEqual([[1, 150]])
  })

  it.each([
    ['from=yesterday', 400],
    ['from=2027-01-02T00:00:00Z&to=2027-01-01T00:00:00Z', 400],
    ['from=2026-01-01T00:00:00Z&to=2026-02-02T00:00:00Z', 400],
    ['from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z', 200],
    ['revision=1', 400],
    ['cursor=AAAA', 400],
  ])('answer ?%s with %i', async (query, status) => {
    const { send } = await published()
    expect((await send(`?${query}`)).status).toBe(status)
  })

  it('are not visible to another tenant, nor without the scope', async () => {
    const { platform, rival, path } = await published()
    expect((await platform.send('GET', path, { token: rival })).status).toBe(404)
    expect((await platform.send('GET', '/v1/proxies/prx_none/levels', { token: rival })).status).toBe(404)
    const narrow = platform.token('acme', ['apis:read', 'usage:read'])
    expect((await platform.send('GET', path, { token: narrow })).status).toBe(403)
  })
})

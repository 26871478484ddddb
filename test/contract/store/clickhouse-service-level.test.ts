import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sumOfMeasures } from '../../../src/foundation/domain/service-level.ts'
import { openClickHouse, type ClickHouse } from '../../../src/storage/store/clickhouse/client.ts'
import { migrate } from '../../../src/storage/store/clickhouse/migrations.ts'
import { createClickHouseServiceLevelStore } from '../../../src/storage/store/clickhouse/service-level-store.ts'
import type {
  ServiceLevelQuery,
  ServiceLevelRow,
  ServiceLevelStore,
} from '../../../src/storage/store/service-level-store.ts'

const NOON_MS = Date.UTC(2026, 2, 31, 12)
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

let folder: string
let client: ClickHouse
let store: ServiceLevelStore

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'clickhouse-'))
  client = openClickHouse({ url: process.env['TEST_CLICKHOUSE_URL'] ?? null, folder })
  await migrate(client)
  store = createClickHouseServiceLevelStore(client)
})
afterAll(async () => {
  await client.close()
  rmSync(folder, { recursive: true, force: true })
})

const row = (changes: Partial<ServiceLevelRow>): ServiceLevelRow => ({
  minuteMs: NOON_MS,
  tenant: 'acme',
  api: 'payments-v1',
  operation: 'createPayment',
  calls: 10,
  unanswered: 1,
  errors: 2,
  successes: 5,
  latencyUs: 4_000_000_000_000,
  latency: new Map([[7, 5]]),
  ...changes,
})

const query = (changes: Partial<ServiceLevelQuery>): ServiceLevelQuery => ({
  tenant: 'acme',
  api: 'payments-v1',
  fromMs: 0,
  toMs: NOON_MS + 100 * HOUR_MS,
  operationIds: null,
  spans: [],
  loads: [],
  stepMs: null,
  ...changes,
})

describe('service levels in ClickHouse', () => {
  it('are measured for each revision of an API that was called, and summed over all of them', async () => {
    const api = 'revised-v1'
    const calls = (revision: number, changes: Partial<ServiceLevelRow> = {}) => row({ api, revision, ...changes })
    await store.insert('revised-1', [calls(9), calls(10, { operation: 'other' }), row({ api, calls: 3 })])
    await store.insert('revised-2', [calls(10, { minuteMs: NOON_MS + MINUTE_MS, latency: new Map([[9, 5]]) })])
    await store.insert('revised-3', [calls(11, { tenant: 'rival' }), calls(12, { api: 'next-v1' })])
    const range = { tenant: 'acme', api, fromMs: NOON_MS, toMs: NOON_MS + HOUR_MS }
    const found = await store.revisions(range)
    expect(found.map(({ revision, calls: count }) => [revision, count])).toEqual([
      [10, 20],
      [9, 10],
      [0, 3],
    ])
    expect(found[0]?.latency).toEqual(
      new Map([
        [7, 5],
        [9, 5],
      ]),
    )
    const [all] = await store.measure(query({ api }))
    expect(sumOfMeasures(found)).toEqual(sumOfMeasures([all!]))
    const first = await store.revisions({ ...range, toMs: NOON_MS + MINUTE_MS })
    expect(first.map(({ revision, calls: count }) => [revision, count])).toContainEqual([10, 10])
    expect(await store.revisions({ ...range, fromMs: NOON_MS + 2 * MINUTE_MS })).toEqual([])
    expect(await store.revisions({ ...range, tenant: "acme' OR 1 = 1 --" })).toEqual([])
    const minutes = await store.minutes({ apis: [api], fromMs: NOON_MS, toMs: NOON_MS + MINUTE_MS })
    expect(
      minutes.filter(({ tenant }) => tenant === 'acme').map(({ operation, calls: count }) => [operation, count]),
    ).toEqual([
      ['createPayment', 13],
      ['other', 10],
    ])
  })

  it('are stored once per token, and summed', async () => {
    const rows = [
      row({ api: 'once-v1' }),
      row({
        api: 'once-v1',
        operation: 'other',
        latency: new Map([
          [7, 1],
          [399, 4],
        ]),
      }),
    ]
    for (const token of ['once-1', 'once-1', 'once-2']) await store.insert(token, rows)

    expect(await store.measure(query({ api: 'once-v1' }))).toEqual([
      {
        startMs: 0,
        load: 0,
        calls: 40,
        unanswered: 4,
        errors: 8,
        successes: 20,
        latencyUs: 16_000_000_000_000,
        latency: new Map([
          [7, 12],
          [399, 8],
        ]),
      },
    ])
  })

  it('are filtered by tenant, API and operation', async () => {
    await store.insert('of-1', [
      row({ api: 'of-v1', calls: 1 }),
      row({ api: 'of-v1', operation: 'b', calls: 2 }),
      row({ api: 'of-v2', calls: 4 }),
      row({ tenant: 'rival', api: 'of-v1', calls: 8 }),
      row({ tenant: 'rival', api: 'of-v1', operation: "b' OR 1 = 1 --", calls: 16 }),
    ])
    const callsOf = async (changes: Partial<ServiceLevelQuery>) =>
      (await store.measure(query({ api: 'of-v1', ...changes }))).map(({ calls }) => calls)

    expect(await callsOf({})).toEqual([3])
    expect(await callsOf({ operationIds: ['b', 'c'] })).toEqual([2])
    expect(await callsOf({ operationIds: [] })).toEqual([])
    expect(await callsOf({ tenant: 'rival' })).toEqual([24])
    expect(await callsOf({ tenant: 'rival', operationIds: ["b' OR 1 = 1 --"] })).toEqual([16])
  })

  it('are summed by minute and operation for all tenants, of the APIs that are asked for', async () => {
    const next = NOON_MS + MINUTE_MS
    await store.insert('minutes-1', [row({ api: 'minutes-v1' }), row({ api: 'minutes-v1', minuteMs: next })])
    await store.insert('minutes-2', [
      row({ api: 'minutes-v1', calls: 5, latency: new Map([[7, 1]]) }),
      row({ api: 'minutes-v1', operation: 'other' }),
      row({ api: 'minutes-v1', tenant: 'rival', calls: 3 }),
      row({ api: 'minutes-v2' }),
    ])
    const asked = { apis: ['minutes-v1', "' OR 1 = 1 --"], fromMs: NOON_MS, toMs: next }
    expect(await store.minutes(asked)).toEqual([
      row({
        api: 'minutes-v1',
        calls: 15,
        unanswered: 2,
        errors: 4,
        successes: 10,
        latencyUs: 8_000_000_000_000,
        latency: new Map([[7, 6]]),
      }),
      row({ api: 'minutes-v1', operation: 'other' }),
      row({ api: 'minutes-v1', tenant: 'rival', calls: 3 }),
    ])
    expect(await store.minutes({ ...asked, apis: [] })).toEqual([])
  })

  it('are grouped by the load of each minute over all operations', async () => {
    const minute = (index: number, calls: number) => [
      row({ api: 'load-v1', minuteMs: NOON_MS + index * MINUTE_MS, calls: calls - 1 }),
      row({ api: 'load-v1', operation: 'b', minuteMs: NOON_MS + index * MINUTE_MS, calls: 1 }),
    ]
    await store.insert('load-1', [...minute(0, 600), ...minute(1, 601), ...minute(2, 30), ...minute(3, 6_001)])
    const found = await store.measure(query({ api: 'load-v1', loads: [0.5, 10, 100] }))

    expect(found.map(({ load, calls }) => [load, calls])).toEqual([
      [3, 6_001],
      [0, 30],
      [1, 600],
      [2, 601],
    ])
  })

  it('include the minutes that begin in the range and in a span of the day, also across midnight', async () => {
    const at = (text: string) => Date.parse(`2026-03-${text}Z`)
    const times = [
      '01T22:59:00',
      '01T23:00:00',
      '01T23:59:00',
      '02T00:00:00',
      '02T01:29:00',
      '02T01:30:00',
      '02T12:00:00',
    ]
    await store.insert(
      'span-1',
      times.map((time, index) => row({ api: 'span-v1', minuteMs: at(time), calls: 10 ** index })),
    )
    const callsOf = async (changes: Partial<ServiceLevelQuery>) =>
      (await store.measure(query({ api: 'span-v1', ...changes }))).reduce((sum, { calls }) => sum + calls, 0)
    const night = { startMs: 23 * HOUR_MS, endMs: 1.5 * HOUR_MS }

    expect(await callsOf({ spans: [night] })).toBe(11_110)
    expect(await callsOf({ spans: [night, { startMs: 12 * HOUR_MS, endMs: 13 * HOUR_MS }] })).toBe(1_011_110)
    expect(await callsOf({ spans: [{ startMs: 0, endMs: 0 }] })).toBe(1_111_111)
    expect(await callsOf({ fromMs: at('01T23:00:00'), toMs: at('02T01:29:00') })).toBe(1_110)
  })

  it('are divided into windows that begin at multiples of their length', async () => {
    const rows = [0, 4, 5, 14, 15].map((minute, index) =>
      row({ api: 'step-v1', minuteMs: NOON_MS + minute * MINUTE_MS, calls: 10 ** index }),
    )
    await store.insert('step-1', rows)
    const found = await store.measure(query({ api: 'step-v1', stepMs: 5 * MINUTE_MS }))

    expect(found.map(({ startMs, calls }) => [(startMs - NOON_MS) / MINUTE_MS, calls])).toEqual([
      [0, 11],
      [5, 100],
      [10, 1_000],
      [15, 10_000],
    ])
  })
})

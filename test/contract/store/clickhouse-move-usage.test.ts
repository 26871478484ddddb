/** Usage moves from an embedded store to a server exactly once, whatever happens to a statement on the way. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { openStore } from '../../../src/storage/recovery/open-store.ts'
import { openClickHouse, type ClickHouse } from '../../../src/storage/store/clickhouse/client.ts'
import { readKeptUsage, writeKeptUsage } from '../../../src/storage/store/clickhouse/kept-usage.ts'
import { migrate } from '../../../src/storage/store/clickhouse/migrations.ts'
import { MOVED_TABLES } from '../../../src/storage/store/clickhouse/moved-tables.ts'
import { moveUsage, type MovedPartition } from '../../../src/storage/store/clickhouse/move-usage.ts'
import { createReaders } from '../../../src/storage/store/clickhouse/readers.ts'
import { createClickHouseRequestStore } from '../../../src/storage/store/clickhouse/request-store.ts'
import { createClickHouseRiskStore } from '../../../src/storage/store/clickhouse/risk-store.ts'
import { createClickHouseServiceLevelStore } from '../../../src/storage/store/clickhouse/service-level-store.ts'
import { keepCorrections } from '../../../src/storage/store/clickhouse/statement-corrections.ts'
import { createClickHouseStatementStore } from '../../../src/storage/store/clickhouse/statement-store.ts'
import { createClickHouseUsageStore } from '../../../src/storage/store/clickhouse/usage-store.ts'
import { CLUSTER, createClickHouseServer, type ClickHouseServer } from '../../fixtures/clickhouse-server.ts'
import { riskEvent } from '../../fixtures/risk-event.ts'
import { createRandom } from '../../random.ts'
import { DAY, NOW, randomItems } from './random-usage.ts'
import { item } from './usage-items.ts'

const MARCH = Date.UTC(2026, 2, 1)
const APRIL = Date.UTC(2026, 3, 1)
const INSTANCE = 'ab12'
const OF_NODE = item({ tenant: 'own', consumer: 'con_1', windowStartMs: NOW - (NOW % 10_000), calls: 7 })

let folder: string
let source: ClickHouse

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'move-usage-'))
  source = openClickHouse({ url: null, folder })
  await migrate(source)
  const usage = createClickHouseUsageStore(source)
  const random = createRandom(7)
  await usage.insert('usage-ab12-1', randomItems(random, 400))
  await usage.insert('of-an-earlier-version', randomItems(random, 100))
  await statementsOf(source).close(APRIL + DAY)
  await usage.insert('usage-ab12-2', randomItems(random, 50))
  await keepCorrections(source, MARCH)
  await createClickHouseServiceLevelStore(source).insert('levels-ab12-1', [LEVEL, { ...LEVEL, operation: 'other' }])
  await createClickHouseRequestStore(source).insert('requests-ab12-1', [REQUEST, { ...REQUEST, requestId: 'req_2' }])
  await createClickHouseRiskStore(source).insert('risk-ab12-1', [riskEvent({ tenant: 'own' })])
  await writeKeptUsage(source, { subject: 'line_items', fromMs: Date.UTC(2020, 0), nowMs: NOW })
})
afterAll(async () => {
  await source.close()
  rmSync(folder, { recursive: true, force: true })
})

function statementsOf(client: ClickHouse) {
  return createClickHouseStatementStore({
    client,
    readers: createReaders([client]),
    usage: createClickHouseUsageStore(client),
  })
}

/** All rows, as text, without the names of those who inserted them. */
async function contentOf(client: ClickHouse): Promise<Record<string, readonly unknown[]>> {
  const content: Record<string, readonly unknown[]> = {}
  for (const { name, digest, partition } of MOVED_TABLES) {
    const totals = digest.map((expression) => `toString(${expression})`).join()
    const query = `SELECT ${partition} AS id, [${totals}] AS totals FROM ${name} GROUP BY id ORDER BY id`
    content[name] = await (await client.query({ query, format: 'JSONEachRow' })).json()
  }
  return { ...content, kept: [await readKeptUsage(client)] }
}

async function billsOf(client: ClickHouse) {
  const usage = createClickHouseUsageStore(client)
  const summary = { tenant: 'own', fromMs: 0, toMs: NOW, groupBy: ['api' as const], limit: 100 }
  const statement = { tenant: 'own', consumer: 'con_1', monthMs: MARCH, nowMs: NOW, excludeApi: 'none' }
  return { summary: await usage.summaries(summary), statement: await statementsOf(client).read(statement) }
}

let server: ClickHouseServer
let target: ClickHouse

async function openServer(cluster: string | null): Promise<void> {
  server = await createClickHouseServer()
  if (cluster !== null) await server.cluster(CLUSTER)
  target = (await openStore({ dataDir: folder, clickhouseUrl: server.url, clickhouseCluster: cluster })).client
}
const move = (): Promise<readonly MovedPartition[]> => moveUsage({ source, target, instance: INSTANCE, nowMs: NOW })
const besides = async (): Promise<number> => {
  const query = `SELECT name FROM system.tables WHERE match(name, '_moved_')`
  return (await (await target.query({ query, format: 'JSONEachRow' })).json()).length
}

describe.each([null, 'tollgate'])('a move of usage to a server (cluster: %s)', (cluster) => {
  beforeEach(async () => {
    await openServer(cluster)
    return async () => {
      await target.close()
      await server.remove()
    }
  })

  it('moves everything once, beside what nodes store there', async () => {
    const before = await contentOf(source)
    expect(Object.values(before).every((rows) => JSON.stringify(rows).length > 2)).toBe(true)
    const moved = await move()
    expect(moved.every(({ isNew }) => isNew)).toBe(true)
    expect(await contentOf(target)).toEqual(before)
    expect(await billsOf(target)).toEqual(await billsOf(source))

    await createClickHouseUsageStore(target).insert('usage-cd34-1', [OF_NODE])
    const withNode = await contentOf(target)
    expect(withNode).not.toEqual(before)
    expect((await move()).filter(({ isNew }) => isNew)).toEqual([])
    expect(await contentOf(target)).toEqual(withNode)
    expect(await besides()).toBe(0)
  })
})

describe('a move of usage that fails', () => {
  beforeAll(async () => {
    await openServer(null)
    return async () => {
      await target.close()
      await server.remove()
    }
  })

  /** In the order in which a move comes to them. */
  const STATEMENTS = [
    ...['INSERT INTO kept_usage', 'REPLACE PARTITION', 'INSERT INTO line_items_moved', 'ATTACH PARTITION'],
    ...['DROP TABLE IF EXISTS service_levels_moved', 'INSERT INTO risk_events'],
  ]

  it('is repeated until all is there once', async () => {
    const before = await contentOf(source)
    for (const statement of STATEMENTS) {
      await server.fault({ kind: 'lost', statement })
      await move().catch(() => {})
      expect(await server.waitingFaults()).toBe(0)
      // No part of a table is there twice, or in part.
      const now = await contentOf(target)
      for (const { name } of MOVED_TABLES) for (const part of now[name]!) expect(before[name]).toContainEqual(part)
    }
    await move()
    expect(await contentOf(target)).toEqual(before)
    expect(await besides()).toBe(0)
  })

  it('stores nothing twice if a statement of a killed run arrives during the next one', async () => {
    await target.command({ query: `ALTER TABLE line_items DELETE WHERE true SETTINGS mutations_sync = 1` })
    const send = target.command.bind(target)
    const late: string[] = []
    let areHeld = true
    const spy = vi.spyOn(target, 'command').mockImplementation(async (params) => {
      if (!params.query.includes('ATTACH PARTITION')) return send(params)
      if (areHeld) {
        late.push(params.query)
        throw new Error('killed')
      }
      for (const query of late.splice(0)) await send({ query }).catch(() => {})
      return send(params)
    })
    onTestFinished(() => spy.mockRestore())
    await expect(move()).rejects.toThrow('killed')
    expect(late.length).toBe(1)
    areHeld = false
    await move()
    expect(late).toEqual([])
    expect(await contentOf(target)).toEqual(await contentOf(source))
  })

  it('replaces a part of a month, and what has changed in the folder since', async () => {
    const query = `ALTER TABLE line_items DELETE WHERE writer = 'moved${INSTANCE}' AND calls > 2 SETTINGS mutations_sync = 1`
    await target.command({ query })
    const again = await move()
    expect(new Set(again.filter(({ isNew }) => isNew).map(({ table }) => table))).toEqual(new Set(['line_items']))
    expect(await contentOf(target)).toEqual(await contentOf(source))
  })

  it('is refused if the server has closed a month with other usage', async () => {
    await target.command({ query: `ALTER TABLE statement_lines DROP PARTITION ID '202603'` })
    await statementsOf(target).close(APRIL + DAY)
    await expect(move()).rejects.toThrow('the server has other rows of statement_lines for 202603')
  })
})

const LEVEL = {
  minuteMs: NOW - (NOW % 60_000),
  tenant: 'own',
  api: 'payments-v1',
  operation: 'createPayment',
  calls: 3,
  unanswered: 0,
  errors: 0,
  successes: 3,
  latencyUs: 3_000,
  latency: new Map([[150, 3]]),
}

const REQUEST = {
  timeMs: NOW,
  tenant: 'own',
  api: 'payments-v1',
  operation: 'createPayment',
  requestId: 'req_1',
  status: 429,
  outcome: 'rate_limited',
  consumer: 'con_1',
  consumerName: 'Tab\tand "quotes"\n\\',
  subscription: 'sub_1',
  agent: '',
  person: '',
  durationUs: 1_000,
  upstreamUs: 0,
  requestBytes: 10,
  responseBytes: 20,
  unitsMicro: 0,
  explanation: '{"stages":[]}',
  channel: 'http' as const,
  revision: 3,
}

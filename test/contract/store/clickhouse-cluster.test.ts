/** Usage on a cluster: what is sent to its replicas, as the engine parses it, and what refuses the start. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { totalsOf } from '../../../src/pipeline/metering/flush-totals.ts'
import { openStore } from '../../../src/storage/recovery/open-store.ts'
import type { PendingFlush } from '../../../src/storage/store/checkpoint.ts'
import { openClickHouse, type ClickHouse } from '../../../src/storage/store/clickhouse/client.ts'
import { toClusterStatement } from '../../../src/storage/store/clickhouse/cluster-statements.ts'
import { definitionStatements, tableNames } from '../../../src/storage/store/clickhouse/definitions.ts'
import { createFlushLog } from '../../../src/storage/store/clickhouse/flush-log.ts'
import { readKeptUsage } from '../../../src/storage/store/clickhouse/kept-usage.ts'
import { ifMissing, SQL_FOLDER, statementsOf } from '../../../src/storage/store/clickhouse/migrations.ts'
import { createClickHouseNameStore } from '../../../src/storage/store/clickhouse/name-store.ts'
import { createReaders } from '../../../src/storage/store/clickhouse/readers.ts'
import { createClickHouseRequestStore } from '../../../src/storage/store/clickhouse/request-store.ts'
import { createRetention } from '../../../src/storage/store/clickhouse/retention.ts'
import { createClickHouseServiceLevelStore } from '../../../src/storage/store/clickhouse/service-level-store.ts'
import { createClickHouseStatementStore } from '../../../src/storage/store/clickhouse/statement-store.ts'
import { createClickHouseUsageStore } from '../../../src/storage/store/clickhouse/usage-store.ts'
import { flushToken } from '../../../src/storage/store/flush-token.ts'
import { CLUSTER, createClickHouseServer, type ClickHouseServer } from '../../fixtures/clickhouse-server.ts'
import { item } from './usage-items.ts'

const MARCH = Date.UTC(2026, 2, 1)
const CLOSED = Date.UTC(2026, 3, 2)
const YEARS_LATER = Date.UTC(2038, 0, 1)
const RETENTION = { lineItems: 31, sums: 3_660, risks: 30, requests: 7 }
const SETTLED = 120_000
const ITEM = item({ tenant: 'acme', windowStartMs: MARCH, calls: 3 })

let server: ClickHouseServer
let client: ClickHouse

beforeAll(async () => {
  server = await createClickHouseServer()
  client = openClickHouse({ url: server.url, folder: '', cluster: 'tollgate' })
})
beforeEach(() => server.cluster(CLUSTER))
afterAll(async () => {
  await client.close()
  await server.remove()
})

const open = (clickhouseCluster: string | null = 'tollgate') =>
  openStore({ dataDir: '/nonexistent', clickhouseUrl: server.url, clickhouseCluster })
const refused = (clickhouseCluster: string | null = 'tollgate') =>
  open(clickhouseCluster).then(
    () => 'opened',
    ({ message }: Error) => message.replace(server.url, 'URL'),
  )

const flush = (number: number): PendingFlush => {
  const at = (offset: number) => ({ 'gateway-0': { segment: 5, offset } })
  return { number, from: at(number * 100 - 100), to: at(number * 100), tokens: 'range' }
}
const usage = () => createClickHouseUsageStore(client)
const flushLog = () =>
  createFlushLog({ client, isEmbedded: false, instance: () => 'a', nowMs: () => MARCH, registryEnd: async () => 0 })

async function sent(work: () => Promise<unknown>): Promise<readonly string[]> {
  const before = (await server.statements()).length
  await work()
  return (await server.statements()).slice(before).map((statement) => statement.trim())
}

describe('the start on a cluster', () => {
  it('is refused with one line if the cluster cannot hold usage', async () => {
    expect(await refused('other')).toBe(
      'CLICKHOUSE_CLUSTER: the server URL knows no cluster other (remote_servers of its configuration)',
    )
    await server.cluster({ ...CLUSTER, shards: 2 })
    expect(await refused()).toBe(
      'CLICKHOUSE_CLUSTER: the cluster tollgate has 2 shards; this version stores usage in one shard with any number of replicas',
    )
    await server.cluster({ ...CLUSTER, macros: ['replica'] })
    expect(await refused()).toMatch(/^CLICKHOUSE_CLUSTER: the server URL has no macro shard/)
    await server.cluster({ ...CLUSTER, hasKeeper: false })
    expect(await refused()).toMatch(/^CLICKHOUSE_CLUSTER: the server URL has no connection to ClickHouse Keeper/)
    await server.cluster({ ...CLUSTER, isSpread: true })
    expect(await refused()).toMatch(/^CLICKHOUSE_CLUSTER: CLICKHOUSE_URL URL is [2-6] servers; name one replica/)
  })

  it('creates replicated tables on all replicas, and nothing the second time', async () => {
    const first = await sent(async () => (await open()).client.close())
    const created = first.filter((statement) => statement.startsWith('CREATE '))
    expect(created).toHaveLength(definitionStatements().length)
    for (const statement of created) expect(statement).toContain(" ON CLUSTER 'tollgate'")
    const again = await sent(async () => (await open()).client.close())
    expect(again.filter((statement) => !/^(?:SELECT|SYSTEM SYNC REPLICA) /.test(statement))).toEqual([])
    for (const table of tableNames()) expect(again).toContain(`SYSTEM SYNC REPLICA ${table} LIGHTWEIGHT`)
  })

  it('is refused without CLICKHOUSE_CLUSTER, which would insert without a quorum', async () => {
    expect(await refused(null)).toMatch(/^CLICKHOUSE_URL URL: the table \w+ is replicated; set CLICKHOUSE_CLUSTER/)
  })
})

describe('the files of the schema', () => {
  it('are statements for a cluster as well, each on all replicas', async () => {
    const folder = join(SQL_FOLDER, 'schema')
    const files = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'))
    const statements = [...files.flatMap(statementsOf), ...definitionStatements()]
    for (const statement of statements) {
      const one = toClusterStatement(ifMissing(statement), 'tollgate')
      const result = await client.query({
        query: 'SELECT formatQuerySingleLine({one:String}) AS text',
        query_params: { one },
        format: 'JSONEachRow',
      })
      const [row] = await result.json<{ text: string }>()
      if (!statement.startsWith('INSERT')) expect(row?.text).toContain('ON CLUSTER tollgate')
      if (!statement.startsWith('CREATE TABLE')) continue
      expect(row?.text).toMatch(
        /ENGINE = Replicated\w+\('\/clickhouse\/tables\/\{shard\}\/\{database\}\/\{table\}', '\{replica\}'/,
      )
      expect(row?.text).not.toContain('non_replicated')
    }
    expect(
      toClusterStatement(
        definitionStatements().find((each) => each.includes('Summing'))!,
        'c',
      ),
    ).toContain(
      "ENGINE = ReplicatedSummingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', (calls, units, amount))",
    )
  })
})

describe('usage on a cluster', () => {
  it('is stored by a quorum, in each table', async () => {
    const token = (table: string): string => flushToken(table, 'a', flush(1))
    const statements = await sent(async () => {
      await flushLog().begin(flush(1), totalsOf({ items: [ITEM], levels: [] }))
      await usage().insert(token('usage'), [ITEM])
      await createClickHouseServiceLevelStore(client).insert(token('levels'), [LEVEL])
      await createClickHouseRequestStore(client).insert(token('requests'), [])
      await flushLog().done(flush(1), totalsOf({ items: [ITEM], levels: [] }))
    })
    const inserts = statements.filter((statement) => statement.startsWith('INSERT'))
    expect(inserts.map((insert) => insert.split(' ')[2])).toEqual([
      'flushes',
      'line_items',
      'service_levels',
      'flushes',
    ])
    for (const insert of inserts) {
      expect(insert).toContain("insert_quorum = 'auto', insert_quorum_parallel = 1")
      expect(insert).toContain('insert_deduplicate = 1, async_insert = 0')
    }
  })

  it('that has no answer counts as stored when a majority of the replicas have it', async () => {
    await flushLog().begin(flush(2), totalsOf({ items: [ITEM], levels: [] }))
    await usage().insert(flushToken('usage', 'a', flush(2)), [ITEM])
    await server.cluster({ ...CLUSTER, stored: 1 })
    await expect(flushLog().held(flush(2), SETTLED)).rejects.toThrow(
      'rows of line_items are on 1 of the 2 replicas that must have them',
    )
    await server.cluster(CLUSTER)
    const statements = await sent(async () =>
      expect((await flushLog().held(flush(2), SETTLED))?.items).toEqual(new Map([['202603', 'there']])),
    )
    expect(statements.slice(0, 2)).toEqual([
      'SYSTEM SYNC REPLICA flushes LIGHTWEIGHT',
      'SYSTEM SYNC REPLICA line_items LIGHTWEIGHT',
    ])
    await flushLog().done(flush(2), totalsOf({ items: [ITEM], levels: [] }))
  })

  it('has statements, corrections and retention, whose partitions reach all replicas', async () => {
    const readers = createReaders([client])
    const statements = createClickHouseStatementStore({ client, readers, usage: usage() })
    const replaced = await sent(() => statements.close(CLOSED))
    expect(replaced).toContainEqual(
      expect.stringMatching(
        /^ALTER TABLE statement_lines REPLACE PARTITION ID '202603' FROM \w+ SETTINGS alter_sync = 2/,
      ),
    )
    expect(replaced).toContainEqual(
      expect.stringMatching(/^CREATE TABLE statement_lines_next_\w+ AS statement_lines ENGINE = MergeTree/),
    )
    const query = { tenant: 'acme', consumer: 'con_1', monthMs: MARCH, nowMs: CLOSED, excludeApi: 'none' }
    expect(await statements.read(query)).toMatchObject({ closedMs: CLOSED, lines: [{ calls: 6 }], corrections: [] })

    await usage().insertWithoutTotals(flushToken('usage', 'a', flush(3)), [ITEM])
    await usage().insertTotals(flushToken('usage-totals', 'a', flush(3)), [ITEM])
    expect(await statements.read(query)).toMatchObject({ lines: [{ calls: 6 }], corrections: [{ calls: 3 }] })

    const retention = createRetention({ client, days: RETENTION, kept: await readKeptUsage(client) })
    await retention.expire(YEARS_LATER)
    expect((await readKeptUsage(client)).lineItemsFromMs).toBe(Date.UTC(2037, 11, 1))
  })

  it('forgets a name on all replicas', async () => {
    await usage().insert(flushToken('usage', 'a', flush(4)), [ITEM])
    expect(await createClickHouseNameStore(client).replaceConsumerName('acme', 'con_1', 'erased')).toBeGreaterThan(0)
  })
})

const LEVEL = {
  minuteMs: MARCH,
  tenant: 'acme',
  api: 'payments-v1',
  operation: 'createPayment',
  calls: 3,
  unanswered: 0,
  errors: 0,
  successes: 3,
  latencyUs: 3_000,
  latency: new Map([[150, 3]]),
}

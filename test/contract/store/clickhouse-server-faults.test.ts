import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { openStore } from '../../../src/storage/recovery/open-store.ts'
import { openClickHouse, type ClickHouse } from '../../../src/storage/store/clickhouse/client.ts'
import { migrate } from '../../../src/storage/store/clickhouse/migrations.ts'
import { createClickHouseUsageStore } from '../../../src/storage/store/clickhouse/usage-store.ts'
import type { UsageStore } from '../../../src/storage/store/usage-store.ts'
import { createClickHouseServer, type ClickHouseServer } from '../../fixtures/clickhouse-server.ts'
import { ALL, item } from './usage-items.ts'

let server: ClickHouseServer
let client: ClickHouse
let usage: UsageStore

beforeAll(async () => {
  server = await createClickHouseServer()
  client = openClickHouse({ url: server.url, folder: '' })
  await migrate(client)
  usage = createClickHouseUsageStore(client)
})
afterEach(async () => expect(await server.waitingFaults()).toBe(0))
afterAll(async () => {
  await client.close()
  await server.remove()
})

const callsOf = async (tenant: string): Promise<number | undefined> =>
  (await usage.summaries({ tenant, ...ALL, groupBy: [], limit: 1 })).rows[0]?.calls

describe('an insert into a ClickHouse server', () => {
  it.each(['unavailable', 'reset', 'read-only'] as const)(
    'that fails before it is executed (%s) stores nothing, and the next one with its token stores the rows',
    async (kind) => {
      const insert = () => usage.insert(`before-${kind}`, [item({ tenant: kind })])
      await server.fault({ kind, statement: 'INSERT INTO line_items' })
      await expect(insert()).rejects.toThrow()
      expect(await callsOf(kind)).toBeUndefined()
      await insert()
      expect(await callsOf(kind)).toBe(1)
    },
  )

  it('whose answer is lost has stored the rows, and the next ones with its token store nothing', async () => {
    const rows = [item({ tenant: 'lost' }), item({ tenant: 'lost', operation: 'other', calls: 2 })]
    for (let time = 0; time < 2; time++) {
      await server.fault({ kind: 'lost', statement: "insert_deduplication_token = 'lost-1'" })
      await expect(usage.insert('lost-1', rows)).rejects.toThrow()
      expect(await callsOf('lost')).toBe(3)
    }
    await usage.insert('lost-1', rows)
    expect(await callsOf('lost')).toBe(3)
    await usage.insert('lost-2', rows)
    expect(await callsOf('lost')).toBe(6)
  })

  it('that the caller gives up while the server is slow can be repeated', async () => {
    await server.fault({ kind: 'slow', ms: 300, statement: "insert_deduplication_token = 'slow-1'" })
    const insert = (signal?: AbortSignal) => usage.insert('slow-1', [item({ tenant: 'slow' })], signal)
    await expect(insert(AbortSignal.timeout(20))).rejects.toThrow()
    await insert()
    await insert()
    expect(await callsOf('slow')).toBe(1)
  })
})

describe('a read of a ClickHouse server', () => {
  it('that fails rejects, and the next one works', async () => {
    await usage.insert('read-1', [item({ tenant: 'read' })])
    for (const kind of ['unavailable', 'reset', 'lost'] as const) {
      await server.fault({ kind, statement: 'SELECT' })
      await expect(callsOf('read')).rejects.toThrow()
    }
    expect(await callsOf('read')).toBe(1)
  })
})

describe('a ClickHouse server that lacks a table', () => {
  it('is refused at the start, before anything reads it', async () => {
    await client.command({ query: 'DROP TABLE kept_usage' })
    const start = openStore({ dataDir: '/nonexistent', clickhouseUrl: server.url })
    await expect(start).rejects.toThrow(/^the store lacks kept_usage; .*recover --accept-loss store/)
  })
})

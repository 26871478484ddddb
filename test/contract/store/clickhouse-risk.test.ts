import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RiskEvent } from '../../../src/foundation/domain/risk.ts'
import { openClickHouse, type ClickHouse } from '../../../src/storage/store/clickhouse/client.ts'
import { migrate } from '../../../src/storage/store/clickhouse/migrations.ts'
import { createClickHouseRiskStore } from '../../../src/storage/store/clickhouse/risk-store.ts'

let folder: string
let client: ClickHouse

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'clickhouse-'))
  client = openClickHouse({ url: process.env['TEST_CLICKHOUSE_URL'] ?? null, folder: join(folder, 'data') })
  await migrate(client)
})
afterAll(async () => {
  await client.close()
  rmSync(folder, { recursive: true, force: true })
})

const event = (tenant: string, id: string, message = 'calm'): RiskEvent => ({
  id,
  riskId: 'rsk_1',
  tenant,
  phase: 'opened',
  type: 'AuthFailure401',
  category: 'Security',
  severity: 'Info',
  attributedTo: { kind: 'consumer', id: 'con_1', name: 'Acme' },
  api: 'payments-v1',
  operation: '',
  count: 1,
  windowSeconds: 60,
  firstSeenMs: Date.now(),
  lastSeenMs: Date.now(),
  message,
  evidence: { total: 1, statuses: {}, reasons: {}, operations: {}, requestIds: [] },
})

describe('risk events in ClickHouse', () => {
  it('are stored once per token, and returned oldest first after an id', async () => {
    const store = createClickHouseRiskStore(client)
    const events = ['evt_3', 'evt_1', 'evt_2'].map((id) => event('once', id, `lone \ud800, "quoted", \0, 🙂`))
    await store.insert('once-1', events)
    await store.insert('once-1', events)

    expect(await store.eventsAfter('once', '', 10)).toEqual([events[1], events[2], events[0]])
    expect((await store.eventsAfter('once', 'evt_1', 1)).map(({ id }) => id)).toEqual(['evt_2'])
    expect(await store.eventsAfter('once', 'evt_3', 10)).toEqual([])
  })

  it('are returned by episode, oldest first', async () => {
    const store = createClickHouseRiskStore(client)
    const time = '01j0000000'
    const of = (id: string, riskId: string, tenant = 'line') => ({
      ...event(tenant, `evt_${time}0000000000000000${id}`.slice(0, 30)),
      riskId,
    })
    const riskId = `rsk_${time}000000000000000z`
    const events = [of('2', riskId), of('1', riskId), of('3', 'rsk_other'), of('4', riskId, 'rival')]
    await store.insert('line-1', events)

    expect((await store.eventsOf('line', riskId, 10)).map(({ id }) => id)).toEqual([events[1]!.id, events[0]!.id])
    expect(await store.eventsOf('line', riskId, 1)).toHaveLength(1)
    expect(await store.eventsOf('line', "x' OR 1 = 1 --", 10)).toEqual([])
  })

  it('are not returned to another tenant', async () => {
    const store = createClickHouseRiskStore(client)
    await store.insert('mine-1', [event('mine', 'evt_1'), event('yours', 'evt_2')])

    expect((await store.eventsAfter('mine', '', 10)).map(({ id }) => id)).toEqual(['evt_1'])
    expect(await store.eventsAfter("mine' OR tenant = 'yours", '', 10)).toEqual([])
  })
})

describe('the schema of ClickHouse', () => {
  it('is applied once, and extended by added files', async () => {
    const schema = join(folder, 'schema')
    mkdirSync(schema)
    writeFileSync(join(schema, '0901_first.sql'), 'CREATE TABLE first (a UInt8) ENGINE = MergeTree ORDER BY a;\n')
    await migrate(client, schema)
    writeFileSync(
      join(schema, '0902_second.sql'),
      '-- says; things\nINSERT INTO first VALUES (1);\nINSERT INTO first VALUES (2);\n',
    )
    await migrate(client, schema)
    await migrate(client, schema)

    const result = await client.query({ query: 'SELECT a FROM first ORDER BY a', format: 'JSONEachRow' })
    expect(await result.json()).toEqual([{ a: 1 }, { a: 2 }])
  })

  it('refuses the start if a file was changed after it was applied', async () => {
    const schema = join(folder, 'schema')
    writeFileSync(join(schema, '0901_first.sql'), 'CREATE TABLE first (a UInt16) ENGINE = MergeTree ORDER BY a;\n')

    await expect(migrate(client, schema)).rejects.toThrow(/0901_first\.sql was changed after it was applied/)
  })
})

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openClickHouse, type ClickHouse } from '../../../src/storage/store/clickhouse/client.ts'
import { migrate } from '../../../src/storage/store/clickhouse/migrations.ts'
import { createClickHouseNameStore } from '../../../src/storage/store/clickhouse/name-store.ts'
import { createClickHouseRequestStore } from '../../../src/storage/store/clickhouse/request-store.ts'
import { createClickHouseRiskStore } from '../../../src/storage/store/clickhouse/risk-store.ts'
import { createClickHouseUsageStore } from '../../../src/storage/store/clickhouse/usage-store.ts'
import { riskEvent } from '../../fixtures/risk-event.ts'
import { ALL, item } from './usage-items.ts'

const NAME = `it's "Acme" \\ ü "name":"x"`
const NOW = Date.now()

let folder: string
let client: ClickHouse

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'clickhouse-'))
  client = openClickHouse({ url: process.env['TEST_CLICKHOUSE_URL'] ?? null, folder })
  await migrate(client)
})
afterAll(async () => {
  await client.close()
  rmSync(folder, { recursive: true, force: true })
})

const rowsOf = async (table: string, tenant: string): Promise<readonly Record<string, unknown>[]> =>
  (
    await client.query({
      query: `SELECT * FROM ${table} WHERE tenant = '${tenant}' ORDER BY ALL`,
      format: 'JSONEachRow',
    })
  ).json<Record<string, unknown>>()

describe('the names of a consumer in ClickHouse', () => {
  it('are replaced in the bill, whose amounts and totals stay, and in no other consumer or tenant', async () => {
    const usage = createClickHouseUsageStore(client)
    const items = Array.from({ length: 200 }, (_, index) =>
      item({
        tenant: 'bill',
        consumer: `con_${index % 2}`,
        consumerName: index % 2 === 1 ? NAME : 'Other',
        windowStartMs: ALL.toMs - index * 86_400_000,
        unitsMicro: BigInt(index) * 333_333n,
      }),
    )
    await usage.insert('bill-1', items)
    await usage.insert('bill-2', [item({ tenant: 'rival', consumerName: NAME })])
    const bill = () => usage.summaries({ tenant: 'bill', ...ALL, groupBy: ['customer'], interval: 'month', limit: 500 })
    const before = await bill()
    const rows = await rowsOf('line_items', 'bill')

    const names = createClickHouseNameStore(client)
    expect(await names.replaceConsumerName('bill', 'con_1', 'con_1')).toBe(100)
    expect(await names.replaceConsumerName('bill', 'con_1', 'con_1')).toBe(0)

    expect(await bill()).toEqual(before)
    const renamed = rows.map((row) => ({ ...row, ...(row['consumer'] === 'con_1' && { consumer_name: 'con_1' }) }))
    expect(await rowsOf('line_items', 'bill')).toEqual(renamed)
    const { rows: foreign } = await usage.lineItems({ tenant: 'rival', ...ALL, limit: 10 })
    expect(foreign).toMatchObject([{ customerName: NAME }])
  })

  it('ignore the rows of an insert that is repeated after the replacement', async () => {
    const usage = createClickHouseUsageStore(client)
    const names = createClickHouseNameStore(client)
    const items = [item({ tenant: 'repeated', consumerName: NAME })]
    await usage.insert('repeated-1', items)
    await names.replaceConsumerName('repeated', 'con_1', 'con_1')
    await usage.insert('repeated-1', items)
    expect(await rowsOf('line_items', 'repeated')).toMatchObject([{ consumer_name: 'con_1' }])
  })

  it('are replaced in the request log', async () => {
    const log = createClickHouseRequestStore(client)
    const call = { ...LOGGED, tenant: 'log', consumerName: NAME }
    await log.insert('log-1', [call, { ...call, requestId: 'b', consumer: 'con_2' }])
    await createClickHouseNameStore(client).replaceConsumerName('log', 'con_1', 'con_1')
    const found = await log.find({ tenant: 'log', fromMs: 0, toMs: NOW + 1, limit: 10 })
    const named = found.map(({ consumer, consumerName }) => [consumer, consumerName]).toSorted()
    expect(named).toEqual([
      ['con_1', 'con_1'],
      ['con_2', NAME],
    ])
  })

  it('are replaced in risk events and their messages', async () => {
    const store = createClickHouseRiskStore(client)
    const attributedTo = { kind: 'consumer', id: 'con_1', name: NAME } as const
    const base = { ...riskEvent(), tenant: 'risky', lastSeenMs: NOW }
    const message = `${NAME} has been quiet at payments-v1 for five minutes.`
    const own = { ...base, id: 'evt_1', attributedTo, message }
    const other = { ...base, id: 'evt_2', attributedTo: { ...attributedTo, id: 'con_12' }, message }
    await store.insert('risky-1', [own, other])
    const names = createClickHouseNameStore(client)
    expect(await names.replaceConsumerName('risky', 'con_1', 'con_1')).toBe(1)
    expect(await names.replaceConsumerName('risky', 'con_1', 'con_1')).toBe(0)
    expect(await store.eventsAfter('risky', '', 10)).toEqual([
      {
        ...own,
        attributedTo: { ...attributedTo, name: 'con_1' },
        message: 'con_1 has been quiet at payments-v1 for five minutes.',
      },
      other,
    ])
  })
})

const LOGGED = {
  timeMs: NOW,
  api: 'payments-v1',
  operation: 'pay',
  requestId: 'a',
  status: 200,
  outcome: 'served',
  consumer: 'con_1',
  subscription: 'sub_1',
  agent: '',
  person: '',
  durationUs: 1,
  upstreamUs: 1,
  requestBytes: 1,
  responseBytes: 1,
  unitsMicro: 1,
  explanation: '',
  channel: 'http',
  revision: 3,
} as const

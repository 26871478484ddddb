/** The service with its store on a ClickHouse server, over HTTP: the bill is exact, whatever happens to single inserts. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createClickHouseServer, type ClickHouseServer, type Fault } from '../fixtures/clickhouse-server.ts'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { createService, enrol, publish, type Enrolled, type Service } from './service.ts'

const WAIT = { timeout: 60_000, interval: 100 }
const CALLS = 60
const LINE_ITEMS = 'INSERT INTO line_items '
const FAULTS: readonly Fault['kind'][] = ['lost', 'reset', 'unavailable', 'read-only', 'lost', 'slow']

let store: ClickHouseServer
let service: Service
let backend: LedgerBackend
let caller: Enrolled

beforeAll(async () => {
  backend = await startLedgerBackend()
  store = await createClickHouseServer()
  service = await createService({ args: ['--empty'], env: { CLICKHOUSE_URL: store.url, REQUEST_LOG: 'all' } })
  await service.start()
  await publish(service, 'ledger-v1', ledgerDocument(), backend.url)
  caller = await enrol(service, 'ledger-v1')
})

afterAll(async () => {
  await service.remove()
  await store.remove()
  await backend.close()
})

async function call(times: number): Promise<void> {
  for (let time = 0; time < times; time++) {
    const { status } = await fetch(`${service.gatewayUrl}/ledger-v1/entries`, {
      headers: { 'x-api-key': caller.apiKey },
    })
    expect(status).toBe(200)
  }
}

async function billed(): Promise<number> {
  const path = '/v1/summaries?api=ledger-v1'
  const { items } = await service.platform.get<{ items: readonly { calls: number }[] }>(path)
  return items.reduce((sum, { calls }) => sum + calls, 0)
}

describe('a service on a ClickHouse server', () => {
  it('bills each call once, although inserts fail before and after they are executed', async () => {
    let calls = 0
    for (const kind of FAULTS) {
      const fault = { kind, statement: LINE_ITEMS, ms: 200 } as Fault
      await store.fault(fault)
      await call(CALLS)
      calls += CALLS
      await expect.poll(billed, WAIT).toBe(calls)
      expect(await store.waitingFaults()).toBe(0)
    }
    await service.stop()
    await service.start()
    expect(await billed()).toBe(calls)
  })

  it('bills each call once over a kill', async () => {
    const before = await billed()
    await store.fault({ kind: 'lost', statement: LINE_ITEMS })
    await call(CALLS)
    await service.kill()
    await service.start()
    await expect.poll(billed, WAIT).toBe(before + CALLS)
    await service.stop()
    await service.start()
    expect(await billed()).toBe(before + CALLS)
  })

  it('has the calls, the line items and the risks', async () => {
    for (let time = 0; time < 3; time++) {
      const headers = { 'x-api-key': `${caller.apiKey}x` }
      expect((await fetch(`${service.gatewayUrl}/ledger-v1/entries`, { headers })).status).toBe(401)
    }
    const count = async (path: string) => (await service.platform.get<{ items: readonly unknown[] }>(path)).items.length
    await expect.poll(() => count('/v1/requests?api=ledger-v1&outcome=served&limit=5'), WAIT).toBe(5)
    await expect.poll(() => count('/v1/requests?api=ledger-v1&outcome=refused'), WAIT).toBeGreaterThanOrEqual(3)
    expect(await count('/v1?api=ledger-v1')).toBeGreaterThan(0)
    await expect.poll(() => count('/v1/risks?api=ledger-v1'), WAIT).toBeGreaterThan(0)
  })
})

/** The service with its store on a replica of a cluster: each statement is one that a cluster takes, and the bill is exact. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CLUSTER, createClickHouseServer, type ClickHouseServer } from '../fixtures/clickhouse-server.ts'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { createService, enrol, publish, type Enrolled, type Service } from './service.ts'

const WAIT = { timeout: 60_000, interval: 100 }
const CALLS = 10

let store: ClickHouseServer
let service: Service
let backend: LedgerBackend
let caller: Enrolled

beforeAll(async () => {
  backend = await startLedgerBackend()
  store = await createClickHouseServer()
  await store.cluster(CLUSTER)
  const env = { CLICKHOUSE_URL: store.url, CLICKHOUSE_CLUSTER: 'tollgate' }
  service = await createService({ args: ['--empty'], env })
  await service.start()
  await publish(service, 'ledger-v1', ledgerDocument(), backend.url)
  caller = await enrol(service, 'ledger-v1')
})

afterAll(async () => {
  await service.remove()
  await store.remove()
  await backend.close()
})

async function call(apiKey: string, status: number): Promise<void> {
  const answer = await fetch(`${service.gatewayUrl}/ledger-v1/entries`, { headers: { 'x-api-key': apiKey } })
  expect(answer.status).toBe(status)
}

async function billed(): Promise<number> {
  const path = '/v1/summaries?api=ledger-v1'
  const { items } = await service.platform.get<{ items: readonly { calls: number }[] }>(path)
  return items.reduce((sum, { calls }) => sum + calls, 0)
}

describe('a service on a replica of a cluster', () => {
  it('bills each call once, over lost answers and a kill', async () => {
    await store.fault({ kind: 'unavailable', statement: 'INSERT INTO line_items ' })
    for (let time = 0; time < CALLS; time++) await call(caller.apiKey, 200)
    await expect.poll(billed, WAIT).toBe(CALLS)
    await store.fault({ kind: 'lost', statement: 'INSERT INTO line_items ' })
    await call(caller.apiKey, 200)
    await service.kill()
    await service.start()
    await expect.poll(billed, WAIT).toBe(CALLS + 1)
  })

  it('sends only statements that replicas take', async () => {
    await call(`${caller.apiKey}x`, 401)
    const path = '/v1/requests?outcome=refused'
    const refused = async () => (await service.platform.get<{ items: readonly unknown[] }>(path)).items.length
    await expect.poll(refused, WAIT).toBeGreaterThan(0)
    // The server refuses others, which leaves an error in the log.
    expect(service.errors()).not.toMatch(/the insert lacks|not on the cluster|not replicated|SYNTAX_ERROR/)
    expect(await store.statements()).toContainEqual(expect.stringMatching(/^SYSTEM SYNC REPLICA line_items /))
  })

  it('waits for a majority of the replicas', async () => {
    const before = await billed()
    await store.cluster({ ...CLUSTER, stored: 1 })
    await store.fault({ kind: 'lost', statement: 'INSERT INTO line_items ' })
    await call(caller.apiKey, 200)
    const log = () => service.errors()
    await expect.poll(log, WAIT).toContain('are on 1 of the 2 replicas that must have them')
    await store.cluster(CLUSTER)
    await call(caller.apiKey, 200)
    await expect.poll(billed, WAIT).toBe(before + 2)
  })
})

/** A truncated definition file of a view of the store removes no call from the bill. */

import { readFileSync, realpathSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { createService, enrol, publish, type Enrolled, type Service, isEmbedded } from './service.ts'

const CALLS = 5

let backend: LedgerBackend
let service: Service
let caller: Enrolled

beforeAll(async () => {
  backend = await startLedgerBackend()
  service = await createService({ args: ['--empty'] })
  await service.start()
  await publish(service, 'ledger-v1', ledgerDocument(), backend.url)
  caller = await enrol(service, 'ledger-v1', { name: 'Ada' })
  await callAndWait(CALLS)
})

afterAll(async () => {
  await service.remove()
  await backend.close()
})

/** Calls, and reads the bill until it has the expected number of calls. */
async function callAndWait(billed: number): Promise<void> {
  for (let number = 0; number < CALLS; number++) {
    const response = await fetch(`${service.gatewayUrl}/ledger-v1/entries`, {
      headers: { 'x-api-key': caller.apiKey },
    })
    expect(response.status).toBe(200)
  }
  await vi.waitUntil(async () => (await bill()) >= billed, { timeout: 60_000, interval: 50 })
  expect(await bill()).toBe(billed)
}

/** Covers whole hours, which are read from the table that the view feeds. */
async function bill(): Promise<number> {
  const path = '/v1/summaries?api=ledger-v1&from=2020-01-01T00:00:00Z&to=2100-01-01T00:00:00Z'
  const { items } = await service.platform.get<{ items: readonly { calls: number }[] }>(path)
  return items.reduce((sum, { calls }) => sum + calls, 0)
}

describe.skipIf(!isEmbedded)('a start with a damaged view of the store (needs a store in the folder)', () => {
  it.each(['\nFROM', '    `tenant`'])(
    'bills the calls of before and of now if its file ends before %j',
    async (end) => {
      const before = await bill()
      await service.kill()
      const file = realpathSync(join(service.dataDir, 'clickhouse/metadata/default/line_items_to_hourly.sql'))
      truncateSync(file, readFileSync(file, 'utf8').indexOf(end))
      await service.start()
      await callAndWait(before + CALLS)
      const metrics = await (await fetch(`${service.baseUrl}/metrics`)).text()
      expect(metrics).toContain('tollgate_events_total{reason="store_view_remade"} 1')
    },
  )
})

/** A removed consumer whose names are erased leaves its bill, and no name, also if the service is killed right after the answer. */

import { request } from 'undici'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { createService, enrol, publish, type Service } from './service.ts'

const NAME = 'Ada Lovelace & Sons'
const EVENTUALLY = { timeout: 30_000 }

let service: Service
let backend: LedgerBackend

beforeAll(async () => {
  backend = await startLedgerBackend()
  service = await createService({ args: ['--empty'], env: { REQUEST_LOG: 'all' } })
  await service.start()
  await publish(service, 'ledger-v1', ledgerDocument(), backend.url)
})

afterAll(async () => {
  await service.remove()
  await backend.close()
})

const RANGE = 'from=2020-01-01T00:00:00Z&to=2100-01-01T00:00:00Z'

it('erases the names of a consumer, and keeps its bill', async () => {
  const { platform, gatewayUrl } = service
  const { consumer, subscription, apiKey } = await enrol(service, 'ledger-v1', { name: NAME })
  for (let n = 0; n < 20; n++) {
    const { body } = await request(`${gatewayUrl}/ledger-v1/entries?n=${n}`, { headers: { 'x-api-key': apiKey } })
    await body.dump()
  }
  const read = async (path: string) => JSON.stringify((await platform.get<{ items: unknown }>(path)).items)
  const summary = `/v1/summaries?${RANGE}&customer=${consumer}&groupBy=customer`
  const bill = async () => {
    const { items } = await platform.get<{ items: { customerName: string }[] }>(summary)
    return JSON.stringify(items.map(({ customerName: _, ...amounts }) => amounts))
  }
  await expect.poll(bill, EVENTUALLY).toContain('"calls":20')
  const before = await bill()
  const lists = [
    summary,
    `/v1?${RANGE}&customer=${consumer}`,
    `/v1/requests?${RANGE}&customer=${consumer}`,
    `/v1/audit?id=${consumer}`,
  ]
  for (const list of lists) await expect.poll(() => read(list), EVENTUALLY).toContain(NAME)

  await platform.post(`/v1/subscriptions/${subscription}/cancel`)
  await platform.delete(`/v1/consumers/${consumer}?erase=true`)
  await service.kill()
  await service.start()

  for (const list of lists) {
    await expect.poll(() => read(list), EVENTUALLY).not.toContain(NAME)
    expect(await read(list)).toContain(consumer)
  }
  expect(await bill()).toBe(before)
})

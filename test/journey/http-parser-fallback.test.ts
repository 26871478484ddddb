/** A service on a Node whose HTTP parser differs: it serves over the fallback, and says so. */

import { request } from 'undici'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { createService, enrol, publish, type Service } from './service.ts'

const PRELOAD = new URL('./other-http-parser.ts', import.meta.url).href
const API = 'ledger-v1'

let service: Service
let ledger: LedgerBackend

beforeAll(async () => {
  ledger = await startLedgerBackend()
  service = await createService({ args: ['--empty'], env: { NODE_OPTIONS: `--import ${PRELOAD}` } })
  await service.start()
})

afterAll(async () => {
  await service.remove()
  await ledger.close()
})

it('serves calls, and /readyz and the log name the limitation', async () => {
  await publish(service, API, ledgerDocument(), ledger.url)
  const { apiKey } = await enrol(service, API)
  for (let call = 0; call < 3; call++) {
    const { statusCode, body } = await request(`${service.gatewayUrl}/${API}/entries`, {
      headers: { 'x-api-key': apiKey },
    })
    expect([statusCode, await body.json()]).toEqual([200, { answer: 'ok', n: '' }])
  }
  const ready = await request(`${service.baseUrl}/readyz`)
  expect(await ready.body.json()).toEqual({ status: 'ready', reason: expect.stringContaining('node:http') })
  expect(service.errors()).toMatch(/"level":"warn".*node:http/)
})

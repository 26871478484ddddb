/**
 * Activation under load: no call fails, and exactly one revision serves each call.
 *
 * `REVISIONS` sets the number of activations and discards (60 in the suite; `npm run revisions` makes
 * it 1,000). Every revision has a separate backend that returns its name.
 */

import { Agent } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { createService, enrol, publish, type Enrolled, type Service, TWO_THREADS } from './service.ts'

const REVISIONS = Number(process.env['REVISIONS'] ?? 40)
const CLIENTS = 8

let service: Service
let backends: readonly LedgerBackend[]
let caller: Enrolled
let proxy: string

beforeAll(async () => {
  backends = await Promise.all(['blue', 'green', 'red'].map((name) => startLedgerBackend(name)))
  service = await createService({ args: ['--empty'], env: TWO_THREADS })
  await service.start()
  proxy = await publish(service, 'ledger-v1', ledgerDocument(), backends[0]!.url)
  caller = await enrol(service, 'ledger-v1')
})

afterAll(async () => {
  await service.remove()
  await Promise.all(backends.map((backend) => backend.close()))
})

describe('revisions under load', () => {
  it(
    `serves ${REVISIONS} activations and discards without a failed call`,
    { timeout: REVISIONS * 1_000 + 60_000 },
    async () => {
      const token = await caller.token()
      const agent = new Agent({ connections: CLIENTS, pipelining: 1 })
      const failed: string[] = []
      let calls = 0
      let isOver = false
      /** Backends that may serve a call that begins now. */
      let allowed: readonly string[] = ['blue']

      async function client(): Promise<void> {
        while (!isOver) {
          const before = allowed
          const { statusCode, body } = await agent.request({
            origin: service.gatewayUrl,
            path: '/ledger-v1/entries',
            method: 'GET',
            headers: { authorization: `Bearer ${token}` },
          })
          const text = await body.text()
          calls++
          const answer = statusCode === 200 ? (JSON.parse(text) as { answer: string }).answer : text
          if (statusCode !== 200 || (!before.includes(answer) && !allowed.includes(answer))) {
            failed.push(`${statusCode} ${answer}, allowed ${before.join()} then ${allowed.join()}`)
          }
        }
      }

      const clients = Promise.all(Array.from({ length: CLIENTS }, client))
      for (let index = 1; index <= REVISIONS; index++) {
        const name = ['green', 'red', 'blue'][index % 3]!
        const backend = backends[['blue', 'green', 'red'].indexOf(name)]!
        const staged = {
          api: 'ledger-v1',
          specification: encode(ledgerDocument(`1.0.${index}`)),
          backend: { url: backend.url },
        }
        await service.platform.post('/v1/proxies', staged)
        if (index % 4 === 0) {
          await service.platform.post(`/v1/proxies/${proxy}/discard`)
        } else {
          const current = allowed[0]!
          allowed = [current, name]
          await service.platform.post(`/v1/proxies/${proxy}/activate`)
          allowed = [name]
        }
      }
      isOver = true
      await clients
      await agent.destroy()

      expect(failed).toEqual([])
      expect(calls).toBeGreaterThan(REVISIONS)
    },
  )

  it('are unchanged after a restart, and the same revision serves', async () => {
    const before = await service.platform.get<Record<string, unknown>>(`/v1/proxies/${proxy}`)
    await service.kill()
    await service.start()

    expect(await service.platform.get(`/v1/proxies/${proxy}`)).toEqual(before)
    const token = await caller.token()
    const answer = await fetch(`${service.gatewayUrl}/ledger-v1/entries`, {
      headers: { authorization: `Bearer ${token}` },
    })
    expect(answer.status).toBe(200)
  })
})

function encode(document: object): string {
  return Buffer.from(JSON.stringify(document)).toString('base64')
}

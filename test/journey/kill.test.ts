/**
 * The bill is exact: `kill -9` at random moments under load loses no call and bills none twice.
 *
 * `KILLS` sets the number of kills (10 in the suite; `npm run kill` makes it 100); `SEED` repeats a run.
 */

import { Agent } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { createService, enrol, publish, type Enrolled, type Service } from './service.ts'

const KILLS = Number(process.env['KILLS'] ?? 10)
const SEED = Number(process.env['SEED'] ?? Date.now() % 1_000_000)
const CLIENTS = 16

let service: Service
let backend: LedgerBackend
let caller: Enrolled

beforeAll(async () => {
  backend = await startLedgerBackend()
  service = await createService({ args: ['--empty'] })
  await service.start()
  await publish(service, 'ledger-v1', ledgerDocument(), backend.url)
  caller = await enrol(service, 'ledger-v1')
})

afterAll(async () => {
  await service.remove()
  await backend.close()
})

describe('kill -9 under load', () => {
  it(
    `keeps every answered call once in the line items, over ${KILLS} kills`,
    { timeout: KILLS * 30_000 + 60_000 },
    async () => {
      const random = mulberry32(SEED)
      const tally = { sent: 0, whole: 0 }
      for (let round = 0; round < KILLS; round++) {
        const calls = 200 + Math.floor(random() * 3_000)
        await loadUntil(tally, calls, () => service.kill())
        await service.start()
        expect(service.errors(), `seed ${SEED}`).not.toContain('Call records')
      }
      await loadUntil(tally, 500, async () => {})

      const billed = await billedWhenSettled(tally.whole)
      expect(billed, `seed ${SEED}`).toBeGreaterThanOrEqual(tally.whole)
      expect(billed, `seed ${SEED}`).toBeLessThanOrEqual(tally.sent)
      expect(await twice(), `seed ${SEED}`).toBe(billed)
    },
  )
})

/** Runs clients until about `calls` responses were received completely, runs `end`, and waits for all clients. */
async function loadUntil(
  tally: { sent: number; whole: number },
  calls: number,
  end: () => Promise<void>,
): Promise<void> {
  const token = await caller.token()
  const agent = new Agent({ connections: CLIENTS, pipelining: 1 })
  const goal = tally.whole + calls
  let isOver = false
  let ended: Promise<void> | null = null

  async function client(): Promise<void> {
    while (!isOver) {
      tally.sent++
      try {
        const { statusCode, body } = await agent.request({
          origin: service.gatewayUrl,
          path: `/ledger-v1/entries?n=${tally.sent}`,
          method: 'GET',
          headers: { authorization: `Bearer ${token}` },
        })
        const text = await body.text()
        if (statusCode !== 200) throw new Error(`${statusCode}: ${text}`)
        tally.whole++
      } catch (cause) {
        if (ended === null) throw cause
        return
      }
      if (tally.whole >= goal && ended === null) {
        ended = end().then(() => {
          isOver = true
        })
      }
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  await ended
  await agent.destroy()
}

const totalOf = async (): Promise<number> => {
  const { items } = await service.platform.get<{ items: readonly { calls: number }[] }>('/v1/summaries?api=ledger-v1')
  return items.reduce((sum, { calls }) => sum + calls, 0)
}

/** Returns the same total from the line items. */
async function twice(): Promise<number> {
  let total = 0
  for (let cursor = ''; ;) {
    const page = await service.platform.get<{ items: readonly { calls: number }[]; next: string | null }>(
      `/v1?api=ledger-v1&limit=500${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
    )
    for (const { calls } of page.items) total += calls
    if (page.next === null) return total
    cursor = page.next
  }
}

/** Waits until every answered call is billed and the bill no longer changes; the pipeline lags by one flush. */
async function billedWhenSettled(whole: number): Promise<number> {
  for (let attempt = 0; attempt < 20_000; attempt++) {
    const billed = await totalOf()
    if (billed >= whole) break
  }
  // A clean stop stores all recorded calls, so the bill is final.
  await service.stop()
  await service.start()
  return totalOf()
}

function mulberry32(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

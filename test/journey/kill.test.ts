/**
 * The bill is exact: `kill -9` at random moments under load loses no call and bills none twice, over HTTP and over MCP.
 *
 * `KILLS` sets the number of kills (6 in the suite; `npm run kill` makes it 100); `SEED` repeats a run.
 */

import { Agent } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createRandom } from '../random.ts'
import { readSeed } from '../random-seed.ts'
import { useDisk } from '../fixtures/use-disk.ts'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { createService, enrol, publish, type Enrolled, type Service, TWO_THREADS } from './service.ts'

useDisk()

const KILLS = Number(process.env['KILLS'] ?? 6)
const SEED = readSeed(1)
const CLIENTS_PER_CHANNEL = 8
/** A kill comes before the first flush, or some flushes later. */
const CALLS_MIN = 200
const CALLS_RANGE = 1_000

type Channel = 'http' | 'mcp'

interface Tally {
  sent: number
  /** Calls that were answered with success, to the last byte. */
  whole: number
}

type Tallies = Readonly<Record<Channel, Tally>>

let service: Service
let backend: LedgerBackend
let caller: Enrolled

beforeAll(async () => {
  backend = await startLedgerBackend()
  service = await createService({ args: ['--empty'], env: TWO_THREADS })
  await service.start()
  await publish(service, 'ledger-v1', ledgerDocument(), backend.url)
  await service.platform.put('/v1/apis/ledger-v1/policy', { mcp: true })
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
      const random = createRandom(SEED)
      const tallies: Tallies = { http: { sent: 0, whole: 0 }, mcp: { sent: 0, whole: 0 } }
      for (let round = 0; round < KILLS; round++) {
        const calls = CALLS_MIN + random.below(CALLS_RANGE)
        await loadUntil(tallies, calls, () => service.kill())
        await service.start()
        expect(service.errors(), `seed ${SEED}`).not.toContain('Call records')
      }
      await loadUntil(tallies, 500, async () => {})

      const total = await billedWhenSettled(tallies.http.whole + tallies.mcp.whole)
      const billed = await callsByChannel()
      expect(billed.http + billed.mcp, `seed ${SEED}`).toBe(total)
      for (const channel of ['http', 'mcp'] as const) {
        const { sent, whole } = tallies[channel]
        const received = receivedBy(channel)
        expect(whole, `seed ${SEED}, ${channel}`).toBeGreaterThan(0)
        expect(billed[channel], `seed ${SEED}, ${channel}`).toBeGreaterThanOrEqual(whole)
        // A call that the gateway could not answer before the kill may have been sent to the backend.
        expect(billed[channel], `seed ${SEED}, ${channel}`).toBeLessThanOrEqual(received.length)
        expect(received.length, `seed ${SEED}, ${channel}`).toBeLessThanOrEqual(sent)
        expect(
          received.filter(([, times]) => times !== 1),
          `seed ${SEED}, ${channel}`,
        ).toEqual([])
      }
    },
  )
})

/** Runs clients of both channels until about `calls` responses were received completely, runs `end`, and waits for all clients. */
async function loadUntil(tallies: Tallies, calls: number, end: () => Promise<void>): Promise<void> {
  const token = await caller.token()
  const agent = new Agent({ connections: 2 * CLIENTS_PER_CHANNEL, pipelining: 1 })
  const total = (): number => tallies.http.whole + tallies.mcp.whole
  const goal = total() + calls
  let isOver = false
  let ended: Promise<void> | null = null

  async function client(channel: Channel): Promise<void> {
    const tally = tallies[channel]
    while (!isOver) {
      const n = `${channel}-${tally.sent++}`
      try {
        await (channel === 'http' ? callOperation(agent, token, n) : callTool(agent, token, n))
        tally.whole++
      } catch (cause) {
        if (ended === null) throw cause
        return
      }
      if (total() >= goal && ended === null) {
        ended = end().then(() => {
          isOver = true
        })
      }
    }
  }
  const channels = Array.from({ length: CLIENTS_PER_CHANNEL }, () => ['http', 'mcp'] as const).flat()
  await Promise.all(channels.map(client))
  await ended
  await agent.destroy()
}

async function callOperation(agent: Agent, token: string, n: string): Promise<void> {
  const { statusCode, body } = await agent.request({
    origin: service.gatewayUrl,
    path: `/ledger-v1/entries?n=${n}`,
    method: 'GET',
    headers: { authorization: `Bearer ${token}` },
  })
  const text = await body.text()
  if (statusCode !== 200) throw new Error(`${statusCode}: ${text}`)
}

async function callTool(agent: Agent, token: string, n: string): Promise<void> {
  const params = { name: 'listEntries', arguments: { n } }
  const { statusCode, body } = await agent.request({
    origin: service.gatewayUrl,
    path: '/ledger-v1/mcp',
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: n, method: 'tools/call', params }),
  })
  const text = await body.text()
  const { id, result } = JSON.parse(text) as { id: string; result?: { isError: boolean } }
  if (statusCode !== 200 || id !== n || result?.isError !== false) throw new Error(`${statusCode}: ${text}`)
}

/** The calls of a channel that the backend has received, and how often it received each. */
function receivedBy(channel: Channel): (readonly [string, number])[] {
  return [...backend.seen].filter(([n]) => n.startsWith(`${channel}-`))
}

const totalOf = async (): Promise<number> => {
  const { items } = await service.platform.get<{ items: readonly { calls: number }[] }>('/v1/summaries?api=ledger-v1')
  return items.reduce((sum, { calls }) => sum + calls, 0)
}

/** Returns the calls of the line items. */
async function callsByChannel(): Promise<Record<Channel, number>> {
  const total = { http: 0, mcp: 0 }
  for (let cursor = ''; ;) {
    const page = await service.platform.get<{
      items: readonly { calls: number; channel: Channel }[]
      next: string | null
    }>(`/v1?api=ledger-v1&limit=500${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`)
    for (const { calls, channel } of page.items) total[channel] += calls
    if (page.next === null) return total
    cursor = page.next
  }
}

/** Waits until every answered call is billed and the bill no longer changes; the pipeline lags by one flush. */
async function billedWhenSettled(whole: number): Promise<number> {
  await expect.poll(totalOf, { timeout: 120_000, interval: 100 }).toBeGreaterThanOrEqual(whole)
  // A clean stop stores all recorded calls, so the bill is final.
  await service.stop()
  await service.start()
  return totalOf()
}

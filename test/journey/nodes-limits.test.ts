/** Limits of several nodes: never one call more than declared, whichever node it reaches. */

// @module-tag postgres
// @module-tag redis-server

import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { declareLimit, HOUR, LimitedCaller, nodeOf, publishAs, windowsSince } from './limited-calls.ts'
import { startSeveralNodes, type SeveralNodes } from './several-nodes.ts'
import { TWO_THREADS } from './service.ts'

const MINUTE = 60_000
const HELD_API = 'held-v1'
let several: SeveralNodes
let backend: LedgerBackend
let holding: Server
/** Calls that the backend has received and not answered. */
let held: ServerResponse[] = []

beforeAll(async () => {
  backend = await startLedgerBackend('first')
  holding = createServer((_, response) => void held.push(response))
  await new Promise<void>((resolve) => holding.listen(0, '127.0.0.1', resolve))
  several = await startSeveralNodes(['a', 'b', 'c'], TWO_THREADS)
  await publishAs(nodeOf(several, 0), 'Ledger', backend.url)
  const heldUrl = `http://127.0.0.1:${(holding.address() as AddressInfo).port}`
  await publishAs(nodeOf(several, 0), 'Held', heldUrl)
}, 2 * MINUTE)

afterAll(async () => {
  await several.remove()
  await backend.close()
  holding.closeAllConnections()
  holding.close()
})

const declare = (limit: object, api?: string) => declareLimit(nodeOf(several, 0), limit, api)
/**
 * The last calls of a budget may be leased to a node that does not need them, which returns them within two seconds; so may those of
 * a reply that a busy machine delivered too late.
 */
const untilAdmitted = async (caller: LimitedCaller, number: number) => {
  const admitted = async () => (await caller.burst(several.nodes, 1), caller.admitted)
  await expect.poll(admitted, { timeout: 20_000, interval: 100 }).toBeGreaterThanOrEqual(number)
}
const newCaller = (name: string) => LimitedCaller.enrol(nodeOf(several, 0), name)

describe('three nodes', () => {
  it('admit a total per hour together', async () => {
    await declare({ totals: { hour: 100 } })
    const caller = await newCaller('Hourly')
    const fromMs = Date.now()
    expect(await caller.burst(several.nodes, 100)).toEqual([200, 429])
    await untilAdmitted(caller, 100)
    expect(caller.admitted).toBeLessThanOrEqual(100 * windowsSince(fromMs, HOUR))
  })

  it('admit a rate together', async () => {
    await declare({ rate: { value: 60, duration: 'minute' } })
    const caller = await newCaller('Steady')
    const fromMs = Date.now()
    expect(await caller.burst(several.nodes, 60)).toEqual([200, 429])
    await untilAdmitted(caller, 60)
    const leaked = Math.ceil((Date.now() - fromMs) / 1_000)
    expect(caller.admitted).toBeLessThanOrEqual(60 + leaked)
  })

  it('use up a total that a flood at one of them meets, and answer nothing but 200 and 429', async () => {
    await declare({ totals: { hour: 500 } })
    const caller = await newCaller('Flood')
    const fromMs = Date.now()
    // Each node has a lease, so that the shares of the first one become small.
    expect(await caller.burst(several.nodes, 1)).toEqual([200])
    for (let burst = 0; burst < 4; burst++) await caller.burst([nodeOf(several, 0)], 250)
    await untilAdmitted(caller, 500)
    expect(Object.keys(caller.counts)).toEqual(['200', '429'])
    expect(caller.admitted).toBeLessThanOrEqual(500 * windowsSince(fromMs, HOUR))
  })

  it('run no more calls at once than declared, and as many again after these', async () => {
    const slots = 6
    await declare({ concurrent: slots }, HELD_API)
    const caller = await LimitedCaller.enrol(nodeOf(several, 0), 'Slots', HELD_API, `/${HELD_API}/entries?n=1`)
    for (let round = 0; round < 2; round++) {
      const refusedBefore = caller.counts[429] ?? 0
      const calls = several.nodes.map((node) => caller.burst([node], 10))
      const refused = () => (caller.counts[429] ?? 0) - refusedBefore
      await expect.poll(() => held.length + refused(), { timeout: 10_000 }).toBe(30)
      expect(held.length).toBeLessThanOrEqual(slots)
      // In the second round a node may still hold a slot that it does not need.
      expect(held.length).toBeGreaterThanOrEqual(round === 0 ? slots : 1)
      for (const response of held.splice(0)) response.end('{}')
      await Promise.all(calls)
    }
    expect(Object.keys(caller.counts)).toEqual(['200', '429'])
  })

  it('admit nothing above a lower number once its command has answered', async () => {
    await declare({ totals: { hour: 100_000 } })
    const caller = await newCaller('Lowered')
    const hourMs = Math.floor(Date.now() / HOUR)
    let isOver = false
    let answeredMs = Infinity
    let admittedAfter = 0
    const callOn = async (turn: number): Promise<void> => {
      while (!isOver) {
        const sentMs = performance.now()
        if ((await caller.call(nodeOf(several, turn))) === 200 && sentMs > answeredMs) admittedAfter++
      }
    }
    const load = Array.from({ length: 30 }, (_, turn) => callOn(turn))
    await expect.poll(() => caller.admitted, { timeout: 20_000 }).toBeGreaterThan(300)
    await declare({ totals: { hour: 200 } })
    answeredMs = performance.now()
    const refused = (): number => caller.counts[429] ?? 0
    const before = refused()
    await expect.poll(refused, { timeout: 20_000 }).toBeGreaterThan(before + 300)
    isOver = true
    await Promise.all(load)
    if (Math.floor(Date.now() / HOUR) === hourMs) expect(admittedAfter).toBe(0)
    else expect(admittedAfter).toBeLessThanOrEqual(200)
    expect(Object.keys(caller.counts)).toEqual(['200', '429'])
    await declare({ totals: { hour: 100_000 } })
    await expect.poll(() => caller.call(nodeOf(several, 1))).toBe(200)
  })
})

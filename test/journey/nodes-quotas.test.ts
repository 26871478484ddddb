/** Quotas and totals of a day or longer over several nodes: granted by PostgreSQL in slices, and never exceeded. */

import { afterAll, beforeAll, expect, it } from 'vitest'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { enrol, publish, type Service } from './service.ts'
import { callOne, startSeveralNodes, type SeveralNodes } from './several-nodes.ts'

const PATH = '/ledger-v1/entries?n=1'
const MINUTE = 60_000
const WAIT = { timeout: MINUTE, interval: 100 }
let several: SeveralNodes
let backend: LedgerBackend

beforeAll(async () => {
  backend = await startLedgerBackend()
  several = await startSeveralNodes(['a', 'b', 'c'])
  await publish(node(0), 'ledger-v1', ledgerDocument(), backend.url)
}, 2 * MINUTE)

afterAll(async () => {
  await several.remove()
  await backend.close()
})

function node(turn: number): Service {
  return several.nodes[turn % several.nodes.length]!
}

async function declare(parts: object): Promise<void> {
  const declaration = { opensla: '1.0.0', info: { title: 'Limits', version: '1.0.0' }, ...parts }
  const specification = Buffer.from(JSON.stringify(declaration)).toString('base64')
  await node(0).platform.post('/v1/openslaspecs', { api: 'ledger-v1', specification })
}

/** Calls all nodes in turn, `each` times, and returns how often each status came. */
async function callInTurn(apiKey: string, each: number): Promise<Readonly<Record<number, number>>> {
  const counts: Record<number, number> = {}
  for (let round = 0; round < each; round++)
    for (const at of several.nodes) {
      const status = await callOne(at, PATH, apiKey)
      counts[status] = (counts[status] ?? 0) + 1
    }
  return counts
}

/** Calls on until `served` calls were served: what one node does not need returns to the others within two seconds. */
async function callUntil(served: number, apiKey: string, counts: Readonly<Record<number, number>>): Promise<void> {
  let sum = counts[200] ?? 0
  await expect.poll(async () => (sum += (await callInTurn(apiKey, 1))[200] ?? 0), WAIT).toBe(served)
}

it('serves exactly the units of a quota, whichever node a call reaches', { timeout: 2 * MINUTE }, async () => {
  await declare({ quotas: { period: 'Annual', resourceUnits: 100 }, resourceUnits: { default: 2 } })
  const { apiKey } = await enrol(node(0), 'ledger-v1', { name: 'Yearly' })
  const counts = await callInTurn(apiKey, 30)
  expect(Object.keys(counts)).toEqual(['200', '402'])
  await callUntil(50, apiKey, counts)
  expect(await callInTurn(apiKey, 10)).toEqual({ 402: 30 })
})

it('serves exactly the calls of a month', { timeout: 2 * MINUTE }, async () => {
  await declare({ limits: [{ name: 'all', totals: { month: 40 } }] })
  const { apiKey } = await enrol(node(0), 'ledger-v1', { name: 'Monthly' })
  const counts = await callInTurn(apiKey, 20)
  expect(Object.keys(counts)).toEqual(['200', '429'])
  await callUntil(40, apiKey, counts)
  expect(await callInTurn(apiKey, 10)).toEqual({ 429: 30 })
})

it('serves a caller that was active before while PostgreSQL is away', { timeout: 2 * MINUTE }, async () => {
  await declare({ limits: [{ name: 'all', totals: { month: 100_000 } }] })
  const { apiKey } = await enrol(node(0), 'ledger-v1', { name: 'Steady' })
  expect(await callInTurn(apiKey, 20)).toEqual({ 200: 60 })
  await several.postgres.stop()
  expect(await callInTurn(apiKey, 20)).toEqual({ 200: 60 })
  await several.postgres.start()
})

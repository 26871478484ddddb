/** Limits of several nodes: never one call more than declared, whichever node it reaches and whatever happens to Redis. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { enrol, publish, type Service } from './service.ts'
import { callOne, startSeveralNodes, type SeveralNodes } from './several-nodes.ts'

const PATH = '/ledger-v1/entries?n=1'
const MINUTE = 60_000
const HOUR = 60 * MINUTE
let several: SeveralNodes
let backend: LedgerBackend

beforeAll(async () => {
  backend = await startLedgerBackend('first')
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

/** Declares one limit for all operations; the command answers when all nodes follow it. */
async function declare(limit: object): Promise<void> {
  const declaration = {
    opensla: '1.0.0',
    info: { title: 'Limits', version: '1.0.0' },
    limits: [{ name: 'all', ...limit }],
  }
  const specification = Buffer.from(JSON.stringify(declaration)).toString('base64')
  await node(0).platform.post('/v1/openslaspecs', { api: 'ledger-v1', specification })
}

async function newCaller(name: string): Promise<string> {
  return (await enrol(node(0), 'ledger-v1', { name })).apiKey
}

/** Calls all nodes at the same time, each of them `each` times, and returns how often each status came. */
async function burst(apiKey: string, each: number): Promise<Readonly<Record<number, number>>> {
  const calls = several.nodes.flatMap((at) => Array.from({ length: each }, () => callOne(at, PATH, apiKey)))
  const counts: Record<number, number> = {}
  for (const status of await Promise.all(calls)) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

/** Number of windows of `lengthMs` that the time since `fromMs` touches. */
function windowsSince(fromMs: number, lengthMs: number): number {
  return Math.floor(Date.now() / lengthMs) - Math.floor(fromMs / lengthMs) + 1
}

describe('three nodes', () => {
  it('admit a total per hour together', { timeout: MINUTE }, async () => {
    await declare({ totals: { hour: 100 } })
    const apiKey = await newCaller('Hourly')
    const fromMs = Date.now()
    const counts = await burst(apiKey, 100)
    expect(Object.keys(counts)).toEqual(['200', '429'])
    expect(counts[200]).toBeGreaterThanOrEqual(100)
    expect(counts[200]).toBeLessThanOrEqual(100 * windowsSince(fromMs, HOUR))
  })

  it('admit a rate together', { timeout: MINUTE }, async () => {
    await declare({ rate: { value: 60, duration: 'minute' } })
    const apiKey = await newCaller('Steady')
    const fromMs = Date.now()
    const counts = await burst(apiKey, 60)
    const leaked = Math.ceil((Date.now() - fromMs) / 1_000)
    expect(Object.keys(counts)).toEqual(['200', '429'])
    expect(counts[200]).toBeGreaterThanOrEqual(60)
    expect(counts[200]).toBeLessThanOrEqual(60 + leaked)
  })
})

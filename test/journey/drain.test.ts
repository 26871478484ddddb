/** A node that does not return: its calls are billed once, by whoever has its data folder. */

// @module-tag postgres
// @module-tag redis-server

import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { enrol, publish, type Service, TWO_THREADS } from './service.ts'
import { callOne, startSeveralNodes, type SeveralNodes } from './several-nodes.ts'
import { tollgate, type Ended } from './tollgate.ts'

const PATH = '/ledger-v1/entries?n=1'
const MINUTE = 60_000
const WAIT = { timeout: MINUTE, interval: 100 }
const CALLS = 30

let several: SeveralNodes
let backend: LedgerBackend
let apiKey = ''
let calls = 0
const copies = mkdtempSync(join(tmpdir(), 'drain-'))

beforeAll(async () => {
  backend = await startLedgerBackend()
  several = await startSeveralNodes(['a', 'b'], TWO_THREADS)
  await publish(dead(), 'ledger-v1', ledgerDocument(), backend.url)
  apiKey = (await enrol(dead(), 'ledger-v1')).apiKey
}, 2 * MINUTE)

afterAll(async () => {
  await several.remove()
  await backend.close()
  rmSync(copies, { recursive: true, force: true })
})

const dead = (): Service => several.nodes[0]!
const other = (): Service => several.nodes[1]!

async function callDead(): Promise<void> {
  for (let call = 0; call < CALLS; call++) expect(await callOne(dead(), PATH, apiKey)).toBe(200)
  calls += CALLS
}

async function billed(): Promise<number> {
  const { items } = await other().platform.get<{ items: readonly { calls: number }[] }>('/v1/summaries?api=ledger-v1')
  return items.reduce((sum, { calls: each }) => sum + each, 0)
}

async function namesOfNodes(): Promise<readonly string[]> {
  const { items } = await other().platform.get<{ items: readonly { name: string; isLive: boolean }[] }>('/v1/nodes')
  return items.map(({ name, isLive }) => `${name} ${isLive ? 'live' : 'silent'}`)
}

function copyOf(folder: string, name: string): string {
  const copy = join(copies, name)
  cpSync(folder, copy, { recursive: true })
  rmSync(join(copy, 'lock'), { force: true })
  return copy
}

const drain = (folder: string, more: Readonly<Record<string, string>> = {}): Promise<Ended> =>
  tollgate(['drain', '--data-dir', folder], { ...several.settings, ...more })

describe('tollgate drain', () => {
  it('is refused while the node lives, on its folder and on a copy of it', async () => {
    await callDead()
    await expect.poll(billed, WAIT).toBe(calls)
    expect(await drain(dead().dataDir)).toMatchObject({ code: 2, err: expect.stringContaining('in use by another') })
    const early = copyOf(dead().dataDir, 'early')
    expect(await drain(early)).toMatchObject({ code: 2, err: expect.stringContaining('the node a lives') })
    expect(await drain(copies)).toMatchObject({ code: 2, err: expect.stringContaining('it has no node.id') })
    expect(await billed()).toBe(calls)
  })

  it('stores the calls of a killed node once, and takes it from the list', { timeout: 3 * MINUTE }, async () => {
    // The server stores a flush after the node is dead, and nobody reads the answer.
    await several.clickHouse.fault({ kind: 'slow', ms: 4_000, statement: 'INSERT INTO line_items' })
    await callDead()
    await dead().kill()
    await expect.poll(namesOfNodes, WAIT).toEqual(['a silent', 'b live'])

    const moved = copyOf(dead().dataDir, 'moved')
    await several.clickHouse.fault({ kind: 'lost', statement: 'INSERT INTO service_levels' })
    const { code, out } = await drain(moved)
    expect({ code, out }).toMatchObject({ code: 0, out: expect.stringContaining('The node a is not in the list') })
    expect(out).toMatch(/^Completed flush|Stored \d+ calls/)
    expect(await billed()).toBe(calls)
    expect(await namesOfNodes()).toEqual(['b live'])
  })

  it('stores nothing the second time, from the original and from an older copy', { timeout: 3 * MINUTE }, async () => {
    for (const folder of [join(copies, 'moved'), dead().dataDir, join(copies, 'early')]) {
      expect(await drain(folder)).toMatchObject({ code: 0 })
      expect(await billed()).toBe(calls)
      expect(await namesOfNodes()).toEqual(['b live'])
    }
  })

  it('does not hinder the node if it returns', async () => {
    await dead().start()
    await callDead()
    await expect.poll(billed, WAIT).toBe(calls)
    expect(await namesOfNodes()).toEqual(['a live', 'b live'])
  })
})

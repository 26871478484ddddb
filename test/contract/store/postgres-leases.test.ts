// @module-tag postgres

import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import type { TotalDeclaration } from '../../../src/boundary/leases/lease-declaration.ts'
import type { LeaseRequest } from '../../../src/boundary/leases/lease-messages.ts'
import { systemClock } from '../../../src/foundation/runtime/clock.ts'
import { RegistryUnreachable, toClientConfig } from '../../../src/storage/store/postgres/connection.ts'
import { createPostgresLeases, type PostgresLeases } from '../../../src/storage/store/postgres/leases.ts'
import { migrateSchema } from '../../../src/storage/store/postgres/migrate-schema.ts'
import { openBehindProxy } from '../../fixtures/faulty-proxy.ts'
import { createPostgresServer, type PostgresServer } from '../../fixtures/postgres-server.ts'
import { claimOf, openSliceNode, type SliceTestNode } from '../../fixtures/slice-nodes.ts'
import { executeSql } from '../../fixtures/test-postgres.ts'

const UNIT = 1_000_000
const UNITS = 60
/** A window that does not end during a test. */
const WINDOW = { startMs: 0, endMs: 4_000_000_000_000 }
const QUOTA: TotalDeclaration = { kind: 'total', version: 1, value: UNITS * UNIT, windowAt: () => WINDOW }
const TABLES = ['slice_generation', 'slice_node', 'slice_counter'] as const

let server: PostgresServer
let url: string

beforeAll(async () => {
  server = await createPostgresServer()
})

afterAll(() => server.remove())

beforeEach(async () => {
  url = await server.createDatabase()
  const client = new pg.Client(toClientConfig({ url, nodeName: 'test' }))
  await client.connect()
  await migrateSchema(client)
  await client.end()
})

async function openNode(name: string, options: Partial<Parameters<typeof openSliceNode>[0]> = {}) {
  await executeSql(url, `DELETE FROM node WHERE name = '${name}'`)
  await executeSql(url, `INSERT INTO node VALUES ('${name}', '${name}', '', 1, gen_random_uuid(), 0, now(), now())`)
  const node = openSliceNode({ url, name, declaration: QUOTA, ...options })
  let closing: Promise<void> | null = null
  const once = (end: () => Promise<void>) => () => (closing ??= end())
  const opened: SliceTestNode = {
    ...node,
    get open() {
      return node.open
    },
    close: once(node.close),
    kill: once(node.kill),
  }
  onTestFinished(opened.kill)
  return opened
}

const openNodes = (count: number): Promise<readonly SliceTestNode[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => openNode(`node-${index}`)))

const isServing = (nodes: readonly SliceTestNode[]): Promise<void> =>
  vi.waitFor(() => expect(nodes.every(({ node }) => node.isServing)).toBe(true), { timeout: 20_000, interval: 20 })

/** Calls on the nodes in turn, and returns the units that were admitted. */
async function call(nodes: readonly SliceTestNode[], calls: number, cost = UNIT): Promise<number> {
  let admitted = 0
  for (let index = 0; index < calls; index++) if (await nodes[index % nodes.length]!.call(cost)) admitted += cost
  return admitted
}

/** Calls until `before` and what is admitted now make up the quota. Then calls on, and returns the sum. */
async function callUpToQuota(nodes: readonly SliceTestNode[], before = 0): Promise<number> {
  let admitted = before
  await vi.waitFor(
    async () => {
      admitted += await call(nodes, 6)
      expect(admitted).toBeGreaterThanOrEqual(QUOTA.value)
    },
    { timeout: 40_000, interval: 20 },
  )
  for (const node of nodes) await node.driver.refill('quota', UNIT)
  return admitted + (await call(nodes, 100))
}

function openLeases(to: string, max = 1): { leases: PostgresLeases; pool: pg.Pool } {
  const pool = new pg.Pool({ ...toClientConfig({ url: to, nodeName: 'a' }), max })
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  onTestFinished(() => pool.end())
  return { pool, leases: createPostgresLeases({ pool, nodeName: 'a', clock: systemClock }) }
}

const ITEM = {
  key: 'k',
  budget: { kind: 'total', version: 1, value: 10, ...WINDOW },
  held: 0,
  used: 0,
  want: 3,
} as const

function toRequest(overrides: Partial<LeaseRequest> = {}): LeaseRequest {
  const bounds = { notBeforeMs: 0, notAfterMs: 8_000_000_000_000 }
  const first = { node: 'a', session: 1, sequence: 1, epoch: 1, isSynced: true, items: [ITEM] }
  return { type: 'request', ...first, ...bounds, ...overrides }
}

async function openGeneration(leases: PostgresLeases): Promise<void> {
  const hello = await leases.send({ type: 'hello' })
  const opened = await leases.openEpoch(0)
  const runId = hello.type === 'generation' ? hello.runId : ''
  await leases.send({ type: 'open', ...opened, runId, notAfterMs: 8_000_000_000_000 })
}

const save = async (): Promise<void> => {
  for (const table of TABLES) await executeSql(url, `CREATE TABLE saved_${table} AS TABLE ${table}`)
}

const restore = async (): Promise<void> => {
  const copies = TABLES.map((table) => `DELETE FROM ${table}; INSERT INTO ${table} SELECT * FROM saved_${table}`)
  await executeSql(url, `BEGIN; ${copies.join('; ')}; COMMIT`)
}

describe('Slices from PostgreSQL', { timeout: 60_000 }, () => {
  it('admit exactly the declared units over three nodes', async () => {
    const nodes = await openNodes(3)
    await isServing(nodes)
    expect(await callUpToQuota(nodes)).toBe(QUOTA.value)
  })

  it('admit what calls gave back, on any node', async () => {
    const nodes = await openNodes(2)
    await isServing(nodes)
    const admitted = await callUpToQuota(nodes)
    nodes[0]!.giveBack(3 * UNIT)
    expect(await callUpToQuota(nodes.slice(1), admitted - 3 * UNIT)).toBe(QUOTA.value)
  })

  it('admit less on every node once calls of one have used more than they cost', async () => {
    const nodes = await openNodes(2)
    await isServing(nodes)
    expect(await call([nodes[0]!], 1)).toBe(UNIT)
    nodes[0]!.overdraw(40 * UNIT)
    await vi.waitFor(() => expect(nodes[0]!.journal.at(-1)!.claim).toBeGreaterThanOrEqual(41 * UNIT))
    await nodes[0]!.driver.refill('quota', UNIT)
    expect(await callUpToQuota(nodes, 41 * UNIT)).toBe(QUOTA.value)
  })

  it('admit no unit beyond a quota that was lowered, also if calls give back', async () => {
    const [node] = await openNodes(1)
    await isServing([node!])
    expect(await call([node!], 20)).toBe(20 * UNIT)
    node!.redeclare({ ...QUOTA, version: 2, value: 10 * UNIT })
    node!.giveBack(5 * UNIT)
    expect(await call([node!], 20)).toBe(0)
  })

  it('grant nothing twice if the connection was lost after COMMIT was sent', async () => {
    const { proxy, url: proxied } = await openBehindProxy(url)
    const { leases } = openLeases(proxied)
    await openGeneration(leases)
    proxy.judge((direction, data) => (direction === 'up' && data.includes('COMMIT\0') ? 'cut-after' : 'pass'))
    await expect(leases.send(toRequest())).rejects.toThrow(RegistryUnreachable)
    proxy.judge(null)
    const after = await leases.send(toRequest({ node: 'b', items: [{ ...ITEM, want: 10 }] }))
    const again = await leases.send(toRequest({ sequence: 2 }))
    const free = await leases.send(toRequest({ node: 'b', sequence: 2, items: [{ ...ITEM, held: 4, want: 0 }] }))
    expect(after).toMatchObject({ type: 'granted', grants: [{ granted: 1 }] })
    expect(again).toMatchObject({ type: 'granted', grants: [{ granted: 2 }] })
    expect(free).toMatchObject({ type: 'granted', grants: [{ granted: 0, free: 4 }] })
  })

  it('fail in time while another session holds the lock, and change nothing', async () => {
    const { leases } = openLeases(url)
    await openGeneration(leases)
    const other = new pg.Client(toClientConfig({ url, nodeName: 'other' }))
    await other.connect()
    await other.query('BEGIN; SELECT * FROM slice_generation FOR UPDATE')
    await expect(leases.send(toRequest())).rejects.toThrow(RegistryUnreachable)
    await other.query('ROLLBACK')
    await other.end()
    expect(await leases.send(toRequest({ sequence: 2 }))).toMatchObject({ grants: [{ granted: 3, free: 7 }] })
  })

  it('end the transaction of a node that vanished, so that the others continue', async () => {
    const { proxy, url: proxied } = await openBehindProxy(url)
    const vanished = openLeases(proxied)
    const { leases } = openLeases(url)
    await openGeneration(leases)
    proxy.judge((direction, data) => (direction === 'up' && data.includes('COMMIT\0') ? 'hold' : 'pass'))
    await expect(vanished.leases.send(toRequest())).rejects.toThrow(RegistryUnreachable)
    await vi.waitFor(() => leases.send(toRequest({ node: 'b' })), { timeout: 20_000, interval: 50 })
  })

  it('fail in time while the pool has no connection, and return the one that comes too late', async () => {
    const { leases, pool } = openLeases(url)
    await openGeneration(leases)
    const taken = await pool.connect()
    await expect(leases.send({ type: 'hello' })).rejects.toThrow(RegistryUnreachable)
    taken.release()
    await expect(leases.send({ type: 'hello' })).resolves.toMatchObject({ epoch: 1 })
    expect([pool.totalCount, pool.idleCount]).toEqual([1, 1])
  })

  it('pause after some failures, and recover', async () => {
    const { proxy, url: proxied } = await openBehindProxy(url)
    const { leases } = openLeases(proxied)
    await openGeneration(leases)
    proxy.refuse(true)
    proxy.cut()
    while (!leases.isOpen) await expect(leases.send({ type: 'hello' })).rejects.toThrow(RegistryUnreachable)
    await expect(leases.send({ type: 'hello' })).rejects.toThrow('requests for slices are paused')
    proxy.refuse(false)
    await vi.waitFor(() => leases.send({ type: 'hello' }), { timeout: 20_000, interval: 50 })
    expect(leases.isOpen).toBe(false)
  })

  it('are granted one after another, whatever isolation the database sets', async () => {
    const name = new URL(url).pathname.slice(1)
    await executeSql(url, `ALTER DATABASE ${name} SET default_transaction_isolation = 'serializable'`)
    const senders = Array.from({ length: 6 }, () => openLeases(url).leases)
    await openGeneration(senders[0]!)
    const budget = { ...ITEM.budget, value: 1_000 }
    const frees = await Promise.all(
      senders.map(async (leases, index) => {
        const replies = []
        for (let held = 0; held < 10; held++) {
          const items = [{ ...ITEM, budget, held, want: 1 }]
          replies.push(await leases.send(toRequest({ node: `node-${index}`, sequence: held + 1, items })))
        }
        return replies.map((reply) => (reply.type === 'granted' ? reply.grants[0]!.free : reply.type))
      }),
    )
    const expected = Array.from({ length: 60 }, (_, index) => 940 + index)
    expect(frees.flat().sort()).toEqual(expected)
  })

  it('continue in their generation after PostgreSQL was killed, also if a listed node is gone', async () => {
    const nodes = await openNodes(3)
    await isServing(nodes)
    let admitted = await call(nodes, 12)
    await nodes[2]!.kill()
    await server.stop()
    await server.start()
    const left = nodes.slice(0, 2)
    await vi.waitFor(
      async () => {
        admitted += await call(left, 4)
        expect(admitted).toBeGreaterThan(40 * UNIT)
      },
      { timeout: 30_000, interval: 20 },
    )
    expect(left.map(({ node }) => node.epoch)).toEqual([1, 1])
  })

  it('lose what a crashed process had opened, and nothing else', async () => {
    const first = await openNode('node-0')
    await isServing([first])
    const before = await call([first], 10)
    await first.kill()
    const lost = first.open
    const second = await openNode('node-0', { journal: first.journal, session: 2 })
    await isServing([second])
    expect(await callUpToQuota([second], before + lost)).toBe(QUOTA.value)
    expect(lost).toBeLessThan(QUOTA.value / 10)
  })

  it('admit no unit twice if the database goes back to an earlier state', async () => {
    const nodes = await openNodes(3)
    await isServing(nodes)
    let admitted = await call(nodes, 6)
    await save()
    admitted += await call(nodes, 24)
    for (const { driver } of nodes) await driver.refill('quota', 40 * UNIT)
    await restore()
    await vi.waitFor(() => expect(nodes.every(({ node }) => node.epoch > 1)).toBe(true), { timeout: 20_000 })
    expect(await callUpToQuota(nodes, admitted)).toBe(QUOTA.value)
  })

  it('wait for a listed node in a new generation, until it is removed from the list', async () => {
    const nodes = await openNodes(2)
    await isServing(nodes)
    const [node, other] = nodes
    const ofOther = await call([other!], 6)
    let admitted = ofOther + (await call([node!], 6))
    await other!.kill()
    const left = QUOTA.value - ((await claimOf(url, 'node-1')) - ofOther)
    // As docs/nodes/limits.md says, after files were restored that show no other history.
    await executeSql(url, `UPDATE slice_generation SET run_id = ''`)
    await vi.waitFor(() => expect(node!.node.epoch).toBe(2), { timeout: 20_000 })
    await executeSql(url, `UPDATE slice_generation SET start_ms = start_ms - 60000`)
    const callOn = async (): Promise<number> => call([node!], UNITS)
    admitted += await callOn()
    expect(await callOn()).toBe(0)
    await executeSql(url, `DELETE FROM node WHERE name = 'node-1'`)
    const callMore = async (): Promise<number> => (admitted += await callOn())
    await expect.poll(callMore, { timeout: 20_000, interval: 100 }).toBeGreaterThan(left - UNIT)
    expect(admitted + (await callOn())).toBeLessThanOrEqual(left)
  })
})

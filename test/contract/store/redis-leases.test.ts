// @module-tag redis-server

import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { LeaseMessage, LeaseRequest } from '../../../src/boundary/leases/lease-messages.ts'
import {
  createRedisLeases,
  LeasesUnavailable,
  RedisUnusable,
  type RedisLeases,
  type RedisLeasesOptions,
} from '../../../src/storage/store/redis/redis-leases.ts'
import { LEASE_TIMINGS } from '../../../src/boundary/leases/lease-timings.ts'
import { systemClock } from '../../../src/foundation/runtime/clock.ts'
import { leaseScript } from '../../../src/storage/store/redis/lease-script.ts'
import { createFaultyProxy, type FaultyProxy } from '../../fixtures/faulty-proxy.ts'
import { createEpochs, openLeaseNode, type LeaseTestNode } from '../../fixtures/lease-nodes.ts'
import { OWN_ADDRESS } from '../../fixtures/own-address.ts'
import { createRedisServer, type RedisServer } from '../../fixtures/redis-server.ts'

const LIMIT = 60
/** A window that does not end during a test. */
const WINDOW = { startMs: 0, endMs: 4_000_000_000_000 }
const TOTAL = { kind: 'total', version: 1, value: LIMIT, windowAt: () => WINDOW } as const

let server: RedisServer
let proxy: FaultyProxy
const opened: { close(): void | Promise<void> }[] = []

beforeEach(async () => {
  server = await createRedisServer()
  proxy = await createFaultyProxy({ host: server.host, port: server.port })
})

afterEach(async () => {
  for (const each of opened.splice(0)) await each.close()
  await proxy.remove()
  await server.remove()
})

function openLeases(port: number, options: Partial<RedisLeasesOptions> = {}): RedisLeases {
  const url = `redis://:secret-of-redis@${OWN_ADDRESS}:${port}`
  const leases = createRedisLeases({ url, nodeName: 'test', ...options })
  opened.push(leases)
  return leases
}

function openNodes(ports: readonly number[]): readonly LeaseTestNode[] {
  const openEpoch = createEpochs(ports.map((_, index) => `node-${index}`))
  return ports.map((port, index) => {
    const node = openLeaseNode(`redis://${OWN_ADDRESS}:${port}`, `node-${index}`, openEpoch, TOTAL)
    opened.push(node)
    return node
  })
}

const becomesTrue = (check: () => boolean): Promise<void> =>
  vi.waitFor(() => expect(check()).toBe(true), { timeout: 20_000, interval: 20 })

/** Returns how many of `calls` calls, on the nodes in turn, were admitted. */
async function call(nodes: readonly LeaseTestNode[], calls: number): Promise<number> {
  let admitted = 0
  for (let index = 0; index < calls; index++) if ((await nodes[index % nodes.length]!.call()) !== null) admitted++
  return admitted
}

/** Calls until `admitted` and what is admitted now make up the limit. Then calls on, and returns the sum. */
async function callUpToLimit(nodes: readonly LeaseTestNode[], before = 0): Promise<number> {
  let admitted = before
  await vi.waitFor(
    async () => {
      admitted += await call(nodes, 6)
      expect(admitted).toBeGreaterThanOrEqual(LIMIT)
    },
    { timeout: 30_000, interval: 20 },
  )
  for (const node of nodes) await node.driver.refill('counter', 1)
  return admitted + (await call(nodes, 300))
}

/** Waits until every node has been granted a call. */
async function areGranting(nodes: readonly LeaseTestNode[]): Promise<number> {
  let admitted = 0
  for (const node of nodes) {
    await vi.waitFor(async () => expect(await node.call()).not.toBeNull(), { timeout: 20_000, interval: 20 })
    admitted++
  }
  return admitted
}

function toRequest(overrides: Partial<LeaseRequest>): LeaseRequest {
  const item = {
    key: 'k',
    budget: { kind: 'total', version: 1, value: 10, ...WINDOW },
    held: 0,
    used: 0,
    want: 3,
  } as const
  return {
    type: 'request',
    node: 'a',
    session: 1,
    sequence: 1,
    epoch: 1,
    notBeforeMs: 0,
    notAfterMs: 8_000_000_000_000,
    isSynced: true,
    items: [item],
    ...overrides,
  }
}

async function openGeneration(leases: RedisLeases): Promise<void> {
  await becomesReachable(leases)
  const hello = await leases.send({ type: 'hello' })
  const runId = hello.type === 'generation' ? hello.runId : ''
  await leases.send(openMessage(runId))
}

const openMessage = (runId: string): LeaseMessage => ({
  type: 'open',
  epoch: 1,
  runId,
  isFirst: true,
  members: [],
  notAfterMs: 8_000_000_000_000,
})

const becomesReachable = (leases: RedisLeases): Promise<unknown> =>
  vi.waitFor(() => leases.send({ type: 'hello' }), { timeout: 20_000, interval: 50 })

describe('Leases from Redis', () => {
  it('admit exactly the declared calls over three nodes', async () => {
    const nodes = openNodes([server.port, server.port, server.port])
    expect(await callUpToLimit(nodes)).toBe(LIMIT)
  })

  it('grant nothing twice if a connection was cut after the script ran and the request is sent again', async () => {
    const leases = openLeases(proxy.port)
    await openGeneration(leases)
    proxy.judge((direction, data) => (direction === 'down' && data.includes('granted') ? 'cut' : 'pass'))
    await expect(leases.send(toRequest({}))).rejects.toThrow(LeasesUnavailable)
    proxy.judge(null)
    await becomesReachable(leases)
    const again = await leases.send(toRequest({}))
    const other = await leases.send(toRequest({ node: 'b', items: [{ ...toRequest({}).items[0]!, want: 0 }] }))
    expect(again).toMatchObject({ type: 'granted', grants: [{ granted: 3 }] })
    expect(other).toMatchObject({ type: 'granted', grants: [{ free: 7 }] })
  })

  it('are refused while another version grants them, so that two versions never grant from two budgets', async () => {
    const other = createRedisLeases({
      url: server.url,
      nodeName: 'other',
      script: leaseScript(LEASE_TIMINGS).replace('GENERATION = 1,', 'GENERATION = 2,'),
    })
    opened.push(other)
    await openGeneration(other)
    expect(await other.send(toRequest({}))).toMatchObject({ type: 'granted', grants: [{ granted: 3 }] })
    const leases = openLeases(server.port)
    await expect(leases.send(toRequest({ node: 'b' }))).rejects.toThrow(LeasesUnavailable)
    await expect(leases.send(openMessage('any'))).rejects.toThrow(LeasesUnavailable)
    expect(await other.send(toRequest({ sequence: 2 }))).toMatchObject({ type: 'granted' })
  })

  it('treat a server that does not answer as unavailable, pause, and recover', async () => {
    const leases = openLeases(proxy.port)
    await openGeneration(leases)
    proxy.judge((direction) => (direction === 'down' ? 'drop' : 'pass'))
    await becomesTrueAfterFailures(leases)
    proxy.judge(null)
    await becomesReachable(leases)
    expect(leases.isOpen).toBe(false)
  })

  it('pause for a second after failures, though the clock of the system is set back meanwhile', async () => {
    const time = { wallMs: 10_000_000, monotonicMs: 0 }
    const clock = { ...systemClock, nowMs: () => time.wallMs }
    const leases = openLeases(proxy.port, { clock, monotonicMs: () => time.monotonicMs })
    proxy.judge((direction) => (direction === 'down' ? 'drop' : 'pass'))
    await becomesTrueAfterFailures(leases)
    proxy.judge(null)
    time.wallMs -= 3_600_000
    await expect(leases.send({ type: 'hello' })).rejects.toThrow('messages are paused')
    time.monotonicMs += 1_000
    const answer = leases.send({ type: 'hello' }).then(String, String)
    expect(await answer).not.toContain('messages are paused')
  })

  it('use a reply that has arrived while the event loop was blocked for longer than a reply may take', async () => {
    const timings = { ...LEASE_TIMINGS, replyMs: 50 }
    const leases = createRedisLeases({ url: server.url, nodeName: 'test', timings })
    opened.push(leases)
    await becomesReachable(leases)
    const reply = leases.send({ type: 'hello' })
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)
    expect(await reply).toMatchObject({ type: 'generation' })
  })

  it('do not execute a request that arrives after its time', async () => {
    const leases = openLeases(server.port)
    await openGeneration(leases)
    const hello = await leases.send({ type: 'hello' })
    expect(await leases.send(toRequest({ notAfterMs: hello.nowMs - 1 }))).toMatchObject({ type: 'clock' })
  })

  it.each(['empty', 'snapshot'] as const)('admit no call twice if the server restarts with %s data', async (from) => {
    const nodes = openNodes([server.port, server.port, server.port])
    let admitted = await areGranting(nodes)
    await server.command('SAVE')
    admitted += await call(nodes, 20)
    const epoch = nodes[0]!.node.epoch
    await server.stop()
    await server.start(from)
    await becomesTrue(() => nodes.every(({ node }) => node.isServing && node.epoch > epoch))
    expect(admitted).toBeGreaterThan(10)
    expect(await callUpToLimit(nodes, admitted)).toBe(LIMIT)
  })

  it('continue with the other nodes while one is cut off, and admit no call too many', async () => {
    const nodes = openNodes([proxy.port, server.port, server.port])
    let admitted = await areGranting(nodes)
    proxy.refuse(true)
    proxy.cut()
    admitted += await call(nodes.slice(1), 30)
    admitted += await call(nodes.slice(0, 1), 30)
    expect(admitted).toBeGreaterThan(10)
    proxy.refuse(false)
    expect(await callUpToLimit(nodes, admitted)).toBe(LIMIT)
  })

  it('are returned by a node that stops, so that the others can use them', async () => {
    const [first, ...others] = openNodes([server.port, server.port, server.port])
    const admitted = await areGranting([first!, ...others])
    await first!.close()
    expect(first!.held).toBe(0)
    expect(await callUpToLimit(others, admitted)).toBe(LIMIT)
  })

  it('refuse a server that evicts keys', async () => {
    await server.command('CONFIG', 'SET', 'maxmemory', '100mb', 'maxmemory-policy', 'allkeys-lru')
    const leases = openLeases(server.port)
    await vi.waitFor(() => expect(leases.send({ type: 'hello' })).rejects.toThrow(RedisUnusable), {
      timeout: 20_000,
      interval: 50,
    })
  })
})

async function becomesTrueAfterFailures(leases: RedisLeases): Promise<void> {
  const faults: string[] = []
  while (!leases.isOpen) await leases.send({ type: 'hello' }).catch((fault: unknown) => faults.push(String(fault)))
  await expect(leases.send({ type: 'hello' })).rejects.toThrow('messages are paused')
  expect(faults.length).toBeGreaterThan(0)
  expect(faults.join()).not.toContain('secret-of-redis')
}

it('errors of a wrong password do not contain it, even as Node prints them in a crash', async () => {
  await server.command('CONFIG', 'SET', 'requirepass', 'another')
  const leases = openLeases(server.port)
  const printed = await vi.waitFor(async () => {
    const text = inspect(await Promise.resolve(leases.prepare()).catch((cause: unknown) => cause), { depth: 9 })
    expect(text).toContain('WRONGPASS')
    return text
  })
  expect(printed).not.toContain('secret-of-redis')
})

import { describe, expect, it } from 'vitest'
import { toBucket } from '../../../../src/foundation/domain/gcra.ts'
import type { LeaseDeclaration } from '../../../../src/boundary/leases/lease-declaration.ts'
import { createCluster, type Cluster } from '../../../fixtures/lease-cluster.ts'
import { createRandom } from '../../../random.ts'

const MINUTE = { startMs: 999_960_000, endMs: 1_000_020_000 }
const HOUR = { startMs: 0, endMs: 4_000_000_000 }

const total = (value: number, window = HOUR): LeaseDeclaration => ({
  kind: 'total',
  version: 1,
  value,
  windowAt: () => window,
})

function createServing(count: number, declaration: LeaseDeclaration): Cluster {
  const cluster = createCluster(count, declaration)
  cluster.pass(2_000)
  expect(cluster.nodes.every(({ node }) => node.isServing)).toBe(true)
  return cluster
}

/** Calls on random nodes until a call is refused twice in a row by one node. Returns the share of the limit that was not used. */
function unusedShare(cluster: Cluster, limit: number, callsPerStep: number): number {
  const random = createRandom(1)
  let admitted = 0
  for (let step = 0; step < 100_000; step++) {
    for (let call = 0; call < callsPerStep; call++) {
      const node = cluster.nodes[random.below(cluster.nodes.length)]!
      if (node.call()) admitted++
      else {
        node.exchange()
        if (!node.call()) return 1 - admitted / limit
        admitted++
      }
    }
    cluster.pass(10)
  }
  throw new Error('no call was refused')
}

describe('A node with leases', () => {
  it.each([1, 5, 20])('leaves at most 1 % of 10,000 calls unused on three nodes, at %i calls in 10 ms', (calls) => {
    expect(unusedShare(createServing(3, total(10_000)), 10_000, calls)).toBeLessThanOrEqual(0.01)
  })

  it('needs far fewer exchanges than calls', () => {
    const cluster = createServing(3, total(10_000))
    const before = cluster.nodes.reduce((sum, { sent }) => sum + sent.length, 0)
    unusedShare(cluster, 10_000, 20)
    const after = cluster.nodes.reduce((sum, { sent }) => sum + sent.length, 0)
    expect(after - before).toBeLessThan(1_000)
  })

  it('keeps a lease for an occasional caller, and returns it after a minute', () => {
    const cluster = createServing(2, total(1_000))
    const [node] = cluster.nodes
    expect(node!.call()).toBe(false)
    cluster.pass(100)
    expect(node!.call()).toBe(true)
    cluster.pass(30_000)
    expect(node!.held).toBeGreaterThan(0)
    cluster.pass(31_000)
    expect(node!.held).toBe(0)
  })

  it('returns an idle lease within two seconds once the budget is scarce', () => {
    const cluster = createServing(2, total(4))
    const [idle, busy] = cluster.nodes
    idle!.call()
    busy!.call()
    cluster.pass(20)
    expect([idle!.held, busy!.held]).toEqual([1, 1])
    let admitted = 0
    for (let step = 0; step < 200; step++) {
      if (busy!.call()) admitted++
      cluster.pass(10)
    }
    expect([idle!.held, admitted]).toEqual([0, 4])
  })

  it('writes a claim before its calls can be admitted', () => {
    const cluster = createServing(1, total(100))
    const [node] = cluster.nodes
    node!.call()
    cluster.pass(10)
    const written = node!.journal.at(-1)?.claim ?? 0
    expect(written).toBeGreaterThan(0)
    expect(node!.held).toBe(written)
  })

  it('uses no grant whose reply was lost, and returns it with the next report', () => {
    const cluster = createServing(2, total(3))
    const [first, second] = cluster.nodes
    cluster.alterReply = () => null
    first!.call()
    first!.exchange()
    expect(first!.held).toBe(0)
    cluster.alterReply = (reply) => reply
    cluster.pass(1_500)
    let admitted = 0
    for (let step = 0; step < 200; step++) {
      if (second!.call()) admitted++
      cluster.pass(10)
    }
    expect(admitted + first!.held).toBe(3)
  })

  it('uses what it holds while the grantor is away, and the lease of a rate until it ends', () => {
    const cluster = createServing(1, { kind: 'rate', version: 1, ...toBucket(100, 60_000) })
    const [node] = cluster.nodes
    node!.call()
    cluster.pass(10)
    cluster.alterReply = () => null
    expect(node!.held).toBeGreaterThan(0)
    cluster.pass(9_000)
    expect(node!.held).toBeGreaterThan(0)
    cluster.pass(1_500)
    expect(node!.held).toBe(0)
  })

  it('admits nothing by what was leased under a higher limit', () => {
    const cluster = createServing(1, total(100))
    const [node] = cluster.nodes
    node!.call()
    cluster.pass(10)
    expect(node!.held).toBeGreaterThan(0)
    node!.node.redeclare('counter', { ...total(1), version: 2 })
    expect(node!.held).toBe(0)
  })

  it('keeps what it holds if only the version of its limit is another', () => {
    const cluster = createServing(1, total(100))
    const [node] = cluster.nodes
    node!.call()
    cluster.pass(10)
    const { held } = node!
    expect(held).toBeGreaterThan(0)
    node!.node.redeclare('counter', { ...total(100), version: 2 })
    expect(node!.held).toBe(held)
  })

  it.each<{ kind: string; low: LeaseDeclaration; high: LeaseDeclaration }>([
    { kind: 'total', low: total(1), high: { ...total(2), version: 2 } },
    {
      kind: 'rate',
      low: { kind: 'rate', version: 1, ...toBucket(1, 60_000) },
      high: { kind: 'rate', version: 2, ...toBucket(2, 60_000) },
    },
  ])('asks again at once for a $kind that was refused, when its limit is raised', ({ low, high }) => {
    const cluster = createServing(1, low)
    const [node] = cluster.nodes
    node!.call()
    node!.exchange()
    expect(node!.call()).toBe(true)
    expect(node!.call()).toBe(false)
    node!.exchange()
    expect(node!.call()).toBe(false)
    node!.node.redeclare('counter', high)
    expect(node!.call()).toBe(false)
    node!.exchange()
    expect(node!.call()).toBe(true)
  })

  it('gets no more than a lower limit that another node has followed already', () => {
    const cluster = createServing(2, total(100))
    const [late, first] = cluster.nodes
    const callFor = (ms: number): number => {
      let admitted = 0
      for (let step = 0; step < ms / 10; step++) {
        for (const node of cluster.nodes) if (node.call()) admitted++
        cluster.pass(10)
      }
      return admitted
    }
    first!.node.redeclare('counter', { ...total(10), version: 2 })
    const admitted = callFor(2_000)
    late!.node.redeclare('counter', { ...total(10), version: 2 })
    expect(admitted + callFor(2_000)).toBe(10)
  })

  it('begins the next window with nothing, and asks for it', () => {
    let window = MINUTE
    const cluster = createServing(1, { kind: 'total', version: 1, value: 5, windowAt: () => window })
    const [node] = cluster.nodes
    for (let step = 0; step < 20; step++) {
      node!.call()
      cluster.pass(10)
    }
    window = { startMs: MINUTE.endMs, endMs: MINUTE.endMs + 60_000 }
    cluster.nowMs += 20_000
    cluster.pass(2_000)
    node!.call()
    cluster.pass(200)
    expect(node!.call()).toBe(true)
  })

  it('reports its claims to a server that restarted empty, which then grants only the rest', () => {
    const cluster = createServing(3, total(30))
    let admitted = 0
    const callAll = (): void => {
      for (const node of cluster.nodes) if (node.call()) admitted++
      cluster.pass(10)
    }
    for (let step = 0; step < 5; step++) callAll()
    expect(admitted).toBeGreaterThan(5)
    cluster.runId = 'run-2'
    for (let step = 0; step < 1_000; step++) callAll()
    expect(admitted).toBe(30)
  })
})

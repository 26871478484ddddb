import { describe, expect, it } from 'vitest'
import { LEASE_CELL } from '../../../../src/boundary/leases/lease-cell.ts'
import { SLICE_TIMINGS } from '../../../../src/boundary/leases/lease-timings.ts'
import { createCluster, type Cluster } from '../../../fixtures/lease-cluster.ts'
import { createRandom } from '../../../random.ts'

const TICK_MS = 250
const MINUTE_MS = 60_000
const MONTH = { startMs: 0, endMs: 4_000_000_000 }

function createServing(count: number, value: number): Cluster {
  const declaration = { kind: 'total', version: 1, value, windowAt: () => MONTH } as const
  const cluster = createCluster(count, declaration, SLICE_TIMINGS)
  cluster.pass(2_000, TICK_MS)
  expect(cluster.nodes.every(({ node }) => node.isServing)).toBe(true)
  return cluster
}

/** Calls with an exchange if there is no lease, as a gateway does. */
function call(cluster: Cluster, index: number, cost = 1): boolean {
  const node = cluster.nodes[index]!
  if (node.call(cost)) return true
  node.exchange()
  return node.call(cost)
}

/** Calls at random times, on average as often as given for each node. Returns the calls that were admitted and refused. */
function load(cluster: Cluster, perMinute: readonly number[], forMs: number) {
  const random = createRandom(1)
  let [admitted, refused] = [0, 0]
  for (const endMs = cluster.nowMs + forMs; cluster.nowMs < endMs;) {
    perMinute.forEach((calls, index) => {
      const mean = (calls * TICK_MS) / MINUTE_MS
      const now = Math.floor(mean) + (random.next() < mean % 1 ? 1 : 0)
      for (let each = 0; each < now; each++) {
        if (call(cluster, index)) admitted++
        else refused++
      }
    })
    cluster.pass(TICK_MS, TICK_MS)
  }
  return { admitted, refused }
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

describe('Slices', () => {
  it.each([
    ['equal nodes', [60, 60, 60]],
    ['busy nodes', [6_000, 3_000, 9_000]],
    ['one busy node', [600, 6, 6]],
    ['one node of three', [30, 0, 0]],
    ['ten nodes', [20, 20, 20, 20, 20, 20, 20, 20, 20, 20]],
  ])('admit all calls for five minutes without the grantor, if 15 minutes of demand were left: %s', (_, perMinute) => {
    const demand = sum(perMinute)
    const cluster = createServing(perMinute.length, 60 * demand)
    expect(load(cluster, perMinute, 45 * MINUTE_MS).refused).toBe(0)
    cluster.alterReply = () => null
    expect(load(cluster, perMinute, 5 * MINUTE_MS).refused).toBe(0)
  })

  it.each([
    ['equal nodes', [300, 300, 300]],
    ['busy nodes', [6_000, 3_000, 9_000]],
    ['one busy node', [600, 60, 60]],
  ])('admit them also if the calls began a minute before: %s', (_, perMinute) => {
    const cluster = createServing(perMinute.length, 17 * sum(perMinute))
    expect(load(cluster, perMinute, MINUTE_MS).refused).toBe(0)
    cluster.alterReply = () => null
    expect(load(cluster, perMinute, 5 * MINUTE_MS).refused).toBe(0)
  })

  it.each([
    ['a hundred calls', 1_000_000, 100],
    ['a thousandth of a small budget', 20_000, 20],
    ['one call', 500, 1],
  ])('are worth %s before the demand is known', (_, value, calls) => {
    const cluster = createServing(1, value)
    expect(call(cluster, 0)).toBe(true)
    cluster.alterReply = () => null
    const later = Array.from({ length: 200 }, () => call(cluster, 0))
    expect(later.filter(Boolean)).toHaveLength(calls - 1)
  })

  it.each([10, 1_000])('leave at most 1 % of the budget unused on three nodes, at %i calls a second', (perSecond) => {
    const limit = 10_000
    const cluster = createServing(3, limit)
    const random = createRandom(1)
    let admitted = 0
    for (let calls = 1; call(cluster, random.below(3)); calls++) {
      admitted++
      if (calls % Math.ceil(perSecond / 4) === 0) cluster.pass(TICK_MS, TICK_MS)
    }
    expect(1 - admitted / limit).toBeLessThanOrEqual(0.01)
  })

  it('return within two seconds what an idle node holds of a budget that others have used up', () => {
    const cluster = createServing(2, 1_000)
    let { admitted } = load(cluster, [600, 0], MINUTE_MS / 4)
    for (let step = 0; step < 1_000 && call(cluster, 1); step++) admitted++
    expect(admitted).toBeLessThan(1_000)
    // What it returned first made the budget less scarce.
    for (let time = 0; time < 2; time++) {
      cluster.pass(2_000, TICK_MS)
      for (let step = 0; step < 1_000 && call(cluster, 1); step++) admitted++
    }
    expect(admitted).toBe(1_000)
  })

  it.each([
    ['all nodes', [0, 1, 2], 2_000_000],
    ['one node', [2], 2_000_000],
    ['all nodes', [0, 1, 2], 700_000],
    ['one node', [2], 700_000],
  ])('leave no parts of calls to nodes that cannot use them while %s is called: %o, %i', (_, called, cost) => {
    const value = 100_000_000
    const cluster = createServing(3, value)
    let admitted = 0
    const run = (indices: readonly number[], rounds: number, stepMs: number): void => {
      for (let round = 0; round < rounds; round++) {
        for (const index of indices) if (call(cluster, index, cost)) admitted++
        if (round % 3 === 0) cluster.pass(3 * stepMs, 3 * stepMs)
      }
    }
    run([0, 1, 2], 16, 10)
    run(called, 200, 100)
    expect(admitted).toBe(Math.floor(value / cost))
  })

  it('are noted in the journal by parts, so that a crash loses the demand of a few seconds', () => {
    const cluster = createServing(1, 1_000_000)
    load(cluster, [600], 5 * MINUTE_MS)
    const [node] = cluster.nodes
    const claim = node!.journal.at(-1)!.claim
    const used = node!.cell[LEASE_CELL.used]!
    expect(claim).toBeGreaterThanOrEqual(used)
    expect(claim - used).toBeLessThanOrEqual(40)
    const items = node!.sent.flatMap((message) => (message.type === 'request' ? message.items : []))
    expect(items.at(-1)!.held).toBeGreaterThan(5 * 600)
  })

  it('need a request a second at most', () => {
    const cluster = createServing(1, 10_000_000)
    load(cluster, [6_000], 5 * MINUTE_MS)
    const before = cluster.nodes[0]!.sent.length
    load(cluster, [6_000], MINUTE_MS)
    expect(cluster.nodes[0]!.sent.length - before).toBeLessThanOrEqual(61)
  })
})

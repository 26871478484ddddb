/** Calls that use more than they reserved, beyond the lease of their node: every node admits less from the next exchange on. */

import { describe, expect, it } from 'vitest'
import { LEASE_CELL, overdrawLease } from '../../../../src/boundary/leases/lease-cell.ts'
import type { LeaseDeclaration } from '../../../../src/boundary/leases/lease-declaration.ts'
import { LEASE_TIMINGS, SLICE_TIMINGS } from '../../../../src/boundary/leases/lease-timings.ts'
import { createCluster, type Cluster, type ClusterNode } from '../../../fixtures/lease-cluster.ts'

const QUOTA: LeaseDeclaration = {
  kind: 'total',
  version: 1,
  value: 1_000,
  windowAt: () => ({ startMs: 500, endMs: 4_000_000_000_000 }),
}
const COST = 10

function admitAll(cluster: Cluster, nodes: readonly ClusterNode[]): number {
  let admitted = 0
  for (let round = 0; round < 400; round++) {
    for (const node of nodes) while (node.call(COST)) admitted += COST
    cluster.pass(50)
  }
  return admitted
}

const overdraw = ({ cell }: ClusterNode, units: number): void => overdrawLease(cell, 0, units, cell[LEASE_CELL.window]!)

describe.each([
  ['short leases', LEASE_TIMINGS],
  ['slices', SLICE_TIMINGS],
])('A node with %s', (_, timings) => {
  function createServing() {
    const cluster = createCluster(2, QUOTA, timings)
    cluster.pass(20_000)
    expect(cluster.nodes.every(({ node }) => node.isServing)).toBe(true)
    return { cluster, first: cluster.nodes[0]!, second: cluster.nodes[1]! }
  }

  function admitOne(cluster: Cluster, node: ClusterNode): void {
    while (!node.call(COST)) cluster.pass(50)
  }

  it('reports what exceeds its lease, so that all nodes together admit the rest only', () => {
    const { cluster, first, second } = createServing()
    admitOne(cluster, first)
    const leased = first.cell[LEASE_CELL.allowed]!
    overdraw(first, leased + 500)
    cluster.pass(5_000)
    expect(admitAll(cluster, [second, first])).toBeLessThanOrEqual(1_000 - COST - leased - 500)
    expect(admitAll(cluster, [first, second])).toBe(0)
  })

  it('admits nothing after it has used more than the quota, and neither do the others', () => {
    const { cluster, first, second } = createServing()
    admitOne(cluster, first)
    overdraw(first, 5_000)
    cluster.pass(5_000)
    expect(admitAll(cluster, [second, first])).toBe(0)
  })

  it('writes what exceeds its lease to its journal, so that a restart reports it', () => {
    const { cluster, first } = createServing()
    admitOne(cluster, first)
    overdraw(first, 5_000)
    cluster.pass(5_000)
    expect(first.journal.at(-1)?.claim).toBeGreaterThanOrEqual(5_000 + COST)
    const written = first.journal.length
    cluster.pass(5_000)
    expect(first.journal).toHaveLength(written)
  })

  it('charges what its lease covers without a new claim', () => {
    const { cluster, first, second } = createServing()
    admitOne(cluster, first)
    const covered = Math.min(COST, first.held)
    overdraw(first, covered)
    cluster.pass(5_000)
    const admitted = admitAll(cluster, [first, second])
    expect(admitted + COST + covered).toBeLessThanOrEqual(1_000)
    expect(admitted).toBeGreaterThan(900)
  })
})

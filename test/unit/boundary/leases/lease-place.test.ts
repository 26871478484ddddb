import { expect, it } from 'vitest'
import { LEASE_CELL_SIZE } from '../../../../src/boundary/leases/lease-cell.ts'
import { PlacedLease } from '../../../../src/boundary/leases/lease-place.ts'

it('The time for which a counter is closed begins anew after a time in which it was not asked for', () => {
  const lease = new PlacedLease({ cell: new Float64Array(LEASE_CELL_SIZE), at: 0, exclusively: (task) => task() })
  const closedSince = (monotonicMs: number, isOpen = false): number => {
    lease.setRefused(0, { isOpen }, { monotonicMs })
    return lease.get('closedSinceMs')
  }
  expect([closedSince(1_000), closedSince(1_100), closedSince(6_000)]).toEqual([1_000, 1_000, 1_000])
  expect([closedSince(11_001), closedSince(11_100)]).toEqual([11_001, 11_001])
  expect([closedSince(11_200, true), closedSince(11_300)]).toEqual([0, 11_300])
})

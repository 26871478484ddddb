import { expect, it } from 'vitest'
import { openLeaseBlock, releaseSlot, type LeaseBlockRef } from '../../../src/limits/lease-block.ts'
import { LEASE_CELL, LEASE_CELL_SIZE } from '../../../src/boundary/leases/lease-cell.ts'

const THREAD = 3

/** Two limits of concurrent calls whose gauges begin at words 10 and 20, between one of another kind. */
function openTwo() {
  const page = new SharedArrayBuffer(8 * (1 + 3 * LEASE_CELL_SIZE))
  const cells = [10, null, 20].map((gaugesAt, id) => ({ id, page, at: 1 + id * LEASE_CELL_SIZE, gaugesAt }))
  const ref: LeaseBlockRef = { page, lockAt: 0, cells, quota: null }
  const doubles = new Float64Array(page)
  for (const { at } of cells) doubles[at + LEASE_CELL.used] = 2
  const used = () => cells.map(({ at }) => doubles[at + LEASE_CELL.used])
  return { block: openLeaseBlock(ref), used, word: new Int32Array(page, 0, 1) }
}

it('frees the slot of the limit whose gauge counted the call, and the lock', () => {
  const { block, used, word } = openTwo()
  releaseSlot(block, 20 + THREAD, THREAD)
  expect(used()).toEqual([2, 2, 1])
  releaseSlot(block, 10 + THREAD, THREAD)
  expect(used()).toEqual([1, 2, 1])
  expect(word[0]).toBe(0)
})

it('frees none for a gauge of another limit or thread', () => {
  const { block, used } = openTwo()
  releaseSlot(block, 15, THREAD)
  releaseSlot(block, 20 + THREAD, THREAD + 1)
  expect(used()).toEqual([2, 2, 2])
})

it('can be posted to a thread, and shares its memory with the first one', () => {
  const { block, used } = openTwo()
  const copy = structuredClone(block)
  releaseSlot(copy, 10, 0)
  expect(used()).toEqual([1, 2, 2])
})

import { expect, it } from 'vitest'
import { openLeaseBlock, releaseSlot, type LeaseBlockRef } from '../../../../src/gateway/limits/lease-block.ts'
import { LEASE_CELL, LEASE_CELL_SIZE } from '../../../../src/leases/lease-cell.ts'

const THREAD = 3

/** Two limits of concurrent calls whose gauges begin at words 10 and 20, between one that is not leased. */
function openTwo() {
  const page = new SharedArrayBuffer(8 * (1 + 2 * LEASE_CELL_SIZE))
  const cells = [{ id: 0, page, at: 1, gaugesAt: 10 }, null, { id: 1, page, at: 1 + LEASE_CELL_SIZE, gaugesAt: 20 }]
  const ref: LeaseBlockRef = { page, lockAt: 0, cells }
  const doubles = new Float64Array(page)
  for (const cell of cells) if (cell !== null) doubles[cell.at + LEASE_CELL.used] = 2
  const used = () => cells.map((cell) => (cell === null ? null : doubles[cell.at + LEASE_CELL.used]))
  return { block: openLeaseBlock(ref), used, word: new Int32Array(page, 0, 1) }
}

it('frees the slot of the limit whose gauge counted the call, and the lock', () => {
  const { block, used, word } = openTwo()
  releaseSlot(block, 20 + THREAD, THREAD)
  expect(used()).toEqual([2, null, 1])
  releaseSlot(block, 10 + THREAD, THREAD)
  expect(used()).toEqual([1, null, 1])
  expect(word[0]).toBe(0)
})

it('frees none for a gauge of another limit or thread', () => {
  const { block, used } = openTwo()
  releaseSlot(block, 15, THREAD)
  releaseSlot(block, 20 + THREAD, THREAD + 1)
  expect(used()).toEqual([2, null, 2])
})

it('can be posted to a thread, and shares its memory with the first one', () => {
  const { block, used } = openTwo()
  const copy = structuredClone(block)
  releaseSlot(copy, 10, 0)
  expect(used()).toEqual([1, null, 2])
})

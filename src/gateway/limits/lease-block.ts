/**
 * The leases of one subscription at one API: their places in shared memory, and the views of a thread on them.
 *
 * One lock guards them and the counters of all blocks of the subscription, so that a block can be replaced while calls run in it.
 */

import { freeSlot } from '../../leases/lease-cell.ts'
import { lock, unlock } from './limit-lock.ts'

/** Can be posted to a thread. */
export interface LeaseBlockRef {
  readonly page: SharedArrayBuffer
  /** The word of the lock, in 32-bit words. */
  readonly lockAt: number
  /** By position of the limit; null if the limit is counted on each node alone. */
  readonly cells: readonly (LeaseCellRef | null)[]
}

export interface LeaseCellRef {
  /** Names the lease in requests to the main thread. */
  readonly id: number
  readonly page: SharedArrayBuffer
  /** In doubles. */
  readonly at: number
  /** First per-thread gauge of the limit in the block, in 32-bit words; null unless the limit is one of concurrent calls. */
  readonly gaugesAt: number | null
}

export interface LeaseView {
  readonly id: number
  readonly cell: Float64Array
  readonly at: number
  readonly gaugesAt: number | null
}

export interface LeaseBlock {
  readonly word: Int32Array
  readonly views: readonly (LeaseView | null)[]
}

export function openLeaseBlock({ page, lockAt, cells }: LeaseBlockRef): LeaseBlock {
  return {
    word: new Int32Array(page, lockAt * 4, 1),
    views: cells.map(
      (ref) => ref && { id: ref.id, cell: new Float64Array(ref.page), at: ref.at, gaugesAt: ref.gaugesAt },
    ),
  }
}

/** Frees the slot of a call that `gauge` of `thread` counted. */
export function releaseSlot({ word, views }: LeaseBlock, gauge: number, thread: number): void {
  const view = views.find((each) => each?.gaugesAt === gauge - thread)
  if (view === undefined || view === null || !lock(word, thread + 1)) return
  freeSlot(view.cell, view.at)
  unlock(word)
}

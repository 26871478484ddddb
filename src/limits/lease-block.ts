/**
 * The leases of one subscription at one API: their places in shared memory, and the views of a thread on them.
 *
 * One lock guards them and the counters of all blocks of the subscription, so that a block can be replaced while calls run in it.
 */

import { freeSlot, giveBackLease, hasLostSlots, overdrawLease, type NodeMoment } from '../boundary/leases/lease-cell.ts'
import { lock, unlock } from './limit-lock.ts'

/** Can be posted to a thread. */
export interface LeaseBlockRef {
  readonly page: SharedArrayBuffer
  /** The word of the lock, in 32-bit words. */
  readonly lockAt: number
  /** By position of the limit. */
  readonly cells: readonly LeaseCellRef[]
  /** Null if the plan has no quota that could be used up. */
  readonly quota: LeaseCellRef | null
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
  readonly views: readonly LeaseView[]
  readonly quota: LeaseView | null
}

export function openLeaseBlock({ page, lockAt, cells, quota }: LeaseBlockRef): LeaseBlock {
  const word = new Int32Array(page, lockAt * 4, 1)
  return { word, views: cells.map(openCell), quota: quota && openCell(quota) }
}

function openCell({ id, page, at, gaugesAt }: LeaseCellRef): LeaseView {
  return { id, cell: new Float64Array(page), at, gaugesAt }
}

/** Frees the slot of a call that `gauge` of `thread` counted. */
export function releaseSlot({ word, views }: LeaseBlock, gauge: number, thread: number): void {
  const view = views.find(({ gaugesAt }) => gaugesAt === gauge - thread)
  if (view === undefined || !lock(word, thread + 1)) return
  freeSlot(view.cell, view.at)
  unlock(word)
}

/** Whether other nodes may be granted the slot of a call that `gauge` of `thread` counted. */
export function isSlotLost({ views }: LeaseBlock, gauge: number, thread: number, now: NodeMoment): boolean {
  const view = views.find(({ gaugesAt }) => gaugesAt === gauge - thread)
  return view !== undefined && hasLostSlots(view.cell, view.at, now)
}

/** Returns units of a quota to the period in which they were charged. */
export function giveBackUnits({ quota }: LeaseBlock, unitsMicro: number, startMs: number): void {
  if (quota !== null && startMs !== 0) giveBackLease(quota.cell, quota.at, unitsMicro, startMs)
}

/** Charges units of a quota to the period in which their call was charged, also beyond what is leased. */
export function overdrawUnits({ quota }: LeaseBlock, unitsMicro: number, startMs: number): void {
  if (quota !== null && startMs !== 0) overdrawLease(quota.cell, quota.at, unitsMicro, startMs)
}

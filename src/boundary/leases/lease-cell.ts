/**
 * The lease of one counter as gateway threads see it: eleven doubles, which may be in shared memory.
 *
 * A call is admitted from what was leased before, without a message. The functions must run under the lock of the cell; the node
 * raises and lowers `allowed` under the same lock. A lease ends by the monotonic clock, or by the wall clock if that is earlier,
 * because the monotonic clock stands still while a virtual machine is suspended.
 *
 * A call costs 1, or the units of its operation in a quota. All numbers are whole and below 2^53, so that sums and differences of them
 * are exact.
 */

export const LEASE_CELL = {
  /** Start of the window of the lease; 0 for rates and slots. */
  window: 0,
  /** Calls, or units, that may be admitted in all: since the window or the session began; for slots those that may run at once. */
  allowed: 1,
  /** Calls, or units, that were admitted; for slots those that run. */
  used: 2,
  untilMs: 3,
  untilWallMs: 4,
  /** Until this time the node does not ask again, because the grantor has granted nothing. */
  exhaustedUntilMs: 5,
  /** Calls that the grantor could still grant to any node at the last exchange; for display. */
  free: 6,
  /** For slots: running calls keep theirs until then, by the monotonic clock and the wall clock, unless the lease is renewed. */
  keptUntilMs: 7,
  keptUntilWallMs: 8,
  /** Since then the grantor grants nothing because it does not know yet what all nodes hold; 0 if it does. */
  closedSinceMs: 9,
  /** Until then, at the latest, it grants nothing; not later than now: soon. */
  closedUntilMs: 10,
} as const

export const LEASE_CELL_SIZE = 11

export interface NodeMoment {
  /** Monotonic, the same on all threads of the process. */
  readonly monotonicMs: number
  readonly wallMs: number
}

/** Whether a call can be admitted from the lease. A call without a cost needs none. */
export function hasLease(cell: Float64Array, at: number, { monotonicMs, wallMs }: NodeMoment, cost = 1): boolean {
  if (cost === 0) return true
  return (
    cell[at + LEASE_CELL.allowed]! - cell[at + LEASE_CELL.used]! >= cost &&
    monotonicMs < cell[at + LEASE_CELL.untilMs]! &&
    wallMs < cell[at + LEASE_CELL.untilWallMs]!
  )
}

/** Counts an admitted call. */
export function takeLease(cell: Float64Array, at: number, cost = 1): void {
  cell[at + LEASE_CELL.used]! += cost
}

/**
 * Returns what a call was charged in the window that began at `startMs`; does nothing if the cell is in another one.
 *
 * It returns to the grantor and not to this node, because the limit may have been lowered since.
 */
export function giveBackLease(cell: Float64Array, at: number, cost: number, startMs: number): void {
  if (cell[at + LEASE_CELL.window] !== startMs || cell[at + LEASE_CELL.used]! < cost) return
  cell[at + LEASE_CELL.used]! -= cost
  cell[at + LEASE_CELL.allowed]! -= cost
  cell[at + LEASE_CELL.exhaustedUntilMs] = 0
}

/**
 * Counts what a call has used beyond its cost, in the window that began at `startMs`; does nothing if the cell is in another one.
 *
 * The lease is raised by the part that exceeds it, so that the node reports it as used at the next exchange, and the grantor grants
 * less to all.
 */
export function overdrawLease(cell: Float64Array, at: number, cost: number, startMs: number): void {
  if (cell[at + LEASE_CELL.window] !== startMs) return
  const used = (cell[at + LEASE_CELL.used]! += cost)
  if (used > cell[at + LEASE_CELL.allowed]!) cell[at + LEASE_CELL.allowed] = used
}

/** Frees the slot of a call that has ended. */
export function freeSlot(cell: Float64Array, at: number): void {
  if (cell[at + LEASE_CELL.used]! > 0) cell[at + LEASE_CELL.used]!--
}

/** Whether other nodes may be granted the slots of running calls, because the node has not renewed them. */
export function hasLostSlots(cell: Float64Array, at: number, { monotonicMs, wallMs }: NodeMoment): boolean {
  return monotonicMs >= cell[at + LEASE_CELL.keptUntilMs]! || wallMs >= cell[at + LEASE_CELL.keptUntilWallMs]!
}

/** Whether the grantor has nothing left, so that a call is refused without waiting for a lease. */
export function isExhausted(cell: Float64Array, at: number, { monotonicMs }: NodeMoment): boolean {
  return monotonicMs < cell[at + LEASE_CELL.exhaustedUntilMs]! && cell[at + LEASE_CELL.closedSinceMs] === 0
}

/** Whether the grantor may have to wait for other nodes before it can grant anything. */
export function isClosed(cell: Float64Array, at: number): boolean {
  return cell[at + LEASE_CELL.closedSinceMs] !== 0
}

/** Returns for how long that lasts at the latest; 0: it ends soon. */
export function closedForMs(cell: Float64Array, at: number, { monotonicMs }: Pick<NodeMoment, 'monotonicMs'>): number {
  return Math.max(0, cell[at + LEASE_CELL.closedUntilMs]! - monotonicMs)
}

/** Returns how many calls all nodes together may still admit, as far as this node knows. More than a lowered limit allows may run. */
export function remainingOf(cell: Float64Array, at: number): number {
  return Math.max(0, cell[at + LEASE_CELL.allowed]! - cell[at + LEASE_CELL.used]! + cell[at + LEASE_CELL.free]!)
}

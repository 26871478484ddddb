/** The cell of one counter as the node sees it, with its lock. */

import { LEASE_CELL as SLOT, type NodeMoment } from './lease-cell.ts'
import type { LeaseGrant } from './lease-messages.ts'

export interface LeasePlace {
  readonly cell: Float64Array
  /** First double of the lease. */
  readonly at: number
  /** Runs `task` under the lock of the cell; throws if the lock cannot be acquired. */
  exclusively(task: () => void): void
}

type SlotName = keyof typeof SLOT

/** Longer than the grantor is not asked for a counter that calls wait for. */
const UNASKED_MS = 5_000

export class PlacedLease {
  readonly #place: LeasePlace
  /** `allowed` as the node set it last: calls that were charged less or more at their end have lowered or raised it since. */
  #opened = 0
  #corrected = 0
  /** When the grantor last answered that it does not know all leases. */
  #closedMs = -Infinity

  constructor(place: LeasePlace) {
    this.#place = place
  }

  get used(): number {
    return this.get('used')
  }

  get allowed(): number {
    return this.get('allowed')
  }

  /** Reads admitted calls and those that may be together, which other threads change. */
  read(): { readonly allowed: number; readonly used: number } {
    let [allowed, used] = [0, 0]
    this.exclusively(() => ([allowed, used] = [this.allowed, this.used]))
    return { allowed, used }
  }

  get(slot: SlotName): number {
    return this.#place.cell[this.#place.at + SLOT[slot]]!
  }

  /** Must run under the lock. */
  set(slot: Exclude<SlotName, 'allowed'>, value: number): void {
    this.#place.cell[this.#place.at + SLOT[slot]] = value
  }

  /** Must run under the lock. */
  setAllowed(allowed: number): void {
    this.#corrected += Math.abs(this.#opened - this.allowed)
    this.#place.cell[this.#place.at + SLOT.allowed] = allowed
    this.#opened = allowed
  }

  /**
   * Notes that nothing more is granted before `untilMs`. Unless `isOpen`, that is because the grantor does not know all leases, and says
   * nothing about what is left. Must run under the lock.
   */
  setRefused(
    untilMs: number,
    { isOpen, opensInMs = 0 }: Pick<LeaseGrant, 'isOpen' | 'opensInMs'>,
    { monotonicMs }: Pick<NodeMoment, 'monotonicMs'>,
  ): void {
    this.set('exhaustedUntilMs', untilMs)
    this.set('closedUntilMs', isOpen ? 0 : monotonicMs + opensInMs)
    if (isOpen) return this.set('closedSinceMs', 0)
    // A counter that was not asked for meanwhile may have been open.
    if (this.get('closedSinceMs') === 0 || monotonicMs - this.#closedMs > UNASKED_MS)
      this.set('closedSinceMs', monotonicMs)
    this.#closedMs = monotonicMs
  }

  /** Calls or units that were given back, or charged beyond the lease, ever. */
  get corrected(): number {
    if (this.allowed !== this.#opened) this.exclusively(() => this.setAllowed(this.allowed))
    return this.#corrected
  }

  /**
   * Keeps the slots of running calls. The grantor frees those of a silent node after its lease and the longest call; the node gives them
   * up the length of a lease before.
   */
  keepSlots({ monotonicMs, wallMs }: NodeMoment, callMsMax: number): void {
    this.exclusively(() => {
      this.set('keptUntilMs', monotonicMs + callMsMax)
      this.set('keptUntilWallMs', wallMs + callMsMax)
    })
  }

  exclusively(task: () => void): void {
    this.#place.exclusively(task)
  }
}

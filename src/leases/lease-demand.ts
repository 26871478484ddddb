/** The demand for calls of one counter on one node, and the size of the lease that serves it. */

import type { LeaseTimings } from './lease-timings.ts'

/** Time in which the estimate follows a change. */
const MEMORY_MS = 1_000
/** Below this the budget is scarce: a tenth. */
const SCARCE_SHARE = 0.1

export class LeaseDemand {
  #perSecond = 0
  #observedUsed = 0
  #observedMs: number
  #activeMs: number

  constructor(monotonicMs: number) {
    this.#observedMs = monotonicMs
    this.#activeMs = monotonicMs
  }

  /** Notes that a call waits for a lease. */
  touch(monotonicMs: number): void {
    this.#activeMs = monotonicMs
  }

  /** Begins a new count without an effect on the estimate. */
  restart(used: number): void {
    this.#observedUsed = used
  }

  observe(used: number, monotonicMs: number): void {
    const elapsedMs = monotonicMs - this.#observedMs
    if (used !== this.#observedUsed) this.#activeMs = monotonicMs
    if (elapsedMs <= 0) return
    const perSecond = (Math.max(0, used - this.#observedUsed) * 1_000) / elapsedMs
    this.#perSecond += (perSecond - this.#perSecond) * Math.min(1, elapsedMs / MEMORY_MS)
    this.#observedUsed = used
    this.#observedMs = monotonicMs
  }

  idleMs(monotonicMs: number): number {
    return monotonicMs - this.#activeMs
  }

  /** Returns how many calls to lease in advance. An active node keeps one while the budget is not scarce. */
  callsAhead(isScarce: boolean, { aheadMs }: LeaseTimings): number {
    return Math.max(isScarce ? 0 : 1, Math.round((this.#perSecond * aheadMs) / 1_000))
  }
}

export function isScarce(free: number, value: number): boolean {
  return free < value * SCARCE_SHARE
}

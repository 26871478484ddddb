/** The demand for calls of one counter on one node, and the size of the lease that serves it. */

import type { LeaseTimings } from './lease-timings.ts'

/** Below this the budget is scarce: a tenth. */
const SCARCE_SHARE = 0.1

export class LeaseDemand {
  readonly #timings: LeaseTimings
  #perSecond = 0
  #observedUsed = 0
  #observedMs: number
  #activeMs = -Infinity

  constructor(timings: LeaseTimings, monotonicMs: number) {
    this.#timings = timings
    this.#observedMs = monotonicMs
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
    this.#perSecond += (perSecond - this.#perSecond) * Math.min(1, elapsedMs / this.#timings.memoryMs)
    this.#observedUsed = used
    this.#observedMs = monotonicMs
  }

  idleMs(monotonicMs: number): number {
    return monotonicMs - this.#activeMs
  }

  /** Returns how many calls to lease in advance of a `budget` of which `free` is not leased: a multiple of `unit`, what a call needs. */
  callsAhead(isScarce: boolean, free: number, budget: number, unit: number): number {
    const { aheadMs, leastAheadMs, leastAhead } = this.#timings
    const ahead = this.callsIn(aheadMs)
    const most = leastAheadMs === null ? ahead : Math.max(free, this.callsIn(leastAheadMs))
    const least = leastAhead === null ? 1 : Math.min(leastAhead.calls * unit, budget * leastAhead.shareMax)
    const calls = Math.max(isScarce ? 0 : Math.max(unit, least), Math.min(ahead, most))
    return Math.floor(calls / unit) * unit
  }

  callsIn(spanMs: number): number {
    return Math.round((this.#perSecond * spanMs) / 1_000)
  }
}

export function isScarce(free: number, value: number): boolean {
  return free < value * SCARCE_SHARE
}

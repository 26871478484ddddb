/** The demand for calls of one counter on one node, and the size of the lease that serves it. */

import type { LeaseTimings } from './lease-timings.ts'

/** Below this the budget is scarce: a tenth. */
const SCARCE_SHARE = 0.1
/** The first calls say little about the demand: they are divided by at least this share of the memory. */
const LEAST_MEMORY_SHARE = 1 / 6

export class LeaseDemand {
  readonly #timings: LeaseTimings
  #perSecond = 0
  #observedUsed = 0
  #observedMs: number
  /** When the calls began, after a time without any that was longer than the memory. */
  #beganMs: number
  #activeMs = -Infinity

  constructor(timings: LeaseTimings, monotonicMs: number) {
    this.#timings = timings
    this.#observedMs = this.#beganMs = monotonicMs
  }

  /** Notes that a call waits for a lease. */
  touch(monotonicMs: number): void {
    if (this.idleMs(monotonicMs) > this.#timings.memoryMs) {
      this.#beganMs = monotonicMs
      this.#perSecond = 0
    }
    this.#activeMs = monotonicMs
  }

  /** Begins a new count without an effect on the estimate. */
  restart(used: number): void {
    this.#observedUsed = used
  }

  /** The estimate is the average of the calls at first, and follows them more slowly the longer they last. */
  observe(used: number, monotonicMs: number): void {
    const elapsedMs = monotonicMs - this.#observedMs
    if (used !== this.#observedUsed) this.touch(monotonicMs)
    if (elapsedMs <= 0) return
    const calls = Math.max(0, used - this.#observedUsed)
    const { memoryMs } = this.#timings
    const lastingMs = monotonicMs - this.#beganMs
    const leastMs = memoryMs * LEAST_MEMORY_SHARE
    if (lastingMs < leastMs) this.#perSecond += (calls * 1_000) / leastMs
    else {
      const perSecond = (calls * 1_000) / elapsedMs
      this.#perSecond += (perSecond - this.#perSecond) * Math.min(1, elapsedMs / Math.min(memoryMs, lastingMs))
    }
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

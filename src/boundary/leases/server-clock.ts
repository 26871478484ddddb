/**
 * Bounds of the grantor's clock, measured against the monotonic clock of the node.
 *
 * The grantor reads its clock between the sending of a request and the receipt of its reply, so each exchange bounds the difference of
 * the two clocks. A difference outside the bounds known so far shows that one of the clocks was set.
 */

import type { NodeMoment } from './lease-cell.ts'

/** The time of a node, and the bounds of the grantor's clock at that time. */
export interface LeaseMoment extends NodeMoment {
  readonly earliestMs: number
  readonly latestMs: number
}

/** 1 ms per second: twice what NTP slews a clock by. */
const DRIFT = 0.001

export interface Exchange {
  readonly sentMs: number
  readonly receivedMs: number
  /** Clock of the grantor in whole milliseconds, rounded down. */
  readonly serverMs: number
}

export class ServerClock {
  readonly #toleranceMs: number
  readonly #widthMs: number
  #lowMs = 0
  #highMs = 0
  #measuredMs = 0

  /** An exchange that took longer than `widthMs` does not say enough to begin anew with it. */
  constructor(toleranceMs: number, widthMs: number) {
    this.#toleranceMs = toleranceMs
    this.#widthMs = widthMs
  }

  /** Drops all earlier exchanges. */
  reset({ sentMs, receivedMs, serverMs }: Exchange): void {
    this.#lowMs = serverMs - receivedMs
    this.#highMs = serverMs + 1 - sentMs
    this.#measuredMs = receivedMs
  }

  /** Narrows the bounds. Returns false, and changes nothing, if a clock was set by more than the tolerance. */
  accept(exchange: Exchange): boolean {
    const { sentMs, receivedMs, serverMs } = exchange
    const driftMs = (receivedMs - this.#measuredMs) * DRIFT
    const lowMs = Math.max(this.#lowMs - driftMs, serverMs - receivedMs)
    const highMs = Math.min(this.#highMs + driftMs, serverMs + 1 - sentMs)
    if (lowMs > highMs + this.#toleranceMs) return false
    if (lowMs > highMs) {
      if (receivedMs - sentMs <= this.#widthMs) this.reset(exchange)
    } else {
      this.#lowMs = lowMs
      this.#highMs = highMs
      this.#measuredMs = receivedMs
    }
    return true
  }

  /** The grantor's clock is at least this. */
  earliestMs(monotonicMs: number): number {
    return Math.floor(monotonicMs + this.#lowMs - this.#driftMs(monotonicMs))
  }

  /** The grantor's clock is at most this. */
  latestMs(monotonicMs: number): number {
    return Math.ceil(monotonicMs + this.#highMs + this.#driftMs(monotonicMs))
  }

  #driftMs(monotonicMs: number): number {
    return Math.max(0, monotonicMs - this.#measuredMs) * DRIFT
  }
}

/**
 * How much a client reads of one response, for `reader-watch.ts`.
 *
 * A stream waits for its own window, which its client alone opens, or for the connection. While the connection is blocked, the
 * bytes of all its streams count, because its client may read the others first.
 *
 * Clients open a window again when they have read a large part of it: curl grants 5 MB at a time. Bytes that were delivered ahead of
 * the minimum rate therefore count later, up to a bound.
 */

/** At the default rate, they count for two minutes. */
const AHEAD_BYTES_MAX = 524_288
/** A little more than the minimum rate, at which a reader would seem to be too slow whenever a timer is late. */
const COUNTED_RATE = 1.1

export class StreamProgress {
  #own = 0
  #connection: number
  #progress = 0
  #counted = 0
  #at = 0

  constructor(connectionBytes: number) {
    this.#connection = connectionBytes
  }

  /** Returns the bytes that count until now; `own` and `connection` are delivered bytes. */
  measure(own: number, connection: number, isBlocked: boolean, bytesPerSecondMin: number, nowMs: number): number {
    const ownDelta = own - this.#own
    const connectionDelta = connection - this.#connection
    this.#progress += isBlocked ? Math.max(ownDelta, connectionDelta) : ownDelta
    const due = this.#at === 0 ? 0 : (COUNTED_RATE * bytesPerSecondMin * (nowMs - this.#at)) / 1_000
    this.#counted = Math.max(this.#progress - AHEAD_BYTES_MAX, Math.min(this.#progress, this.#counted + due))
    this.#own = own
    this.#connection = connection
    this.#at = nowMs
    return this.#counted
  }
}

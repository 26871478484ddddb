/** The time limits of a client's connection, counted in scans of its server, so that they cost nothing per request. */

import { CLIENT_BOUNDS, REFUSAL_WITHIN_MS } from '../client.ts'

const { headWithinMs, requestWithinMs, idleMs, scanEveryMs } = CLIENT_BOUNDS
const HEAD_SCANS = headWithinMs / scanEveryMs
const REQUEST_SCANS = requestWithinMs / scanEveryMs
const IDLE_SCANS = idleMs / scanEveryMs
const REFUSAL_SCANS = REFUSAL_WITHIN_MS / scanEveryMs

export class ConnectionClock {
  /** A request was received completely. Before that, one is expected, as if its head had begun. */
  hasServed = false
  /** Scans since the last change. */
  #scans = 0
  /** Scans that have seen a part of the same head. */
  #headScans = 0

  /** A head or a request was received, or a response was sent. */
  change(): void {
    this.#scans = this.#headScans = 0
  }

  complete(): void {
    this.hasServed = true
    this.change()
  }

  /** Whether the client has had enough time to read a refusal, which is what was sent last. */
  get isRefusalOver(): boolean {
    return this.#scans > REFUSAL_SCANS
  }

  /** Counts a scan. Returns which time limit is over, or null. */
  scan(isAnswering: boolean, isHeadRead: boolean, isReceiving: boolean): 'request' | 'idle' | null {
    const scans = ++this.#scans
    if (isHeadRead) return scans > REQUEST_SCANS ? 'request' : null
    if (isReceiving || !this.hasServed) return ++this.#headScans > HEAD_SCANS ? 'request' : null
    this.#headScans = 0
    return !isAnswering && scans > IDLE_SCANS ? 'idle' : null
  }
}

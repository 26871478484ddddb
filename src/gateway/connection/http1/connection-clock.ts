/** The time limits of a client's connection, counted in scans of its server, so that they cost nothing per request. */

import { CLIENT_BOUNDS } from '../client.ts'

const { headWithinMs, requestWithinMs, idleMs, scanEveryMs } = CLIENT_BOUNDS
const HEAD_SCANS = headWithinMs / scanEveryMs
const REQUEST_SCANS = requestWithinMs / scanEveryMs
const IDLE_SCANS = idleMs / scanEveryMs

export class ConnectionClock {
  /** A request is arriving; on a new connection, it is expected. */
  isReceiving = true
  isHeadRead = false
  /** Scans since the last change. */
  #scans = 0

  begin(): void {
    this.isReceiving = true
    this.isHeadRead = false
    this.#scans = 0
  }

  complete(): void {
    this.isReceiving = false
    this.#scans = 0
  }

  answered(): void {
    this.#scans = 0
  }

  /** Counts a scan. Returns which time limit is over, or null. */
  scan(isAnswering: boolean): 'request' | 'idle' | null {
    const scans = ++this.#scans
    if (this.isReceiving) return scans > (this.isHeadRead ? REQUEST_SCANS : HEAD_SCANS) ? 'request' : null
    return !isAnswering && scans > IDLE_SCANS ? 'idle' : null
  }
}

/** The time limits of a connection over HTTP/2, counted in scans of its server. */

import { CLIENT_BOUNDS, REFUSAL_WITHIN_MS } from '../client.ts'
import { READ_BYTES_PER_SECOND_MIN } from '../reader-watch.ts'

const { headWithinMs, idleMs, scanEveryMs } = CLIENT_BOUNDS
const HEAD_SCANS = headWithinMs / scanEveryMs
const IDLE_SCANS = idleMs / scanEveryMs
const REFUSAL_SCANS = REFUSAL_WITHIN_MS / scanEveryMs

/** A connection at a scan. */
export interface ScannedConnection {
  /** Nothing is served any more. */
  readonly isOver: boolean
  /** The client has sent its settings. */
  readonly hasBegun: boolean
  /** The client has accepted the bounds of the gateway. */
  readonly isAcknowledged: boolean
  /** A head has arrived in part. */
  readonly isWithinHead: boolean
  readonly openStreams: number
  /** Streams since the beginning, and the last one that the client has opened. */
  readonly streams: number
  readonly lastStream: number
  /** Bytes that the client has accepted since the beginning; bytes wait for it besides. */
  readonly deliveredBytes: number
  readonly isWaitedFor: boolean
}

export class Http2Clock {
  #scans = 0
  #idleScans = 0
  #headScans = 0
  /** At the last scan. */
  #streams = 0
  #lastStream = 0
  #deliveredBytes = 0

  /** The connection is over. */
  end(): void {
    this.#idleScans = 0
  }

  /** Counts a scan. Returns which time limit is over: of a head, the settings, a connection without streams, or its end; or null. */
  scan(seen: ScannedConnection): 'head' | 'settings' | 'idle' | 'end' | null {
    this.#scans++
    // Most streams begin and end between two scans.
    const isIdle = seen.isOver || (seen.openStreams === 0 && seen.streams === this.#streams)
    const readBytes = seen.deliveredBytes - this.#deliveredBytes
    const isReading = seen.isWaitedFor && readBytes >= READ_BYTES_PER_SECOND_MIN
    this.#idleScans = isIdle && !isReading ? this.#idleScans + 1 : 0
    this.#headScans = seen.isWithinHead && seen.lastStream === this.#lastStream ? this.#headScans + 1 : 0
    this.#streams = seen.streams
    this.#lastStream = seen.lastStream
    this.#deliveredBytes = seen.deliveredBytes
    if (seen.isOver) return this.#idleScans > REFUSAL_SCANS ? 'end' : null
    if (this.#headScans > HEAD_SCANS || (!seen.hasBegun && this.#scans > HEAD_SCANS)) return 'head'
    if (!seen.isAcknowledged && this.#scans > HEAD_SCANS) return 'settings'
    return this.#idleScans > IDLE_SCANS ? 'idle' : null
  }
}

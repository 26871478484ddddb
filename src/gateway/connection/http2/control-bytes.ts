/**
 * Bounds the frames that carry no request: PRIORITY, WINDOW_UPDATE, unknown ones, parts of a head that never ends.
 *
 * Node does not report them one by one, and counting them would cost more than they do. Instead, the bytes of a connection are
 * compared in each scan with what its requests and responses can need.
 */

import { CLIENT_BOUNDS } from '../client.ts'
import { HTTP2_BOUNDS } from './http2-bounds.ts'

/** Bytes and streams of a connection since its beginning. */
export interface Traffic {
  readonly receivedBytes: number
  readonly sentBytes: number
  /** Bytes of request bodies that were read. */
  readonly bodyBytes: number
  readonly streams: number
}

/** Allowed per scan without any request. */
const FREE_BYTES = 1_048_576
/** The largest head, and a body that is refused: its client has sent what its window allows. */
const STREAM_BYTES = 2 * CLIENT_BOUNDS.headBytesMax + HTTP2_BOUNDS.streamWindowBytes
/** Frames of a single byte have nine bytes in front of it. */
const BODY_FACTOR = 16
/** Clients acknowledge what they have read in updates of their window. */
const SENT_SHARE = 0.25

export class ControlBytes {
  #last: Traffic = { receivedBytes: 0, sentBytes: 0, bodyBytes: 0, streams: 0 }

  /** Returns whether more has arrived since the last scan than requests and responses can need. */
  isExceededBy(traffic: Traffic): boolean {
    const last = this.#last
    this.#last = traffic
    const allowed =
      FREE_BYTES +
      (traffic.streams - last.streams) * STREAM_BYTES +
      (traffic.bodyBytes - last.bodyBytes) * BODY_FACTOR +
      (traffic.sentBytes - last.sentBytes) * SENT_SHARE
    return traffic.receivedBytes - last.receivedBytes > allowed
  }
}

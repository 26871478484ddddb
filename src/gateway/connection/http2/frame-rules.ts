/** Rules for every frame, in any state of its connection (RFC 9113, 6). */

import { ERROR, FLAG, FRAME } from './frame.ts'

/** Lengths of payloads. PRIORITY of another length concerns its stream only. */
const LENGTHS: ReadonlyMap<number, number> = new Map<number, number>([
  [FRAME.reset, 4],
  [FRAME.ping, 8],
  [FRAME.windowUpdate, 4],
])
const GO_AWAY_BYTES = 8

const OF_CONNECTION: ReadonlySet<number> = new Set([FRAME.settings, FRAME.ping, FRAME.goAway])

/** Returns the error that a frame of a client is; 0 for none. Unknown frames are ignored. */
export function faultInFrame(type: number, flags: number, stream: number, bytes: number): number {
  if (type > FRAME.continuation) return ERROR.none
  if (!isStreamAllowed(type, stream) || type === FRAME.pushPromise) return ERROR.protocol
  const length = LENGTHS.get(type)
  if (length !== undefined && bytes !== length) return ERROR.frameSize
  if (type === FRAME.goAway && bytes < GO_AWAY_BYTES) return ERROR.frameSize
  return type === FRAME.settings && (flags & FLAG.ack) !== 0 && bytes > 0 ? ERROR.frameSize : ERROR.none
}

/** Streams of clients are odd (5.1.1). */
function isStreamAllowed(type: number, stream: number): boolean {
  if (OF_CONNECTION.has(type)) return stream === 0
  if (stream === 0) return type === FRAME.windowUpdate
  return stream % 2 === 1 || type === FRAME.priority
}

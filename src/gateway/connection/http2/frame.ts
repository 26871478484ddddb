/** Numbers of HTTP/2 (RFC 9113, 6 and 7). */

export const FRAME = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const

export const FLAG = { endStream: 0x1, ack: 0x1, endHeaders: 0x4, padded: 0x8, priority: 0x20 } as const

export const ERROR = {
  none: 0,
  protocol: 1,
  internal: 2,
  flowControl: 3,
  settingsTimeout: 4,
  streamClosed: 5,
  frameSize: 6,
  refusedStream: 7,
  cancel: 8,
  compression: 9,
  calm: 11,
} as const

export const SETTING = { tableSize: 1, push: 2, streams: 3, window: 4, frameSize: 5, headBytes: 6 } as const

export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1')
/** Length, type, flags, stream. */
export const FRAME_HEAD_BYTES = 9
/** The largest payload of a frame; peers may offer to receive larger ones. */
export const PAYLOAD_BYTES_MAX = 16_384
/** The send window of each connection, and of its streams until the peer says otherwise. */
export const WINDOW_BYTES = 65_535
export const WINDOW_BYTES_MAX = 0x7fff_ffff
/** The first bit of a stream is reserved. */
export const STREAM_MASK = 0x7fff_ffff

/** Time limits and bounds of connections over HTTP/2, besides those of `CLIENT_BOUNDS`; docs/gateway.md lists them. */

import { CLIENT_BOUNDS } from '../client.ts'

export const HTTP2_BOUNDS = {
  /** Streams that one connection may have open at a time. */
  streamsMax: 100,
  /** Header fields of a request; they may share memory, so that bytes alone do not bound them. */
  headerPairsMax: 1_000,
  /** Bytes of a body that wait until they are read, per stream. */
  streamWindowBytes: 65_535,
  /** Bytes in flight of all bodies of a connection. */
  connectionWindowBytes: 1_048_576,
  /** Interval over which the events below are counted. */
  countedMs: 10_000,
  /** Streams that end before their response because of the client: its resets, and its faults. */
  resetsMax: 100,
  settingsMax: 20,
  pingsMax: 100,
  /** Frames that the protocol does not allow, and empty ones, in the life of a connection. */
  invalidFramesMax: 100,
  /** Frames to acknowledge (PING, SETTINGS) that may wait until the client reads. */
  outstandingMax: 10,
  /** Memory of one connection, in MB, above which its new streams are refused. */
  sessionMegabytesMax: 10,
  /** Bytes of a response that are passed to a stream at once: the progress of its reader is known piece by piece. */
  pieceBytes: 16_384,
} as const

/** A stream and its head in memory. */
const FIELD_BYTES = 32

export function sizeOfField(name: string, value: string): number {
  // RFC 9113, 6.5.2.
  return name.length + value.length + FIELD_BYTES
}

/** Options of `performServerHandshake`. */
export const SESSION_OPTIONS = {
  maxHeaderListPairs: HTTP2_BOUNDS.headerPairsMax,
  maxSessionMemory: HTTP2_BOUNDS.sessionMegabytesMax,
  maxOutstandingPings: HTTP2_BOUNDS.outstandingMax,
  maxOutstandingSettings: HTTP2_BOUNDS.outstandingMax,
  maxSessionInvalidFrames: HTTP2_BOUNDS.invalidFramesMax,
  maxSessionRejectedStreams: HTTP2_BOUNDS.resetsMax,
  /** nghttp2 counts resets before the code below does; it ends the connection if more arrive within one read. */
  streamResetBurst: HTTP2_BOUNDS.resetsMax * 2,
  streamResetRate: (HTTP2_BOUNDS.resetsMax * 1_000) / HTTP2_BOUNDS.countedMs,
  /** nghttp2 would drop such a field; `request-head.ts` refuses it. */
  strictFieldWhitespaceValidation: false,
  /** Backends may repeat a header; a client gets what HTTP/1.1 would have carried. */
  strictSingleValueFields: false,
  settings: {
    enablePush: false,
    maxConcurrentStreams: HTTP2_BOUNDS.streamsMax,
    maxHeaderListSize: CLIENT_BOUNDS.headBytesMax,
    initialWindowSize: HTTP2_BOUNDS.streamWindowBytes,
  },
} as const

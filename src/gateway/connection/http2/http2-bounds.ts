/** Time limits and bounds of connections over HTTP/2, besides those of `CLIENT_BOUNDS`; docs/gateway.md lists them. */

import { CLIENT_BOUNDS } from '../client.ts'
import { SETTING } from './frame.ts'

export const HTTP2_BOUNDS = {
  /** Streams that one connection may have open at a time. */
  streamsMax: 100,
  /** Header fields of a request; they may share memory, so that bytes alone do not bound them. */
  headerPairsMax: 1_000,
  /** Bytes of a header block, which need not be kept. */
  blockBytesMax: 32_768,
  /** Frames in which a head may continue. */
  continuationsMax: 16,
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
  /** DATA frames without a byte. */
  emptyFramesMax: 100,
  /** Bytes that are passed to the socket of a connection before it has sent them. */
  unsentBytes: 65_536,
} as const

/** The settings of the gateway, for each client. */
export const SETTINGS = [
  [SETTING.push, 0],
  [SETTING.streams, HTTP2_BOUNDS.streamsMax],
  [SETTING.window, HTTP2_BOUNDS.streamWindowBytes],
  [SETTING.headBytes, CLIENT_BOUNDS.headBytesMax],
] as const

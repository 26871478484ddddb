/** The settings of a client (RFC 9113, 6.5). */

import { ERROR, PAYLOAD_BYTES_MAX, SETTING, WINDOW_BYTES_MAX } from './frame.ts'

export interface PeerSettings {
  /** Size of the table with which heads are sent; missing: as before. */
  readonly tableSize?: number
  /** Send window of each stream; missing: as before. */
  readonly window?: number
}

const PAIR_BYTES = 6
const FRAME_SIZE_MAX = 0xff_ffff

/** Returns the code of the error that a payload is, instead of settings. */
export function readSettings(payload: Buffer): PeerSettings | number {
  if (payload.length % PAIR_BYTES !== 0) return ERROR.frameSize
  const settings: { tableSize?: number; window?: number } = {}
  for (let at = 0; at < payload.length; at += PAIR_BYTES) {
    const value = payload.readUInt32BE(at + 2)
    switch (payload.readUInt16BE(at)) {
      case SETTING.tableSize:
        settings.tableSize = Math.min(value, settings.tableSize ?? value)
        break
      case SETTING.push:
        if (value > 1) return ERROR.protocol
        break
      case SETTING.window:
        if (value > WINDOW_BYTES_MAX) return ERROR.flowControl
        settings.window = value
        break
      case SETTING.frameSize:
        if (value < PAYLOAD_BYTES_MAX || value > FRAME_SIZE_MAX) return ERROR.protocol
    }
  }
  return settings
}

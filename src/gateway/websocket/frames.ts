/** The parts of frames (RFC 6455, section 5) that the gateway writes itself: it only writes close frames. */

import { randomBytes } from 'node:crypto'

export const CONTROL_BYTES_MAX = 125
export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

/** Codes of close frames (RFC 6455, section 7.4.1). */
export const CLOSE = {
  normal: 1000,
  goingAway: 1001,
  protocolError: 1002,
  invalidText: 1007,
  policy: 1008,
  tooBig: 1009,
  internal: 1011,
  tryAgain: 1013,
} as const

export type CloseCode = (typeof CLOSE)[keyof typeof CLOSE]

/** Returns the payload of a close frame. */
export function closePayload(code: CloseCode, reason = ''): Buffer {
  const payload = Buffer.alloc(2 + Buffer.byteLength(reason))
  payload.writeUInt16BE(code)
  payload.write(reason, 2)
  return payload
}

/** Returns a close frame to a client, or, masked, to a backend. */
export function closeFrame(payload: Buffer, isMasked: boolean): Buffer {
  const mask = isMasked ? randomBytes(4) : Buffer.alloc(0)
  const head = Buffer.from([0x80 | OPCODE.close, (isMasked ? 0x80 : 0) | payload.length])
  return Buffer.concat([head, mask, isMasked ? unmask(payload, mask) : payload])
}

/** Returns the masked or unmasked bytes: both are the same operation. */
export function unmask(payload: Buffer, mask: Buffer): Buffer {
  return Buffer.from(payload.map((byte, index) => byte ^ mask[index & 3]!))
}

/** Whether a close frame may have this code. Others are reserved, or stand for the absence of a code. */
export function isCloseCode(code: number): boolean {
  if (code >= 3000) return code <= 4999
  return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014)
}

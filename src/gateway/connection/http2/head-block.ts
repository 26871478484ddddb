/** A header block that arrives in several frames: HEADERS and CONTINUATION. */

import { FLAG } from './frame.ts'
import { HTTP2_BOUNDS } from './http2-bounds.ts'

/** Dependency and weight, which nothing heeds any more (RFC 9113, 5.3.2). */
const PRIORITY_BYTES = 5

/** Returns the part of a block in a HEADERS frame; null if its padding is longer than the frame. */
export function blockIn(flags: number, payload: Buffer): Buffer | null {
  const isPadded = (flags & FLAG.padded) !== 0
  const start = (isPadded ? 1 : 0) + ((flags & FLAG.priority) !== 0 ? PRIORITY_BYTES : 0)
  const end = payload.length - (isPadded ? payload[0]! : 0)
  return payload.length < start || end < start ? null : payload.subarray(start, end)
}

export class HeadBlock {
  readonly stream: number
  /** The request has no body. */
  readonly isWhole: boolean
  readonly #parts: Buffer[]
  #bytes: number

  constructor(stream: number, isWhole: boolean, first: Buffer) {
    this.stream = stream
    this.isWhole = isWhole
    this.#parts = [Buffer.from(first)]
    this.#bytes = first.length
  }

  /** Returns false if a head has more frames or bytes than any client needs. */
  add(part: Buffer): boolean {
    this.#bytes += part.length
    this.#parts.push(Buffer.from(part))
    return this.#parts.length <= HTTP2_BOUNDS.continuationsMax + 1 && this.#bytes <= HTTP2_BOUNDS.blockBytesMax
  }

  join(): Buffer {
    return Buffer.concat(this.#parts, this.#bytes)
  }
}

/** Collects the frames that are sent to a client, until its connection sends them at once. */

import { FLAG, FRAME, FRAME_HEAD_BYTES, PAYLOAD_BYTES_MAX, WINDOW_BYTES_MAX } from './frame.ts'

/** Up to this size, a payload is copied behind the head of its frame. */
const COPIED_BYTES_MAX = 4_096

export class FrameWriter {
  /** Bytes that wait. */
  bytes = 0
  /** Bytes of frames other than DATA, and of the heads of these, since the beginning. */
  controlBytes = 0
  #parts: Buffer[] = []

  /** Returns what waits, in one piece. */
  take(): Buffer {
    const parts = this.#parts
    const all = parts.length === 1 ? parts[0]! : Buffer.concat(parts, this.bytes)
    this.#parts = []
    this.bytes = 0
    return all
  }

  /** A head in as many frames as it needs. */
  head(stream: number, block: Buffer, isWhole: boolean): void {
    const endStream = isWhole ? FLAG.endStream : 0
    if (block.length <= PAYLOAD_BYTES_MAX) return this.#frame(FRAME.headers, endStream | FLAG.endHeaders, stream, block)
    this.#frame(FRAME.headers, endStream, stream, block.subarray(0, PAYLOAD_BYTES_MAX))
    for (let at = PAYLOAD_BYTES_MAX; at < block.length; at += PAYLOAD_BYTES_MAX) {
      const isLast = at + PAYLOAD_BYTES_MAX >= block.length
      const part = block.subarray(at, at + PAYLOAD_BYTES_MAX)
      this.#frame(FRAME.continuation, isLast ? FLAG.endHeaders : 0, stream, part)
    }
  }

  /** At most `PAYLOAD_BYTES_MAX`. */
  data(stream: number, payload: Buffer, isLast: boolean): void {
    this.#frame(FRAME.data, isLast ? FLAG.endStream : 0, stream, payload)
  }

  settings(pairs: readonly (readonly [id: number, value: number])[]): void {
    const payload = Buffer.allocUnsafe(pairs.length * 6)
    for (const [index, [id, value]] of pairs.entries()) {
      payload.writeUInt16BE(id, index * 6)
      payload.writeUInt32BE(value, index * 6 + 2)
    }
    this.#frame(FRAME.settings, 0, 0, payload)
  }

  acknowledge(type: typeof FRAME.settings | typeof FRAME.ping, payload: Buffer): void {
    this.#frame(type, FLAG.ack, 0, payload)
  }

  ping(payload: Buffer): void {
    this.#frame(FRAME.ping, 0, 0, payload)
  }

  /** Grants a stream more bytes; 0: the connection. */
  windowUpdate(stream: number, bytes: number): void {
    this.#number(FRAME.windowUpdate, stream, bytes)
  }

  reset(stream: number, code: number): void {
    this.#number(FRAME.reset, stream, code)
  }

  /** `lastStream` is the last one that is served; null: there may be others. */
  goAway(lastStream: number | null, code: number): void {
    const payload = Buffer.allocUnsafe(8)
    payload.writeUInt32BE(lastStream ?? WINDOW_BYTES_MAX, 0)
    payload.writeUInt32BE(code, 4)
    this.#frame(FRAME.goAway, 0, 0, payload)
  }

  #number(type: number, stream: number, value: number): void {
    const frame = Buffer.allocUnsafe(FRAME_HEAD_BYTES + 4)
    writeFrameHead(frame, 4, type, 0, stream)
    frame.writeUInt32BE(value, FRAME_HEAD_BYTES)
    this.controlBytes += frame.length
    this.#add(frame)
  }

  #frame(type: number, flags: number, stream: number, payload: Buffer): void {
    const isCopied = payload.length <= COPIED_BYTES_MAX
    const frame = Buffer.allocUnsafe(FRAME_HEAD_BYTES + (isCopied ? payload.length : 0))
    writeFrameHead(frame, payload.length, type, flags, stream)
    if (isCopied) payload.copy(frame, FRAME_HEAD_BYTES)
    this.controlBytes += FRAME_HEAD_BYTES + (type === FRAME.data ? 0 : payload.length)
    this.#add(frame)
    if (!isCopied) this.#add(payload)
  }

  #add(part: Buffer): void {
    this.#parts.push(part)
    this.bytes += part.length
  }
}

function writeFrameHead(into: Buffer, bytes: number, type: number, flags: number, stream: number): void {
  into.writeUIntBE(bytes, 0, 3)
  into[3] = type
  into[4] = flags
  into.writeUInt32BE(stream, 5)
}

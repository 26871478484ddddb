/**
 * Finds the frames in what was read from a client, wherever the reads divide them.
 *
 * The body in DATA frames is passed on as it arrives; every other frame as a whole.
 */

import { ERROR, FLAG, FRAME, FRAME_HEAD_BYTES, PAYLOAD_BYTES_MAX, PREFACE, STREAM_MASK } from './frame.ts'

/** Receives the frames of one connection. No method may throw. The next read overwrites the bytes that they get. */
export interface FrameReceiver {
  onFrame(type: number, flags: number, stream: number, payload: Buffer): void
  /** A DATA frame begins; `bytes` are those of its payload, with padding. */
  onDataFrame(flags: number, stream: number, bytes: number): void
  /** A part of the body. */
  onData(part: Buffer): void
  onDataEnd(): void
  /** `code` is that of the error; null if the client has another protocol. Nothing more is read. */
  onInvalid(code: number | null): void
}

const NOTHING = Buffer.alloc(0)

export class FrameReader {
  readonly #receiver: FrameReceiver
  /** Bytes of the preface that have arrived. */
  #prefaceBytes = 0
  readonly #head = Buffer.allocUnsafe(FRAME_HEAD_BYTES)
  #headBytes = 0
  #type = 0
  #flags = 0
  #stream = 0
  /** Bytes of the payload that are still to arrive. */
  #left = 0
  #isWithinPayload = false
  /** The payload of a frame that arrives in several reads. */
  #payload: Buffer | null = null
  #padding = 0
  #needsPadding = false
  #isStopped = false

  constructor(receiver: FrameReceiver) {
    this.#receiver = receiver
  }

  /** Whether the head of a request has arrived in part. */
  get isWithinHead(): boolean {
    const isHead = this.#type === FRAME.headers || this.#type === FRAME.continuation
    return this.#isWithinPayload && isHead
  }

  /** Reads nothing more. */
  stop(): void {
    this.#isStopped = true
  }

  /** Keeps none of the bytes. */
  parse(bytes: Buffer): void {
    if (this.#isStopped) return
    let at = this.#prefaceBytes < PREFACE.length ? this.#readPreface(bytes) : 0
    while (at < bytes.length && !this.#isStopped) {
      if (!this.#isWithinPayload) at = this.#readHead(bytes, at)
      else if (this.#type === FRAME.data) at = this.#readData(bytes, at)
      else at = this.#readPayload(bytes, at)
    }
  }

  #readPreface(bytes: Buffer): number {
    const start = this.#prefaceBytes
    const length = Math.min(PREFACE.length - start, bytes.length)
    if (PREFACE.compare(bytes, 0, length, start, start + length) !== 0) this.#refuse(null)
    this.#prefaceBytes += length
    return length
  }

  #refuse(code: number | null): void {
    this.#isStopped = true
    this.#receiver.onInvalid(code)
  }

  #readHead(bytes: Buffer, at: number): number {
    const length = Math.min(FRAME_HEAD_BYTES - this.#headBytes, bytes.length - at)
    if (length === FRAME_HEAD_BYTES) this.#begin(bytes, at)
    else {
      bytes.copy(this.#head, this.#headBytes, at, at + length)
      this.#headBytes += length
      if (this.#headBytes === FRAME_HEAD_BYTES) this.#begin(this.#head, 0)
    }
    return at + length
  }

  #begin(head: Buffer, at: number): void {
    this.#headBytes = 0
    const length = head.readUIntBE(at, 3)
    this.#type = head[at + 3]!
    this.#flags = head[at + 4]!
    this.#stream = head.readUInt32BE(at + 5) & STREAM_MASK
    this.#left = length
    if (length > PAYLOAD_BYTES_MAX) return this.#refuse(ERROR.frameSize)
    if (this.#type !== FRAME.data) {
      if (length === 0) this.#receiver.onFrame(this.#type, this.#flags, this.#stream, NOTHING)
      else this.#isWithinPayload = true
      return
    }
    this.#padding = 0
    this.#needsPadding = (this.#flags & FLAG.padded) !== 0
    if (this.#needsPadding && length === 0) return this.#refuse(ERROR.frameSize)
    this.#receiver.onDataFrame(this.#flags, this.#stream, length)
    this.#isWithinPayload = length > 0
    if (length === 0) this.#receiver.onDataEnd()
  }

  #readPayload(bytes: Buffer, at: number): number {
    const length = Math.min(this.#left, bytes.length - at)
    const end = at + length
    if (length === this.#left && this.#payload === null) this.#endPayload(bytes.subarray(at, end))
    else {
      this.#payload ??= Buffer.allocUnsafeSlow(this.#left)
      bytes.copy(this.#payload, this.#payload.length - this.#left, at, end)
      this.#left -= length
      if (this.#left === 0) this.#endPayload(this.#payload)
    }
    return end
  }

  #endPayload(payload: Buffer): void {
    this.#isWithinPayload = false
    this.#payload = null
    this.#receiver.onFrame(this.#type, this.#flags, this.#stream, payload)
  }

  #readData(bytes: Buffer, at: number): number {
    if (this.#needsPadding) {
      this.#needsPadding = false
      this.#padding = bytes[at]!
      this.#left--
      if (this.#padding > this.#left) this.#refuse(ERROR.protocol)
      else if (this.#left === 0) this.#endData()
      return at + 1
    }
    const length = Math.min(this.#left, bytes.length - at)
    const body = Math.min(length, this.#left - this.#padding)
    if (body > 0) this.#receiver.onData(bytes.subarray(at, at + body))
    this.#left -= length
    if (this.#left === 0) this.#endData()
    return at + length
  }

  #endData(): void {
    this.#isWithinPayload = false
    this.#receiver.onDataEnd()
  }
}

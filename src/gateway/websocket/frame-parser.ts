/**
 * Parses the frames of one direction of a WebSocket (RFC 6455, section 5) as they arrive, and passes them on unchanged.
 *
 * Payloads are not kept: memory is a head of at most 14 bytes, and a close frame of at most 131. No byte is passed on before the
 * head of its frame is complete and valid. Whether a text is UTF-8 is left to its receiver.
 */

import { isUtf8 } from 'node:buffer'
import { CLOSE, CONTROL_BYTES_MAX, isCloseCode, OPCODE, unmask, type CloseCode } from './frames.ts'

export interface FrameReceiver {
  /** Bytes of valid frames other than close frames. */
  pass(bytes: Buffer): void
  /** A message of text or data begins. */
  onMessage(): void
  /** The next bytes of the payload of a message. */
  onPayload(bytes: number): void
  /** The close frame, with its payload unmasked; what follows it is ignored. */
  onClose(payload: Buffer): void
}

export interface FrameParserOptions {
  /** Frames of clients are masked, those of backends are not (section 5.1). */
  readonly isMasked: boolean
  readonly messageBytesMax: number
}

const HEAD_BYTES_MAX = 14
const FINAL = 0x80
const RESERVED = 0x70
const MASKED = 0x80
const LENGTH_16 = 126
const LENGTH_64 = 127
/** Results of `#judgeHead`: a part of a head, the head of a frame to pass on, that of a close frame. Codes of faults are higher. */
const INCOMPLETE = 0
const DATA = 1
const CLOSING = 2

export class FrameParser {
  readonly #receiver: FrameReceiver
  readonly #options: FrameParserOptions
  readonly #head = Buffer.alloc(HEAD_BYTES_MAX)
  #headBytes = 0
  #headNeeded = 2
  /** Bytes of a payload that are still to arrive. */
  #payloadLeft = 0
  /** Whether the payload belongs to a message. */
  #isCounted = false
  /** The close frame that arrives. */
  #close: Buffer | null = null
  #closeBytes = 0
  #isWithinMessage = false
  #messageBytes = 0
  #isClosed = false

  constructor(receiver: FrameReceiver, options: FrameParserOptions) {
    this.#receiver = receiver
    this.#options = options
  }

  /** Whether everything that was passed on is whole frames. */
  get isBetweenFrames(): boolean {
    return this.#payloadLeft === 0
  }

  /** Parses the next bytes. Returns 0, or the code with which the connection must be closed; nothing may follow that. */
  parse(chunk: Buffer): CloseCode | 0 {
    let at = 0
    // Everything before was passed on, or is kept.
    let passed = 0
    while (at < chunk.length && !this.#isClosed) {
      if (this.#payloadLeft > 0) {
        at += this.#takePayload(chunk.length - at)
        continue
      }
      if (this.#close === null) {
        const start = at
        const isCarried = this.#headBytes > 0
        at += this.#takeHead(chunk, at)
        const found = this.#judgeHead()
        if (found !== DATA || isCarried) {
          this.#pass(chunk.subarray(passed, start))
          passed = at
        }
        if (found > CLOSING) return found as CloseCode
        if (found === DATA) this.#beginData(isCarried)
        else if (found === CLOSING) this.#beginClose()
      } else passed = at += this.#takeClose(chunk, at)
      const fault = this.#finishClose()
      if (fault !== 0) return fault
    }
    this.#pass(chunk.subarray(passed, at))
    return 0
  }

  #pass(bytes: Buffer): void {
    if (bytes.length > 0) this.#receiver.pass(bytes)
  }

  #takePayload(available: number): number {
    const bytes = Math.min(this.#payloadLeft, available)
    this.#payloadLeft -= bytes
    if (this.#isCounted) this.#receiver.onPayload(bytes)
    return bytes
  }

  #takeHead(chunk: Buffer, from: number): number {
    let at = from
    while (at < chunk.length && this.#headBytes < this.#headNeeded) {
      this.#head[this.#headBytes++] = chunk[at++]!
      if (this.#headBytes === 2) this.#headNeeded = this.#headLength()
    }
    return at - from
  }

  /** Returns the length of the head, by its first two bytes. */
  #headLength(): number {
    const length = this.#head[1]! & ~MASKED
    const extended = length === LENGTH_16 ? 2 : length === LENGTH_64 ? 8 : 0
    return 2 + extended + (this.#options.isMasked ? 4 : 0)
  }

  get #opcode(): number {
    return this.#head[0]! & 0x0f
  }

  /** Judges what has arrived of a head. Returns one of the constants above, or the code of a fault. */
  #judgeHead(): number {
    if (this.#isInvalid()) return CLOSE.protocolError
    if (this.#headBytes < this.#headNeeded) return INCOMPLETE
    if (this.#opcode === OPCODE.close) return CLOSING
    if (this.#opcode > OPCODE.close) return DATA
    const length = this.#payloadLength()
    if (length < 0) return CLOSE.protocolError
    const before = this.#opcode === OPCODE.continuation ? this.#messageBytes : 0
    return before + length > this.#options.messageBytesMax ? CLOSE.tooBig : DATA
  }

  /** Whether one of the first two bytes is invalid. */
  #isInvalid(): boolean {
    const [first, second] = [this.#head[0]!, this.#head[1]!]
    const opcode = this.#opcode
    const isControl = opcode >= OPCODE.close
    if ((first & RESERVED) !== 0 || opcode > OPCODE.pong || (opcode > OPCODE.binary && !isControl)) return true
    if (isControl ? (first & FINAL) === 0 : (opcode === OPCODE.continuation) !== this.#isWithinMessage) return true
    if (this.#headBytes < 2) return false
    const length = second & ~MASKED
    if (((second & MASKED) !== 0) !== this.#options.isMasked) return true
    return isControl && (length > CONTROL_BYTES_MAX || (opcode === OPCODE.close && length === 1))
  }

  /** Returns the length of the payload; -1 if it is negative, or encoded in more bytes than it needs. */
  #payloadLength(): number {
    const length = this.#head[1]! & ~MASKED
    if (length === LENGTH_16) {
      const extended = this.#head.readUInt16BE(2)
      return extended < LENGTH_16 ? -1 : extended
    }
    if (length !== LENGTH_64) return length
    const high = this.#head.readUInt32BE(2)
    const extended = high * 2 ** 32 + this.#head.readUInt32BE(6)
    return high >= 2 ** 31 || extended < 2 ** 16 ? -1 : extended
  }

  #beginData(isCarried: boolean): void {
    const opcode = this.#opcode
    const length = this.#payloadLength()
    this.#isCounted = opcode < OPCODE.close
    if (this.#isCounted) {
      const isContinued = opcode === OPCODE.continuation
      this.#isWithinMessage = (this.#head[0]! & FINAL) === 0
      this.#messageBytes = (isContinued ? this.#messageBytes : 0) + length
      if (!isContinued) this.#receiver.onMessage()
    }
    this.#payloadLeft = length
    if (isCarried) this.#receiver.pass(Buffer.from(this.#head.subarray(0, this.#headBytes)))
    this.#nextHead()
  }

  #beginClose(): void {
    this.#close = Buffer.alloc(this.#headBytes + (this.#head[1]! & ~MASKED))
    this.#closeBytes = this.#head.copy(this.#close, 0, 0, this.#headBytes)
    this.#nextHead()
  }

  #takeClose(chunk: Buffer, from: number): number {
    const bytes = chunk.copy(this.#close!, this.#closeBytes, from)
    this.#closeBytes += bytes
    return bytes
  }

  /** Reports a close frame, if it is complete. */
  #finishClose(): CloseCode | 0 {
    const frame = this.#close
    if (frame === null || this.#closeBytes < frame.length) return 0
    const payload = this.#options.isMasked ? unmask(frame.subarray(6), frame.subarray(2, 6)) : frame.subarray(2)
    if (payload.length > 0 && !isCloseCode(payload.readUInt16BE(0))) return CLOSE.protocolError
    if (!isUtf8(payload.subarray(2))) return CLOSE.invalidText
    this.#isClosed = true
    this.#receiver.onClose(payload)
    return 0
  }

  #nextHead(): void {
    this.#headBytes = 0
    this.#headNeeded = 2
  }
}

/**
 * Reads the rest of a large body of known length without the parser, into memory that is used again.
 *
 * The parser copies each part of a body into memory of its own, which V8 frees on other threads. For a body of 10 MB that takes about
 * as much CPU as everything else. A part that is not written to the other connection at once keeps its memory until it is.
 */

import type { ChunkWriter } from '../chunk-writer.ts'
import { BufferPool, POOLED_BYTES } from './buffer-pool.ts'
import type { MessageParser } from './message-parser.ts'
import { SHARED, type RawReceiver, type SocketReading } from './socket-reading.ts'
import { PARTS_MAX, TurnShare } from './turn-share.ts'

export interface UnparsedBodyReceiver {
  /** The chunk belongs to the receiver. */
  onBody(chunk: Buffer): void
  /** Returns who writes the chunk to another connection; null if the receiver keeps it. */
  onLent(chunk: Buffer): ChunkWriter | null
  /** The parser reads again. `hasSurplus` is true if more bytes than the body have arrived, which are lost. */
  onBodyEnd(hasSurplus: boolean): void
  /** Stops or continues reading. */
  holdBody(isHeld: boolean): void
}

/** Fewer bytes are copied, so that they do not keep much more memory than they need. A shorter rest is not worth the change. */
const LENT_BYTES_MIN = 16_384
const pool = new BufferPool()

export class UnparsedBody implements RawReceiver {
  readonly #reading: SocketReading
  readonly #parser: MessageParser
  readonly #receiver: UnparsedBodyReceiver
  /** Bytes that are read beyond the body, to learn whether there are any. */
  readonly #surplusMax: number
  readonly #share: TurnShare
  #left = 0
  /** Where the next bytes are read; null: into `SHARED`. */
  #buffer: Buffer | null = null
  /** Memory that `#writer` may still need. */
  #lent: Buffer[] = []
  #writer: ChunkWriter | null = null

  constructor(reading: SocketReading, parser: MessageParser, receiver: UnparsedBodyReceiver, surplusMax: 0 | 1) {
    this.#reading = reading
    this.#parser = parser
    this.#receiver = receiver
    this.#surplusMax = surplusMax
    this.#share = new TurnShare((isHeld) => receiver.holdBody(isHeld))
  }

  /** Whether others should have a turn before more is read. */
  get hasManyParts(): boolean {
    return this.#parser.parts.count > PARTS_MAX
  }

  /** A read of the parser has ended within a message. Reads the remaining `bytes` of a body without it if that is worth it. */
  afterRead(bytes: number): void {
    const { parts } = this.#parser
    this.#share.use(parts.count)
    parts.count = 0
    if (bytes < LENT_BYTES_MIN || this.#reading.isOver || this.#left > 0) return
    if (this.#reading.passTo(this)) this.#left = bytes
  }

  /** The connection has ended. */
  close(): void {
    this.#left = 0
    this.#release()
  }

  readonly onRead = (bytes: number, from: Buffer): void => {
    const length = Math.min(bytes, this.#left)
    // The connection has ended.
    if (length === 0) return
    this.#left -= length
    this.#pass(from.subarray(0, length), bytes)
    if (this.#left > 0) this.#share.use()
    else if (!this.#reading.isOver) this.#end(bytes > length)
  }

  #pass(chunk: Buffer, readBytes: number): void {
    const buffer = this.#buffer
    if (this.#writer?.writableLength === 0) this.#releaseLent()
    if (buffer === null || chunk.length < LENT_BYTES_MIN) this.#receiver.onBody(Buffer.from(chunk))
    else {
      const writer = this.#receiver.onLent(chunk)
      if (writer === null) {
        pool.giveAway()
        this.#buffer = null
      } else if (writer.writableLength > 0) this.#lend(buffer, writer)
    }
    // A connection whose bytes arrive slowly needs no memory of its own.
    if (readBytes >= LENT_BYTES_MIN) this.#buffer ??= pool.take()
    else this.#releaseBuffer()
  }

  readonly next = (): Buffer => {
    const buffer = this.#buffer ?? SHARED
    // `SHARED` as a whole is kept for the first read of the next body.
    if (this.#left === 0 || this.#left > POOLED_BYTES) return buffer
    // The last read has room for the surplus.
    const bytes = this.#left + this.#surplusMax
    return buffer.subarray(0, bytes > POOLED_BYTES ? POOLED_BYTES - 1 : bytes)
  }

  #end(hasSurplus: boolean): void {
    this.#release()
    this.#parser.restart()
    this.#reading.passToParser()
    this.#receiver.onBodyEnd(hasSurplus)
  }

  #lend(buffer: Buffer, writer: ChunkWriter): void {
    if (writer !== this.#writer) this.#releaseLent()
    this.#lent.push(buffer)
    this.#writer = writer
    this.#buffer = null
  }

  #release(): void {
    this.#releaseBuffer()
    this.#releaseLent()
  }

  #releaseBuffer(): void {
    if (this.#buffer !== null) pool.giveBack(this.#buffer)
    this.#buffer = null
  }

  #releaseLent(): void {
    const isWritten = this.#writer === null || this.#writer.writableLength === 0
    for (const buffer of this.#lent) {
      if (isWritten) pool.giveBack(buffer)
      else pool.giveAway()
    }
    this.#lent = []
    this.#writer = null
  }
}

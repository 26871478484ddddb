/**
 * Writes a body to a stream, a piece at a time. A stream reports only that a whole write was sent, so that a large chunk would look
 * like a reader that has stopped.
 */

import { HTTP2_BOUNDS } from './http2-bounds.ts'

/** The stream of a response. */
export interface PieceStream {
  readonly writableLength: number
  readonly destroyed: boolean
  cork(): void
  uncork(): void
  write(piece: Buffer, onSent?: (error?: Error | null) => void): boolean
  end(): unknown
}

/** As many bytes may wait before `write` asks for a pause. */
const QUEUED_BYTES_MAX = 65_536

export class PieceWriter {
  readonly #stream: PieceStream
  readonly #onDrain: () => void
  #parts: Buffer[] = []
  #next = 0
  #queuedBytes = 0
  #isSending = false
  #isEnding = false
  #needsDrain = false
  #writtenBytes = 0

  constructor(stream: PieceStream, onDrain: () => void) {
    this.#stream = stream
    this.#onDrain = onDrain
  }

  /** Bytes that are not sent yet. */
  get length(): number {
    return this.#queuedBytes + this.#stream.writableLength
  }

  get deliveredBytes(): number {
    return this.#writtenBytes - this.length
  }

  /** Returns false if the client must read first. */
  write(chunk: Buffer): boolean {
    this.#add(chunk)
    this.#send()
    if (this.length < QUEUED_BYTES_MAX) return true
    this.#needsDrain = true
    return false
  }

  /** Ends the stream after all bytes. */
  end(last: Buffer | null): void {
    if (last !== null && last.length > 0) this.#add(last)
    this.#isEnding = true
    this.#send()
  }

  /** Drops what was not sent. */
  drop(): void {
    this.#parts = []
    this.#next = this.#queuedBytes = 0
  }

  #add(chunk: Buffer): void {
    this.#parts.push(chunk)
    this.#queuedBytes += chunk.length
    this.#writtenBytes += chunk.length
  }

  #send(): void {
    const stream = this.#stream
    if (this.#isSending || stream.destroyed) return
    if (this.#queuedBytes === 0) {
      if (this.#isEnding) stream.end()
      return
    }
    this.#isSending = true
    stream.cork()
    let room: number = HTTP2_BOUNDS.pieceBytes
    while (room > 0 && this.#queuedBytes > 0) {
      const piece = this.#take(room)
      room -= piece.length
      stream.write(piece, room > 0 && this.#queuedBytes > 0 ? undefined : this.#onSent)
    }
    // END_STREAM is then sent with the last bytes.
    if (this.#isEnding && this.#queuedBytes === 0) stream.end()
    stream.uncork()
  }

  #take(room: number): Buffer {
    const part = this.#parts[this.#next]!
    const isWhole = part.length <= room
    const piece = isWhole ? part : part.subarray(0, room)
    if (!isWhole) this.#parts[this.#next] = part.subarray(room)
    else if (++this.#next === this.#parts.length) {
      this.#parts = []
      this.#next = 0
    }
    this.#queuedBytes -= piece.length
    return piece
  }

  readonly #onSent = (error?: Error | null): void => {
    this.#isSending = false
    if (error != null || this.#stream.destroyed) return this.drop()
    if (this.#queuedBytes > 0) return this.#send()
    if (this.#isEnding) return void this.#stream.end()
    if (!this.#needsDrain) return
    this.#needsDrain = false
    this.#onDrain()
  }
}

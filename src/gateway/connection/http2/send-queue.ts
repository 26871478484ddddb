const EMPTY = Buffer.alloc(0)
/** Parts that were taken are kept in front of the others until they are many. */
const TAKEN_MAX = 64

/** Chunks of any size that wait to be sent in frames on a stream. */
export class SendQueue {
  /** Bytes that wait. */
  bytes = 0
  #parts: Buffer[] = []
  #next = 0

  add(chunk: Buffer): void {
    if (chunk.length === 0) return
    this.#parts.push(chunk)
    this.bytes += chunk.length
  }

  /** Removes and returns the first bytes, as many as there are, up to `bytesMax`. */
  take(bytesMax: number): Buffer {
    const part = this.#parts[this.#next]!
    if (part.length >= bytesMax || part.length === this.bytes) return this.#takePart(bytesMax)
    const taken: Buffer[] = []
    let room = bytesMax
    while (room > 0 && this.bytes > 0) {
      const next = this.#takePart(room)
      taken.push(next)
      room -= next.length
    }
    return Buffer.concat(taken, bytesMax - room)
  }

  drop(): void {
    this.#parts = []
    this.#next = this.bytes = 0
  }

  #takePart(bytesMax: number): Buffer {
    const part = this.#parts[this.#next]!
    const isWhole = part.length <= bytesMax
    const taken = isWhole ? part : part.subarray(0, bytesMax)
    this.#parts[this.#next] = isWhole ? EMPTY : part.subarray(bytesMax)
    if (isWhole) this.#next++
    if (this.#next === this.#parts.length || this.#next === TAKEN_MAX) {
      this.#parts = this.#parts.slice(this.#next)
      this.#next = 0
    }
    this.bytes -= taken.length
    return taken
  }
}

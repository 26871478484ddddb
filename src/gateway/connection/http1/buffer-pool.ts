/** Memory for the bodies that are read past the parser, for all connections of a thread. */

export const POOLED_BYTES = 65_536
/** So that bodies that arrive slowly hold a bounded amount of memory. */
const BUFFERS_MAX = 256

export class BufferPool {
  readonly #free: Buffer[] = []
  #count = 0

  /** Returns null if as many buffers as possible are in use. */
  take(): Buffer | null {
    const free = this.#free.pop()
    if (free !== undefined) return free
    if (this.#count >= BUFFERS_MAX) return null
    this.#count++
    // Not within a larger allocation, whose other parts would keep it alive.
    return Buffer.allocUnsafeSlow(POOLED_BYTES)
  }

  giveBack(buffer: Buffer): void {
    this.#free.push(buffer)
  }

  /** The memory has another owner now. */
  giveAway(): void {
    this.#count--
  }
}

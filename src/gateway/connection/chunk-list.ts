/**
 * Collects the chunks of a body, and joins runs of small ones.
 *
 * Each `Buffer` has an overhead of about a hundred bytes, and the client chooses the size of its chunks.
 */

const RUN = 256
const RUN_BYTES_MAX = 65_536
const EMPTY = Buffer.alloc(0)

export class ChunkList {
  bytes = 0
  readonly #chunks: Buffer[] = []
  /** Chunks and bytes since the end of the last run. */
  #run = 0
  #runBytes = 0

  /** Number of buffers. */
  get size(): number {
    return this.#chunks.length
  }

  add(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.bytes += chunk.length
    this.#runBytes += chunk.length
    if (++this.#run < RUN) return
    if (this.#runBytes <= RUN_BYTES_MAX) this.#chunks.push(Buffer.concat(this.#chunks.splice(-RUN), this.#runBytes))
    this.#run = this.#runBytes = 0
  }

  join(): Buffer {
    const [first = EMPTY] = this.#chunks
    return this.#chunks.length > 1 ? Buffer.concat(this.#chunks, this.bytes) : first
  }
}

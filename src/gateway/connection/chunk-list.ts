/**
 * Collects the chunks of a body. Small ones are joined as they come: each is an object that weighs a
 * hundred bytes more than it carries, and a client chooses how small its chunks are.
 */

const RUN = 256
const RUN_BYTES_MAX = 65_536
const NOTHING = Buffer.alloc(0)

export class ChunkList {
  bytes = 0
  readonly #chunks: Buffer[] = []
  /** Chunks and bytes since the last look. */
  #run = 0
  #runBytes = 0

  /** Buffers that are held. */
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
    const [first = NOTHING] = this.#chunks
    return this.#chunks.length > 1 ? Buffer.concat(this.#chunks, this.bytes) : first
  }
}

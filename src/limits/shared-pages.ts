/** Allocates blocks of doubles from pages of shared memory, up to an upper bound. Blocks are never freed. */

export interface Place {
  readonly page: SharedArrayBuffer
  /** In doubles. */
  readonly offset: number
}

const PAGE_DOUBLES = 65_536
const PAGE_BYTES = PAGE_DOUBLES * 8

export class SharedPages {
  readonly #bytesMax: number
  #page: SharedArrayBuffer | null = null
  #bytes = 0
  #used = PAGE_DOUBLES

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Returns null if the block exceeds a page, or the memory its bound. */
  allocate(size: number): Place | null {
    if (size > PAGE_DOUBLES) return null
    if (this.#used + size > PAGE_DOUBLES || this.#page === null) {
      if (this.#bytes + PAGE_BYTES > this.#bytesMax) return null
      this.#page = new SharedArrayBuffer(PAGE_BYTES)
      this.#bytes += PAGE_BYTES
      this.#used = 0
    }
    const place = { page: this.#page, offset: this.#used }
    this.#used += size
    return place
  }
}

/** Returns separate memory for one block, outside the pages. */
export function temporaryPlace(size: number): Place {
  return { page: new SharedArrayBuffer(size * 8), offset: 0 }
}

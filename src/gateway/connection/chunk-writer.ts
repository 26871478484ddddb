/** Who writes the chunks of a body to another connection. The memory of a chunk can be used again once nothing waits to be written. */
export interface ChunkWriter {
  readonly writableLength: number
}

/** For chunks that are not needed. */
export const NOTHING_WAITS: ChunkWriter = Object.freeze({ writableLength: 0 })

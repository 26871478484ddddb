/**
 * A read buffer over a file that is read from front to back.
 *
 * Bytes that the disk cannot read (EIO) become zeros: the batch that contains them does not verify, and the rest of the file is
 * still read.
 */

import { fstatSync, readSync } from 'node:fs'

const WINDOW_BYTES = 1024 * 1024
const PAGE_BYTES = 4096

export class FileWindow {
  readonly #file: number
  #from = 0
  #length = 0
  buffer = new ArrayBuffer(WINDOW_BYTES)
  view = new DataView(this.buffer)

  constructor(file: number) {
    this.#file = file
  }

  /** Discards the buffered bytes, because the file may have grown. */
  reset(): void {
    this.#length = 0
  }

  /**
   * Loads `[offset, offset + bytes)` of the file into `buffer` and returns its position there, a multiple of 8 if `offset` is
   * one. Returns -1 if the file ends earlier.
   */
  load(offset: number, bytes: number): number {
    if (!this.#holds(offset, bytes)) {
      if (bytes > this.buffer.byteLength) {
        if (offset + bytes > fstatSync(this.#file).size) return -1
        this.buffer = new ArrayBuffer(bytes)
        this.view = new DataView(this.buffer)
      }
      this.#from = offset
      this.#length = this.#fill(offset)
      if (this.#length < bytes) return -1
    }
    return offset - this.#from
  }

  /** Number of buffered bytes from `offset` on. */
  heldFrom(offset: number): number {
    return this.#holds(offset, 0) ? this.#from + this.#length - offset : 0
  }

  #holds(offset: number, bytes: number): boolean {
    return offset >= this.#from && offset + bytes <= this.#from + this.#length && this.#length > 0
  }

  #fill(offset: number): number {
    const bytes = new Uint8Array(this.buffer)
    try {
      return readSync(this.#file, bytes, 0, bytes.length, offset)
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'EIO') throw cause
      return this.#fillByPages(bytes, offset)
    }
  }

  #fillByPages(bytes: Uint8Array, offset: number): number {
    const length = Math.max(0, Math.min(bytes.length, fstatSync(this.#file).size - offset))
    bytes.fill(0, 0, length)
    for (let at = 0; at < length;) {
      const part = Math.min(length - at, PAGE_BYTES - ((offset + at) % PAGE_BYTES))
      try {
        readSync(this.#file, bytes, at, part, offset + at)
      } catch (cause) {
        if ((cause as NodeJS.ErrnoException).code !== 'EIO') throw cause
      }
      at += part
    }
    return length
  }
}

/**
 * Finds and verifies batches in a segment file, also after bytes that do not verify.
 *
 * Magic numbers in damaged bytes can announce large batches, so the bytes that scans verify are bounded.
 */

import { fstatSync } from 'node:fs'
import { BATCH_HEADER_BYTES, decodeBatchHeader, isBatchMagic, isWhole, type BatchHeader } from './codec.ts'
import type { FileWindow } from './file-window.ts'

/** Upper bound for the bytes that scans verify: a multiple of the file size, plus a constant for small files. */
const CHECKED_SHARE = 4
const CHECKED_BYTES = 64 * 1024 * 1024

export class BatchScan {
  readonly #file: number
  readonly #window: FileWindow
  #checkedBytes = 0
  /** No valid batch starts in `[from, to)`. */
  #deadEnd = { from: -1, to: -1 }

  constructor(file: number, window: FileWindow) {
    this.#file = file
    this.#window = window
  }

  /** Size of the file, which grows while it is written. */
  get bytes(): number {
    return fstatSync(this.#file).size
  }

  /** Returns the header of the batch at `offset`; null if there is no batch that verifies. */
  batchAt(offset: number): BatchHeader | null {
    const window = this.#window
    const batch = this.headerAt(offset)
    if (batch === null) return null
    const at = window.load(offset, batch.bytes)
    return at >= 0 && isWhole(window.buffer, at, batch) ? batch : null
  }

  /** Returns the header at `offset` without verifying the batch; null if there is none. */
  headerAt(offset: number): BatchHeader | null {
    const at = this.#window.load(offset, BATCH_HEADER_BYTES)
    return at < 0 ? null : decodeBatchHeader(this.#window.view, at)
  }

  /** Returns the offset of the next valid batch after `offset`; null: there is none. */
  next(offset: number): number | null {
    const window = this.#window
    let resumeAt: number | null = null
    let at = this.#nextMagic(this.#deadEnd.from === offset ? this.#deadEnd.to : offset + 8)
    for (; at >= 0; at = this.#nextMagic(at + 8)) {
      const place = window.load(at, BATCH_HEADER_BYTES)
      const batch = place < 0 ? null : decodeBatchHeader(window.view, place)
      // This batch may still be in progress.
      if (place < 0 || (batch !== null && at + batch.bytes > this.bytes)) resumeAt ??= at
      if (batch === null) continue
      this.#checkedBytes += batch.bytes
      if (this.#checkedBytes > CHECKED_BYTES + CHECKED_SHARE * this.bytes) break
      if (this.batchAt(at) !== null) return at
    }
    this.#deadEnd = { from: offset, to: resumeAt ?? Math.max(offset + 8, Math.floor(this.bytes / 8) * 8) }
    return null
  }

  /** Returns the next offset, in steps of 8, with the magic number of a batch; -1: there is none. */
  #nextMagic(offset: number): number {
    const window = this.#window
    let at = offset
    for (let place = window.load(at, 4); place >= 0; place = window.load(at, 4)) {
      const { view } = window
      const end = at + window.heldFrom(at) - 4
      for (; at <= end; at += 8, place += 8) if (isBatchMagic(view.getUint32(place, true))) return at
    }
    return -1
  }
}

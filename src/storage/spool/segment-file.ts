/**
 * Reads one segment: its table of attributions, and batches from any offset.
 *
 * The table is built once, by a walk over the batches from the start, so that a consumer that starts in the middle (a replay, a
 * second consumer) gets the same table and the same batches. Bytes that do not verify are skipped if a valid batch follows. If none
 * follows, reading stops: in a live segment a batch is being written, in a final segment the end is truncated or damaged (`tail`).
 */

import { closeSync, openSync, statSync } from 'node:fs'
import { AttributionTable } from './attribution-table.ts'
import { BatchScan } from './batch-scan.ts'
import { decodeBatchExplanations, decodeDefinitions, type BatchHeader } from './codec.ts'
import { FileWindow } from './file-window.ts'
import { RECORD_BYTES, RecordBatch } from './record-batch.ts'
import { decodeHeader, HEADER_BYTES, type SegmentHeader } from './segment-header.ts'
import { NO_TAIL, tailOf, type Tail } from './segment-tail.ts'

export interface SegmentFile {
  readonly bytes: number
  /** Null if the header is missing or damaged. */
  readonly header: SegmentHeader | null
  /** True after the end marker was read: the writer has continued in another segment. */
  readonly isEnded: boolean
  /**
   * Calls `onBatch` with the whole batches in `[fromOffset, toOffset)` until `bytesMax` are read. Returns the offset after the last
   * one.
   */
  read(fromOffset: number, toOffset: number, bytesMax: number, onBatch: OnBatch, onSkipped?: OnSkipped): number
  /** Classifies the bytes after `offset`, at which `read` has stopped. */
  tail(offset: number): Tail
  close(): void
}

/** `firstRecord` is null in format 1. The end marker of a segment is a batch without records. */
export type OnBatch = (batch: RecordBatch, firstRecord: number | null, offset: number) => void
export type OnSkipped = (stretch: Skipped) => void

/** A byte range whose records cannot be read. */
export interface Skipped {
  readonly from: number
  readonly to: number
  readonly what: 'unreadable' | 'attributions unknown'
  /** Number of the record after the range; null in format 1. */
  readonly nextRecord: number | null
  /** Number of records in the range, as far as it is known without record numbers. */
  readonly records: number
  /** Times of the last record before and the first record after the range; null: unknown. */
  readonly fromMs: number | null
  readonly toMs: number | null
}

/** Stands for a file that cannot be opened. */
export const NO_SEGMENT: SegmentFile = Object.freeze({
  bytes: 0,
  header: null,
  isEnded: false,
  read: (fromOffset: number) => fromOffset,
  tail: () => NO_TAIL,
  close: () => {},
})

export function openSegment(path: string, segmentKey: number): SegmentFile {
  if (!statSync(path).isFile()) throw new Error(`${path} is not a file`)
  return new Segment(openSync(path, 'r'), segmentKey)
}

class Segment implements SegmentFile {
  readonly #file: number
  readonly #segmentKey: number
  readonly #window: FileWindow
  readonly #scan: BatchScan
  readonly #table = new AttributionTable()
  readonly #skipped = new Map<number, Skipped>()
  #header: SegmentHeader | null = null
  #requestPrefix: string | null = null
  /** The table contains the definitions of all batches before this offset. */
  #tableEnd = HEADER_BYTES
  #lastMs: number | null = null
  #isEnded = false

  constructor(file: number, segmentKey: number) {
    this.#file = file
    this.#segmentKey = segmentKey
    this.#window = new FileWindow(file)
    this.#scan = new BatchScan(file, this.#window)
  }

  get bytes(): number {
    return this.#scan.bytes
  }

  get header(): SegmentHeader | null {
    this.#hasHeader()
    return this.#header
  }

  get isEnded(): boolean {
    return this.#isEnded
  }

  read(
    fromOffset: number,
    toOffset: number,
    bytesMax: number,
    onBatch: OnBatch,
    onSkipped: OnSkipped = () => {},
  ): number {
    this.#window.reset()
    if (!this.#hasHeader()) return fromOffset
    const start = Math.max(Math.ceil(fromOffset / 8) * 8, HEADER_BYTES)
    this.#walk(this.#tableEnd, start, Infinity, null, () => {})
    const end = this.#walk(start, toOffset, bytesMax, onBatch, onSkipped)
    return end > start ? end : Math.max(fromOffset, HEADER_BYTES)
  }

  tail(offset: number): Tail {
    return tailOf(this.#window, offset, this.bytes - offset)
  }

  close(): void {
    closeSync(this.#file)
  }

  #walk(from: number, to: number, bytesMax: number, onBatch: OnBatch | null, onSkipped: OnSkipped): number {
    let offset = from
    while (offset < to && offset - from < bytesMax) {
      const next = this.#step(offset, onBatch, onSkipped)
      if (next === offset) break
      offset = next
    }
    // A skipped range may extend beyond `to` if the file was damaged after the first read.
    return from < to ? Math.min(offset, to) : offset
  }

  /** Passes on the batch or the skipped range at `offset`. Returns the offset after it. */
  #step(offset: number, onBatch: OnBatch | null, onSkipped: OnSkipped): number {
    let stretch = this.#skipped.size === 0 ? undefined : this.#skipped.get(offset)
    const batch = stretch === undefined ? this.#scan.batchAt(offset) : null
    if (batch !== null) {
      // Above the end of the table if reading started inside a damaged range.
      if (offset >= this.#tableEnd) stretch = this.#examine(offset, batch)
      if (stretch === undefined) {
        if (onBatch !== null) {
          onBatch(this.#toRecords(this.#window.load(offset, batch.bytes), batch), batch.firstRecord, offset)
        }
        return offset + batch.bytes
      }
    }
    stretch ??= this.#skipUnreadable(offset)
    if (stretch === undefined) return offset
    onSkipped(stretch)
    return stretch.to
  }

  /** Adds the next batch to the table. Returns the skipped range if the batch cannot be used. */
  #examine(offset: number, batch: BatchHeader): Skipped | undefined {
    const { headerBytes, bytes, records, firstRecord } = batch
    this.#tableEnd = offset + bytes
    this.#isEnded = batch.isEnd
    if (batch.isEnd) return undefined
    const at = this.#window.load(offset, bytes)
    const beforeMs = this.#lastMs
    if (records > 0) this.#lastMs = this.#timeAt(at + headerBytes, records - 1)
    if (this.#define(at, batch)) return undefined
    return this.#skip({
      from: offset,
      to: offset + bytes,
      what: 'attributions unknown',
      nextRecord: firstRecord === null ? null : firstRecord + records,
      records,
      fromMs: records > 0 ? this.#timeAt(at + headerBytes, 0) : beforeMs,
      toMs: this.#lastMs,
    })
  }

  #define(at: number, batch: BatchHeader): boolean {
    const table = this.#table
    try {
      const definitions = decodeDefinitions(this.#window.buffer, at, batch)
      this.#requestPrefix ??= definitions.requestPrefix
      if (!table.define(batch.firstDefinition, definitions.attributions)) return false
    } catch {
      return false
    }
    if (!table.hasUnknown) return true
    const records = this.#toRecords(at, batch)
    return table.knows(batch.records, (index) => records.attributionId(index))
  }

  #skipUnreadable(offset: number): Skipped | undefined {
    const to = this.#scan.next(offset)
    if (to === null) return undefined
    // The writer may have completed the batch in the meantime.
    this.#window.reset()
    const next = this.#scan.batchAt(to)
    if (next === null || this.#scan.batchAt(offset) !== null) return undefined
    const toMs = next.records > 0 ? this.#timeAt(this.#window.load(to, next.bytes) + next.headerBytes, 0) : null
    const isOnWalk = offset === this.#tableEnd
    if (isOnWalk) this.#tableEnd = to
    const fromMs = isOnWalk ? (this.#lastMs ?? this.#header?.madeMs ?? null) : null
    const records = this.#recordsWithin(offset, to)
    return this.#skip({ from: offset, to, what: 'unreadable', nextRecord: next.firstRecord, records, fromMs, toMs })
  }

  /** Number of records in a batch that does not verify, if its header is valid and the batch ends at or before `to`. */
  #recordsWithin(offset: number, to: number): number {
    const batch = this.#scan.headerAt(offset)
    return batch !== null && offset + batch.bytes <= to ? batch.records : 0
  }

  #skip(stretch: Skipped): Skipped {
    this.#skipped.set(stretch.from, stretch)
    return stretch
  }

  #toRecords(at: number, batch: BatchHeader): RecordBatch {
    const { buffer } = this.#window
    return new RecordBatch({
      bytes: buffer,
      offset: at + batch.headerBytes,
      count: batch.records,
      segmentKey: this.#segmentKey,
      attributions: this.#table.attributions,
      requestPrefix: this.#requestPrefix ?? '',
      ...(batch.explanationBytes > 0 && { explanations: () => decodeBatchExplanations(buffer, at, batch) }),
    })
  }

  #timeAt(recordsAt: number, index: number): number {
    return this.#window.view.getFloat64(recordsAt + index * RECORD_BYTES + 8, true)
  }

  #hasHeader(): boolean {
    if (this.#header !== null) return true
    const at = this.#window.load(0, HEADER_BYTES)
    if (at < 0) return false
    this.#header = decodeHeader(Buffer.from(this.#window.buffer, at, HEADER_BYTES))
    this.#requestPrefix = this.#header?.requestPrefix ?? this.#requestPrefix
    return true
  }
}

/**
 * Reads one segment: its table of attributions, and batches from any offset.
 *
 * The table is built once, by a walk over the batches from the start, so that a consumer that starts in the middle (a replay, a
 * second consumer) gets the same table and the same batches. Bytes that do not verify are skipped if a valid batch follows. If none
 * follows, reading stops: in a live segment a batch is being written, in a final segment the end is truncated or damaged (`tail`).
 */

import { closeSync, fstatSync, openSync, statSync } from 'node:fs'
import { AttributionTable } from './attribution-table.ts'
import {
  BATCH_HEADER_BYTES,
  decodeBatchExplanations,
  decodeBatchHeader,
  decodeDefinitions,
  isBatchMagic,
  isWhole,
  type BatchHeader,
} from './codec.ts'
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
/** Upper bound for the bytes that scans verify: a multiple of the file size, plus a constant for small files. */
const CHECKED_SHARE = 4
const CHECKED_BYTES = 64 * 1024 * 1024

export function openSegment(path: string, segmentKey: number): SegmentFile {
  if (!statSync(path).isFile()) throw new Error(`${path} is not a file`)
  const file = openSync(path, 'r')
  const window = new FileWindow(file)
  const table = new AttributionTable()
  const skipped = new Map<number, Skipped>()
  let header: SegmentHeader | null = null
  let requestPrefix: string | null = null
  /** The table contains the definitions of all batches before this offset. */
  let tableEnd = HEADER_BYTES
  let lastMs: number | null = null
  let isEnded = false
  let checkedBytes = 0
  /** No valid batch starts in `[from, to)`. */
  let deadEnd = { from: -1, to: -1 }

  const size = (): number => fstatSync(file).size

  function read(
    fromOffset: number,
    toOffset: number,
    bytesMax: number,
    onBatch: OnBatch,
    onSkipped: OnSkipped = () => {},
  ): number {
    window.reset()
    if (!hasHeader()) return fromOffset
    const start = Math.max(Math.ceil(fromOffset / 8) * 8, HEADER_BYTES)
    walk(tableEnd, start, Infinity, null, () => {})
    const end = walk(start, toOffset, bytesMax, onBatch, onSkipped)
    return end > start ? end : Math.max(fromOffset, HEADER_BYTES)
  }

  function walk(from: number, to: number, bytesMax: number, onBatch: OnBatch | null, onSkipped: OnSkipped): number {
    let offset = from
    while (offset < to && offset - from < bytesMax) {
      const next = step(offset, onBatch, onSkipped)
      if (next === offset) break
      offset = next
    }
    // A skipped range may extend beyond `to` if the file was damaged after the first read.
    return from < to ? Math.min(offset, to) : offset
  }

  /** Passes on the batch or the skipped range at `offset`. Returns the offset after it. */
  function step(offset: number, onBatch: OnBatch | null, onSkipped: OnSkipped): number {
    let stretch = skipped.size === 0 ? undefined : skipped.get(offset)
    const batch = stretch === undefined ? batchAt(offset) : null
    if (batch !== null) {
      if (offset === tableEnd) stretch = examine(offset, batch)
      if (stretch === undefined) {
        if (onBatch !== null) onBatch(toRecords(window.load(offset, batch.bytes), batch), batch.firstRecord, offset)
        return offset + batch.bytes
      }
    }
    stretch ??= skipUnreadable(offset)
    if (stretch === undefined) return offset
    onSkipped(stretch)
    return stretch.to
  }

  /** Adds the next batch to the table. Returns the skipped range if the batch cannot be used. */
  function examine(offset: number, batch: BatchHeader): Skipped | undefined {
    const { headerBytes, bytes, records, firstRecord } = batch
    tableEnd = offset + bytes
    isEnded = batch.isEnd
    if (batch.isEnd) return undefined
    const at = window.load(offset, bytes)
    const beforeMs = lastMs
    if (records > 0) lastMs = timeAt(at + headerBytes, records - 1)
    if (define(at, batch)) return undefined
    return skip({
      from: offset,
      to: offset + bytes,
      what: 'attributions unknown',
      nextRecord: firstRecord === null ? null : firstRecord + records,
      records,
      fromMs: records > 0 ? timeAt(at + headerBytes, 0) : beforeMs,
      toMs: lastMs,
    })
  }

  function define(at: number, batch: BatchHeader): boolean {
    try {
      const definitions = decodeDefinitions(window.buffer, at, batch)
      requestPrefix ??= definitions.requestPrefix
      if (!table.define(batch.firstDefinition, definitions.attributions)) return false
    } catch {
      return false
    }
    if (!table.hasUnknown) return true
    const records = toRecords(at, batch)
    return table.knows(batch.records, (index) => records.attributionId(index))
  }

  function skipUnreadable(offset: number): Skipped | undefined {
    const to = scan(offset)
    if (to === null) return undefined
    // The writer may have completed the batch in the meantime.
    window.reset()
    const next = batchAt(to)
    if (next === null || batchAt(offset) !== null) return undefined
    const toMs = next.records > 0 ? timeAt(window.load(to, next.bytes) + next.headerBytes, 0) : null
    const isOnWalk = offset === tableEnd
    if (isOnWalk) tableEnd = to
    const fromMs = isOnWalk ? (lastMs ?? header?.madeMs ?? null) : null
    const records = recordsWithin(offset, to)
    return skip({ from: offset, to, what: 'unreadable', nextRecord: next.firstRecord, records, fromMs, toMs })
  }

  /** Number of records in a batch that does not verify, if its header is valid and the batch ends at or before `to`. */
  function recordsWithin(offset: number, to: number): number {
    const at = window.load(offset, BATCH_HEADER_BYTES)
    const batch = at < 0 ? null : decodeBatchHeader(window.view, at)
    return batch !== null && offset + batch.bytes <= to ? batch.records : 0
  }

  function skip(stretch: Skipped): Skipped {
    skipped.set(stretch.from, stretch)
    return stretch
  }

  /** Returns the offset of the next valid batch after `offset`; null: there is none. */
  function scan(offset: number): number | null {
    let resumeAt: number | null = null
    let at = nextMagic(deadEnd.from === offset ? deadEnd.to : offset + 8)
    for (; at >= 0; at = nextMagic(at + 8)) {
      const place = window.load(at, BATCH_HEADER_BYTES)
      const batch = place < 0 ? null : decodeBatchHeader(window.view, place)
      // This batch may still be in progress.
      if (place < 0 || (batch !== null && at + batch.bytes > size())) resumeAt ??= at
      if (batch === null) continue
      checkedBytes += batch.bytes
      if (checkedBytes > CHECKED_BYTES + CHECKED_SHARE * size()) break
      if (batchAt(at) !== null) return at
    }
    deadEnd = { from: offset, to: resumeAt ?? Math.max(offset + 8, Math.floor(size() / 8) * 8) }
    return null
  }

  /** Returns the next offset, in steps of 8, with the magic number of a batch; -1: there is none. */
  function nextMagic(offset: number): number {
    let at = offset
    for (let place = window.load(at, 4); place >= 0; place = window.load(at, 4)) {
      const { view } = window
      const end = at + window.heldFrom(at) - 4
      for (; at <= end; at += 8, place += 8) if (isBatchMagic(view.getUint32(place, true))) return at
    }
    return -1
  }

  function batchAt(offset: number): BatchHeader | null {
    let at = window.load(offset, BATCH_HEADER_BYTES)
    if (at < 0) return null
    const batch = decodeBatchHeader(window.view, at)
    if (batch === null) return null
    at = window.load(offset, batch.bytes)
    return at >= 0 && isWhole(window.buffer, at, batch) ? batch : null
  }

  function toRecords(at: number, batch: BatchHeader): RecordBatch {
    return new RecordBatch({
      bytes: window.buffer,
      offset: at + batch.headerBytes,
      count: batch.records,
      segmentKey,
      attributions: table.attributions,
      requestPrefix: requestPrefix ?? '',
      ...(batch.explanationBytes > 0 && { explanations: () => decodeBatchExplanations(window.buffer, at, batch) }),
    })
  }

  function timeAt(recordsAt: number, index: number): number {
    return window.view.getFloat64(recordsAt + index * RECORD_BYTES + 8, true)
  }

  function hasHeader(): boolean {
    if (header !== null) return true
    const at = window.load(0, HEADER_BYTES)
    if (at < 0) return false
    header = decodeHeader(Buffer.from(window.buffer, at, HEADER_BYTES))
    requestPrefix = header?.requestPrefix ?? requestPrefix
    return true
  }

  const tail = (offset: number): Tail => tailOf(window, offset, size() - offset)

  return {
    get bytes() {
      return size()
    },
    get header() {
      hasHeader()
      return header
    },
    get isEnded() {
      return isEnded
    },
    read,
    tail,
    close: () => closeSync(file),
  }
}

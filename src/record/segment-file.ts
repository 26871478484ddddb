/**
 * One segment as the reader sees it: its table of attributions, and batches from any offset.
 *
 * The table is built by a walk over the batches from the start, once; whoever begins in the middle
 * (a replay, a second consumer at another position) gets the same table. Reading stops at the first
 * batch that is not whole: of a live segment it is being written, of a dead one it is torn.
 */

import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import type { Attribution } from '../domain/attribution.ts'
import {
  BATCH_HEADER_BYTES,
  decodeBatchExplanations,
  decodeBatchHeader,
  decodeDefinitions,
  decodeHeader,
  HEADER_BYTES,
  isWhole,
  type BatchHeader,
} from './codec.ts'
import { RecordBatch } from './record-batch.ts'

const CHUNK_BYTES = 1024 * 1024

export interface SegmentFile {
  readonly bytes: number
  /**
   * Hands over whole batches of `[fromOffset, toOffset)` until `bytesMax` are read, and answers the
   * offset after the last one.
   */
  read(fromOffset: number, toOffset: number, bytesMax: number, onBatch: (batch: RecordBatch) => void): number
  close(): void
}

export function openSegment(path: string, segmentKey: number): SegmentFile {
  const file = openSync(path, 'r')
  const attributions: Attribution[] = []
  let requestPrefix: string | null = null
  let tableEnd = HEADER_BYTES
  let buffer = new ArrayBuffer(CHUNK_BYTES)

  function read(fromOffset: number, toOffset: number, bytesMax: number, onBatch: (batch: RecordBatch) => void): number {
    if (!hasHeader()) return fromOffset
    const start = Math.max(fromOffset, HEADER_BYTES)
    if (start > tableEnd) walk(tableEnd, start, Infinity, () => {})
    return walk(start, toOffset, bytesMax, (offset, header) => {
      if (header.records === 0) return
      onBatch(
        new RecordBatch({
          bytes: buffer,
          offset: offset + BATCH_HEADER_BYTES,
          count: header.records,
          segmentKey,
          attributions,
          requestPrefix: requestPrefix ?? '',
          ...(header.explanationBytes > 0 && {
            explanations: () => decodeBatchExplanations(buffer, offset, header),
          }),
        }),
      )
    })
  }

  /** Calls `visit` with the place in `buffer` of each whole batch that starts in `[from, to)` of the file. */
  function walk(from: number, to: number, bytesMax: number, visit: (at: number, header: BatchHeader) => void): number {
    let offset = from
    while (offset < to && offset - from < bytesMax) {
      const filled = fill(offset)
      const view = new DataView(buffer, 0, filled)
      let at = 0
      while (offset + at < to && offset + at - from < bytesMax) {
        const header = decodeBatchHeader(view, at)
        if (header === null || at + header.bytes > filled || !isWhole(buffer, at, header)) break
        define(offset + at, at, header)
        visit(at, header)
        at += header.bytes
      }
      offset += at
      if (at > 0) continue
      const header = decodeBatchHeader(view, 0)
      if (header === null || header.bytes <= buffer.byteLength || offset + header.bytes > fstatSync(file).size) break
      buffer = new ArrayBuffer(header.bytes)
    }
    return offset
  }

  function define(offset: number, at: number, header: BatchHeader): void {
    if (offset < tableEnd) return
    tableEnd = offset + header.bytes
    for (const attribution of decodeDefinitions(buffer, at, header)) attributions.push(attribution)
  }

  function fill(offset: number): number {
    return readSync(file, new Uint8Array(buffer), 0, buffer.byteLength, offset)
  }

  function hasHeader(): boolean {
    if (requestPrefix !== null) return true
    const header = Buffer.alloc(HEADER_BYTES)
    if (readSync(file, header, 0, HEADER_BYTES, 0) < HEADER_BYTES) return false
    requestPrefix = decodeHeader(header)
    return requestPrefix !== null
  }

  return {
    get bytes() {
      return fstatSync(file).size
    },
    read,
    close: () => closeSync(file),
  }
}

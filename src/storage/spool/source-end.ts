/**
 * Determines where a writer continues the spool of a source: after the last segment and the last record number.
 *
 * For an intact segment the batch headers suffice, which keeps startup fast. If the headers contradict each other, the segment is
 * read with checksums, exactly as the reader does, so that both count the same records.
 */

import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { BATCH_HEADER_BYTES, decodeBatchHeader, isWhole } from './codec.ts'
import { FileWindow } from './file-window.ts'
import { openSegment, type SegmentFile } from './segment-file.ts'
import { HEADER_BYTES } from './segment-header.ts'
import { segmentName } from './segment-name.ts'
import { segmentsIn } from './spool-folder.ts'

export interface SourceEnd {
  /** 0: there is none. */
  readonly lastSegment: number
  /** Number of the next record. */
  readonly nextRecord: number
}

/** If the last segment is damaged, the segment before it yields the lower bound of the record number. */
export function findSourceEnd(folder: string): SourceEnd {
  const segments = segmentsIn(folder)
  const lastSegment = segments.at(-1) ?? 0
  for (const segment of segments.toReversed()) {
    const nextRecord = nextRecordOf(join(folder, segmentName(segment)))
    if (nextRecord !== null) return { lastSegment, nextRecord }
  }
  return { lastSegment, nextRecord: 0 }
}

/** Null: the segment does not yield a record number. */
function nextRecordOf(path: string): number | null {
  let segment: SegmentFile | null = null
  try {
    segment = openSegment(path, 0)
    if (segment.header !== null && segment.header.firstRecord === null) return null
    const quick = endByHeaders(path, segment.bytes)
    if (quick !== null) return quick
    return endByBatches(segment)
  } catch {
    return null
  } finally {
    segment?.close()
  }
}

/** Follows the lengths in the batch headers and verifies only the last batch. Null: the lengths do not add up to the file. */
function endByHeaders(path: string, bytes: number): number | null {
  const file = openSync(path, 'r')
  try {
    const window = new FileWindow(file)
    let last = -1
    let next = 0
    let offset = HEADER_BYTES
    while (offset < bytes) {
      const at = window.load(offset, BATCH_HEADER_BYTES)
      const batch = at < 0 ? null : decodeBatchHeader(window.view, at)
      if (batch === null || batch.firstRecord === null) return null
      last = offset
      // Batches that were copied within the segment have lower numbers.
      next = Math.max(next, batch.firstRecord + batch.records)
      offset += batch.bytes
    }
    if (last < 0 || offset !== bytes) return null
    const batch = decodeBatchHeader(window.view, window.load(last, BATCH_HEADER_BYTES))
    const at = batch === null ? -1 : window.load(last, batch.bytes)
    if (batch === null || batch.firstRecord === null || at < 0 || !isWhole(window.buffer, at, batch)) return null
    return next
  } finally {
    closeSync(file)
  }
}

function endByBatches(segment: SegmentFile): number | null {
  let next = segment.header?.firstRecord ?? null
  const offset = segment.read(
    HEADER_BYTES,
    Infinity,
    Infinity,
    (batch, firstRecord) => (next = firstRecord === null ? next : Math.max(next ?? 0, firstRecord + batch.count)),
    // A copy may follow here as well.
    ({ nextRecord }) => (next = nextRecord === null ? next : Math.max(next ?? 0, nextRecord)),
  )
  return next === null ? null : next + segment.tail(offset).records
}

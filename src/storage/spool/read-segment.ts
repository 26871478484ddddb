/**
 * Reads a range of one segment and detects missing records by their numbers.
 *
 * `expected` is the number of the next record. A batch, a skipped range or a segment that starts with a higher number proves how
 * many records are missing. The position carries the number, so that a gap is detected even if its two sides are read in separate
 * calls. Records with a lower number were read before, and are never read again: their segment, or a part of it, was copied. Segments
 * of format 1 have no record numbers, so only the damage itself is detected.
 */

import type { SpoolPlace } from '../store/checkpoint.ts'
import type { MissingRecords, Place } from './missing-records.ts'
import type { RecordBatch } from './record-batch.ts'
import type { SegmentFile, Skipped } from './segment-file.ts'
import { HEADER_BYTES } from './segment-header.ts'

export interface SegmentReading {
  readonly source: string
  readonly segment: number
  /** True if the start position refers to this segment. */
  readonly isNamed: boolean
  /** Path relative to `DATA_DIR`. */
  readonly name: string
  readonly file: SegmentFile
  readonly missing: MissingRecords
  readonly keep: () => void
  /** Time of the last record that was read from the source; null: none in this process. */
  lastMs: number | null
}

/**
 * The next segment. `numbered`: its writer also wrote earlier segments, so its record number accounts for all their records.
 * `none`: there is no next segment, or a writer started with it after a restart and counted only the records that it found.
 */
export type Follower = 'numbered' | 'damaged' | 'none'

/** Reads batches from `place` to `until`, or to the end if `until` is null. Returns the place after the last batch. */
export function readSegment(
  reading: SegmentReading,
  place: SpoolPlace,
  until: SpoolPlace | null,
  bytesMax: number,
  onBatch: (batch: RecordBatch) => void,
): SpoolPlace {
  const { source, segment, name, file, missing, keep } = reading
  const to = until?.offset ?? Infinity
  let expected =
    place.offset <= HEADER_BYTES || file.header?.isReleased === true ? enter(reading, place) : place.records

  function gap(at: Place, next: number, isExact = true): void {
    if (expected !== undefined && next > expected) missing.numbered(source, at, expected, next, isExact)
    expected = next
  }

  function skipped(stretch: Skipped): void {
    keep()
    if (stretch.to > to) return
    const { what, nextRecord, records, fromMs, toMs } = stretch
    const at: Place = { file: name, what: SKIPPED[what], fromMs: fromMs ?? reading.lastMs, toMs }
    if (nextRecord === null || expected === undefined) {
      missing.unnumbered(`${name} ${stretch.from}`, at, records)
      if (nextRecord !== null) expected = nextRecord
    } else if (nextRecord > expected) gap(at, nextRecord)
    else missing.harmless(`${name} ${stretch.from}`, at)
  }

  /** Skips a batch that begins with a record that was read before. */
  function repeated(first: number, count: number): void {
    keep()
    const at: Place = { file: name, what: WHAT.repeated, fromMs: reading.lastMs, toMs: null }
    missing.harmless(`${name} repeated`, at)
    // Its other records cannot be told apart from copies.
    gap({ ...at, what: WHAT.cutOut }, Math.max(expected ?? 0, first + count))
  }

  const offset = file.read(
    place.offset,
    to,
    bytesMax,
    (batch, first) => {
      const { count } = batch
      if (first !== null) {
        const toMs = count > 0 ? batch.timeMs(0) : null
        if (expected !== undefined && first < expected) return repeated(first, count)
        if (first !== expected) gap({ file: name, what: WHAT.cutOut, fromMs: reading.lastMs, toMs }, first)
        expected = first + count
      }
      if (count === 0) return
      reading.lastMs = batch.timeMs(count - 1)
      onBatch(batch)
    },
    skipped,
  )
  return toPlace(segment, Math.max(offset, place.offset), expected)
}

/**
 * Classifies the bytes after the last whole batch of a final segment. A truncated batch is the result of a crash; anything else is
 * damage. If the next segment is `numbered`, its first record number determines how many records are missing.
 */
export function finishSegment(
  reading: SegmentReading,
  place: SpoolPlace,
  follower: Follower,
  onTorn: (bytes: number) => void,
): SpoolPlace {
  const { source, name, file, missing, keep, lastMs } = reading
  const { segment, offset, records } = place
  const tail = file.tail(offset)
  if (tail.kind !== 'none') onTorn(tail.bytes)
  const what = problemOf(reading, place, follower) ?? (tail.kind === 'damaged' ? WHAT.tail : null)
  if (what === null) return place
  if (what !== WHAT.next) keep()
  if (follower === 'numbered' && records !== undefined) return place
  const at = { file: name, what, fromMs: lastMs ?? file.header?.madeMs ?? null, toMs: null }
  if (tail.records === 0 || records === undefined) {
    missing.unnumbered(`${name} end`, at, tail.records)
    return place
  }
  missing.numbered(source, at, records, records + tail.records, false)
  return toPlace(segment, offset + tail.bytes, records + tail.records)
}

function problemOf({ file, isNamed }: SegmentReading, place: SpoolPlace, follower: Follower): string | null {
  const { offset, records } = place
  const { header, bytes, isEnded } = file
  if (header?.isReleased === true) return null
  // Earlier versions released the last segment by emptying it.
  if (bytes === 0 && records === undefined && isNamed) return null
  if (bytes < HEADER_BYTES) return WHAT.empty
  if (bytes < offset) return WHAT.shorter
  // Neither the header nor a batch yields the number of earlier records.
  if (header === null && offset <= HEADER_BYTES) return WHAT.header
  return isEnded && follower === 'none' ? WHAT.next : null
}

export function toPlace(segment: number, offset: number, records: number | undefined): SpoolPlace {
  return records === undefined ? { segment, offset } : { segment, offset, records }
}

/** Compares the header of a segment with the expected record number. Returns the number of its first record. */
function enter(
  { source, name, file, missing, keep, lastMs }: SegmentReading,
  { records }: SpoolPlace,
): number | undefined {
  const { header, bytes } = file
  if (header === null) {
    if (bytes >= HEADER_BYTES) {
      keep()
      missing.harmless(`${name} header`, { file: name, what: WHAT.header, fromMs: null, toMs: null })
    }
    return records
  }
  const { firstRecord, continues, madeMs, isReleased } = header
  if (firstRecord === null) return records
  if (records !== undefined && firstRecord > records) {
    const what = isReleased ? WHAT.released : WHAT.before
    const isExact = continues > 0 || isReleased
    missing.numbered(source, { file: name, what, fromMs: lastMs, toMs: madeMs }, records, firstRecord, isExact)
  }
  return Math.max(firstRecord, records ?? 0)
}

const SKIPPED = {
  unreadable: 'A part of a spool segment is damaged.',
  'attributions unknown':
    'Records of a spool segment have unknown consumers, because an earlier part of the segment is damaged.',
} as const satisfies Record<Skipped['what'], string>

export const WHAT = {
  header: 'The header of a spool segment is damaged.',
  before: 'Records before a spool segment are missing: a segment is missing or truncated.',
  cutOut: 'A part of a spool segment is missing.',
  repeated: 'A spool segment has records that were read before; they are not billed again.',
  released: 'The checkpoint is older than records that were already processed and removed.',
  shorter: 'A spool segment is shorter than the position in the checkpoint.',
  empty: 'A spool segment has no complete header and no records.',
  gone: 'A spool segment that the checkpoint refers to is missing.',
  next: 'The next spool segment is missing.',
  tail: 'The end of a spool segment is damaged.',
  range: 'Spool records that were read before can no longer be read.',
} as const

/**
 * Reads the spools of all gateway threads, oldest segment first, whole batches only.
 *
 * Live reading and replay after a crash use the same code. A segment is final if it existed before this process started, or if its
 * writer has started another one. A truncated batch at the end of a final segment (a torn tail) is skipped and counted: no client
 * has received the responses of its calls.
 *
 * All other unreadable data is damage. It is skipped and reported with the number of missing records; reading the same range again
 * yields the same batches. A damaged segment is kept (`damaged-segments.ts`) and never stops the reader.
 */

import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolder } from '../runtime/sync-folder.ts'
import type { SpoolPlace, SpoolPosition } from '../store/checkpoint.ts'
import type { OnDamage } from './damage.ts'
import { keepDamaged, moveDamaged } from './damaged-segments.ts'
import { createMissingRecords } from './missing-records.ts'
import { createOpenSegments } from './open-segments.ts'
import { finishSegment, readSegment, toPlace, WHAT, type Follower, type SegmentReading } from './read-segment.ts'
import type { RecordBatch } from './record-batch.ts'
import type { SegmentFile } from './segment-file.ts'
import { HEADER_BYTES, replaceByReleased } from './segment-header.ts'
import { segmentName } from './segment-name.ts'
import { bytesIn, foldersIn, lastSegments, removeTemporaries, segmentsIn } from './spool-folder.ts'
import type { SpoolGauge } from './spool-gauge.ts'

export interface SpoolReader {
  /**
   * Calls `onBatch` with every whole batch from `position` to the current end, or to `until`. Returns the position after the last
   * batch. Reads synchronously from the page cache, about `bytesMax` at most (default 16 MiB), so that a long replay does not block
   * the event loop.
   */
  read(position: SpoolPosition, onBatch: (batch: RecordBatch) => void, options?: ReadOptions): SpoolPosition
  /** Deletes or empties segments that have no records after `position` and never will. */
  release(position: SpoolPosition): void
  /** Calls `listener` after records were written; several writes may share a call. Returns a function that unsubscribes. */
  onGrowth(listener: () => void): () => void
  close(): void
}

export interface ReadOptions {
  readonly until?: SpoolPosition
  readonly bytesMax?: number
}

export interface SpoolReaderOptions {
  /** `DATA_DIR/spool`, with one folder per source. */
  readonly folder: string
  readonly gauge: SpoolGauge
  /** Called once for each torn tail. */
  readonly onTornTail: (path: string, bytes: number) => void
  readonly onDamage: OnDamage
  /** Billed position: earlier records are in the store, so they are never missing. A source without an entry is new. */
  readonly billed?: SpoolPosition
}

/** A reader with `notify`, which writers call after a write. */
export interface OpenSpoolReader extends SpoolReader {
  notify(): void
}

const READ_BYTES_MAX = 16 * 1024 * 1024
const START: SpoolPlace = { segment: 0, offset: 0 }

export function openSpoolReader(options: SpoolReaderOptions): OpenSpoolReader {
  const { folder, gauge, onTornTail, onDamage, billed } = options
  makeFolder(folder, 0o700)
  removeTemporaries(folder)
  const open = createOpenSegments()
  const listeners = new Set<() => void>()
  const torn = new Set<string>()
  const kept = new Set<string>()
  /** Damaged segments that could not be linked: they are moved when they are released. */
  const notKept = new Set<string>()
  /** Final segments that were read completely, with the offset of their readable end. */
  const finished = new Map<string, number>()
  const lastMs = new Map<string, number>()
  const missing = createMissingRecords(billed ?? {}, onDamage)
  const found = lastSegments(folder)
  gauge.add(bytesIn(folder))

  function read(from: SpoolPosition, onBatch: (batch: RecordBatch) => void, options: ReadOptions = {}): SpoolPosition {
    const { until, bytesMax = READ_BYTES_MAX } = options
    const position: Record<string, SpoolPlace> = { ...from }
    let left = bytesMax
    const sources = until === undefined ? sourcesOf(from) : Object.keys(until).sort()
    for (const [index, source] of sources.entries()) {
      const start = from[source] ?? startOf(source)
      // Equal shares: records that were written at the same time are read at about the same time, even in a long replay.
      const share = Math.max(1, left / (sources.length - index))
      const end = readSource(source, start, until?.[source], share, onBatch, (bytes) => (left -= bytes))
      if (end.segment > 0) position[source] = end
      missing.flush()
    }
    return position
  }

  /** Includes sources whose folder was removed; only the position still refers to them. */
  function sourcesOf(from: SpoolPosition): string[] {
    return [...new Set([...foldersIn(folder), ...Object.keys(from)])].sort()
  }

  /** Record numbers start at 0, unless an earlier version wrote the source. */
  function startOf(source: string): SpoolPlace {
    return billed === undefined || billed[source] !== undefined ? START : { ...START, records: 0 }
  }

  function readSource(
    source: string,
    start: SpoolPlace,
    until: SpoolPlace | undefined,
    bytesMax: number,
    onBatch: (batch: RecordBatch) => void,
    onRead: (bytes: number) => void,
  ): SpoolPlace {
    let place = start
    let left = bytesMax
    const segments = segmentsIn(join(folder, source))
    if (until === undefined) seekStart(source, start, segments)
    for (const segment of segments) {
      if (segment < start.segment) continue
      if (until !== undefined && segment > until.segment) break
      if (left <= 0) return place
      if (segment > place.segment) place = toPlace(segment, HEADER_BYTES, place.records)
      const before = place.offset
      const reading = readingOf(source, segment, segment === start.segment)
      const end = until !== undefined && segment === until.segment ? until : null
      place = readSegment(reading, place, end, left, onBatch)
      if (reading.lastMs !== null) lastMs.set(source, reading.lastMs)
      onRead(place.offset - before)
      left -= place.offset - before
      if (left <= 0) return place
      if (!isFinal(source, segment, segments) || end !== null) break
      place = finish(reading, place, segments)
      if (segment < segments[segments.length - 1]!) open.closeAt(pathOf(source, segment))
    }
    return until === undefined ? place : reach(source, place, until)
  }

  /** Reports a missing start segment. Writes a header in its place, so that the next process does not report it again. */
  function seekStart(source: string, place: SpoolPlace, segments: readonly number[]): void {
    const { segment, records } = place
    if (segment === 0 || segments.includes(segment)) return
    const next = segments.find((each) => each > segment)
    // The first record number of the next segment yields the exact number of missing records.
    if (records !== undefined && next !== undefined && followerOf(source, segment, next) === 'numbered') return
    const file = nameOf(source, segment)
    missing.unnumbered(file, { file, what: WHAT.gone, fromMs: null, toMs: null }, 0)
    // The header must not be written while a live writer uses the folder.
    if (next !== undefined || segments.some((each) => !isFound(source, each))) return
    try {
      makeFolder(join(folder, source))
      replaceByReleased(pathOf(source, segment), { madeMs: 0, requestPrefix: '', firstRecord: records ?? 0 })
      gauge.add(HEADER_BYTES)
    } catch {
      // The next start reports it again.
    }
  }

  /** Returns the end of a known range, even if its last records are no longer readable, and reports those. */
  function reach(source: string, place: SpoolPlace, until: SpoolPlace): SpoolPlace {
    if (isBefore(until, place)) return place
    const file = nameOf(source, until.segment)
    const at = { file, what: WHAT.range, fromMs: lastMs.get(source) ?? null, toMs: null }
    const { records } = until
    if (records !== undefined && place.records !== undefined) {
      if (records > place.records) missing.numbered(source, at, place.records, records, true)
    } else if (isBefore(place, until)) missing.unnumbered(`${file} range`, at, 0)
    return until
  }

  function isFinal(source: string, segment: number, segments: readonly number[]): boolean {
    return isFound(source, segment) || segment < segments[segments.length - 1]!
  }

  /** True if the segment existed before this process started to write. */
  function isFound(source: string, segment: number): boolean {
    return segment <= (found.get(source) ?? 0)
  }

  /** Reports the end of a final segment and returns the place after it. */
  function finish(reading: SegmentReading, place: SpoolPlace, segments: readonly number[]): SpoolPlace {
    const { source, segment } = reading
    const path = pathOf(source, segment)
    const next = segments.find((each) => each > segment)
    const follower = next === undefined ? 'none' : followerOf(source, segment, next)
    const end = finishSegment(reading, place, follower, (bytes) => tornTail(path, bytes))
    if (!finished.has(path)) finished.set(path, end.offset)
    return end
  }

  function followerOf(source: string, segment: number, next: number): Follower {
    const header = headerOf(source, next)
    if (header === null) return 'damaged'
    return header.continues >= segment ? 'numbered' : 'none'
  }

  function tornTail(path: string, bytes: number): void {
    if (torn.has(path)) return
    torn.add(path)
    onTornTail(path, bytes)
  }

  function readingOf(source: string, segment: number, isNamed: boolean): SegmentReading {
    const name = nameOf(source, segment)
    const keep = (): void => keepOnce(source, segment)
    const file = fileOf(source, segment)
    return { source, segment, isNamed, name, file, missing, keep, lastMs: lastMs.get(source) ?? null }
  }

  function keepOnce(source: string, segment: number): void {
    const path = pathOf(source, segment)
    if (kept.has(path)) return
    kept.add(path)
    if (!keepDamaged(folder, source, segment)) notKept.add(path)
  }

  function headerOf(source: string, segment: number): SegmentFile['header'] {
    return fileOf(source, segment).header
  }

  const fileOf = (source: string, segment: number): SegmentFile => open.at(pathOf(source, segment))
  const pathOf = (source: string, segment: number): string => join(folder, source, segmentName(segment))
  const nameOf = (source: string, segment: number): string => `spool/${source}/${segmentName(segment)}`

  function release(position: SpoolPosition): void {
    for (const [source, place] of Object.entries(position)) {
      const segments = segmentsIn(join(folder, source))
      for (const segment of segments.filter((each) => isFinal(source, each, segments))) {
        if (segment < place.segment) remove(source, segment)
        else if (segment === place.segment && isOver(pathOf(source, segment), place.offset)) empty(source, place)
      }
    }
  }

  function isOver(path: string, offset: number): boolean {
    const end = finished.get(path)
    return end !== undefined && offset >= end
  }

  function remove(source: string, segment: number): void {
    const path = pathOf(source, segment)
    const size = sizeOf(path)
    forget(path)
    if (!notKept.delete(path) || !moveDamaged(folder, source, segment)) rmSync(path, { recursive: true, force: true })
    gauge.add(-size)
  }

  /**
   * Replaces the last segment of a source without a writer by its header. The name and the record number stay, so that a later
   * writer continues from them even if the clock was set back: no segment ever precedes a committed position. On a full disk the
   * segment stays until there is space for a header.
   */
  function empty(source: string, { segment, records = 0 }: SpoolPlace): void {
    const path = pathOf(source, segment)
    const header = headerOf(source, segment)
    if (header?.isReleased === true) return
    const size = sizeOf(path)
    const { madeMs = 0, requestPrefix = '', continues = 0 } = header ?? {}
    if (notKept.delete(path)) moveDamaged(folder, source, segment)
    try {
      replaceByReleased(path, { madeMs, requestPrefix, continues, firstRecord: records })
    } catch {
      return
    }
    forget(path)
    gauge.add(-size)
    gauge.add(HEADER_BYTES)
  }

  function sizeOf(path: string): number {
    return statSync(path, { throwIfNoEntry: false })?.size ?? 0
  }

  function forget(path: string): void {
    open.closeAt(path)
    torn.delete(path)
    finished.delete(path)
  }

  return {
    read,
    release,
    onGrowth(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    notify() {
      for (const listener of listeners) listener()
    },
    close() {
      open.close()
    },
  }
}

function isBefore(a: SpoolPlace, b: SpoolPlace): boolean {
  return a.segment < b.segment || (a.segment === b.segment && a.offset < b.offset)
}

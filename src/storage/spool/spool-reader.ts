/**
 * Reads the spools of all gateway threads, oldest segment first, whole batches only.
 *
 * Live reading and replay after a crash use the same code. A segment is final if it existed before this process started, or if its
 * writer has started another one. A truncated batch at the end of a final segment (a torn tail) is skipped and counted: no client
 * has received the responses of its calls.
 *
 * All other unreadable data is damage. It is skipped and reported with the number of missing records; reading the same range again
 * yields the same batches. A damaged segment is preserved (`damaged-segments.ts`) and never stops the reader.
 */

import { makeFolder } from '../../foundation/runtime/sync-folder.ts'
import type { SpoolPlace, SpoolPosition } from '../store/checkpoint.ts'
import type { OnDamage } from './damage.ts'
import { FinishedSegments } from './finished-segments.ts'
import { createMissingRecords, type MissingRecords } from './missing-records.ts'
import { readSegment, toPlace, WHAT, type SegmentReading } from './read-segment.ts'
import type { RecordBatch } from './record-batch.ts'
import { HEADER_BYTES, replaceByReleased } from './segment-header.ts'
import { bytesIn } from './spool-folder.ts'
import type { SpoolGauge } from './spool-gauge.ts'
import { SpoolSegments } from './spool-segments.ts'

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
  const { folder, gauge, onTornTail } = options
  const segments = new SpoolSegments(folder)
  const finished = new FinishedSegments({ segments, gauge, onTornTail })
  const sources = new SourceReader(options, segments, finished)
  const listeners = new Set<() => void>()
  gauge.add(bytesIn(folder))

  return {
    read: (position, onBatch, options) => sources.read(position, onBatch, options),
    release: (position) => finished.release(position),
    onGrowth(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    notify() {
      for (const listener of listeners) listener()
    },
    close() {
      segments.close()
    },
  }
}

/** One read of a source, from `start` to `until` or to its current end. */
interface SourceRead {
  readonly start: SpoolPlace
  readonly until: SpoolPlace | undefined
  readonly bytesMax: number
  readonly onBatch: (batch: RecordBatch) => void
}

interface SourceProgress {
  readonly place: SpoolPlace
  readonly bytes: number
}

class SourceReader {
  readonly #segments: SpoolSegments
  readonly #finished: FinishedSegments
  readonly #gauge: SpoolGauge
  readonly #billed: SpoolPosition | undefined
  readonly #missing: MissingRecords
  /** Sources whose billed place was compared with their segments. */
  readonly #compared = new Set<string>()
  /** Time of the last record that was read, by source. */
  readonly #lastMs = new Map<string, number>()

  constructor({ gauge, onDamage, billed }: SpoolReaderOptions, segments: SpoolSegments, finished: FinishedSegments) {
    this.#segments = segments
    this.#finished = finished
    this.#gauge = gauge
    this.#billed = billed
    this.#missing = createMissingRecords(billed ?? {}, onDamage)
  }

  read(from: SpoolPosition, onBatch: (batch: RecordBatch) => void, options: ReadOptions = {}): SpoolPosition {
    const { until, bytesMax = READ_BYTES_MAX } = options
    const position: Record<string, SpoolPlace> = { ...from }
    let left = bytesMax
    const sources = until === undefined ? this.#sourcesOf(from) : Object.keys(until).sort()
    for (const [index, source] of sources.entries()) {
      const start = from[source] ?? this.#startOf(source)
      // Equal shares: records that were written at the same time are read at about the same time, even in a long replay.
      const share = Math.max(1, left / (sources.length - index))
      const progress = this.#readSource(source, { start, until: until?.[source], bytesMax: share, onBatch })
      left -= progress.bytes
      if (progress.place.segment > 0) position[source] = progress.place
      this.#missing.flush()
    }
    return position
  }

  /** Includes sources whose folder was removed; only the position still refers to them. */
  #sourcesOf(from: SpoolPosition): string[] {
    return [...new Set([...this.#segments.sources(), ...Object.keys(from)])].sort()
  }

  /** Record numbers start at 0, unless an earlier version wrote the source. */
  #startOf(source: string): SpoolPlace {
    const billed = this.#billed
    return billed === undefined || billed[source] !== undefined ? START : { ...START, records: 0 }
  }

  #readSource(source: string, { start, until, bytesMax, onBatch }: SourceRead): SourceProgress {
    let place = start
    let bytes = 0
    const segments = this.#segments.of(source)
    if (until === undefined) this.#compareBilled(source, segments)
    if (until === undefined) this.#seekStart(source, start, segments)
    for (const segment of segments) {
      if (segment < start.segment) continue
      if (until !== undefined && segment > until.segment) break
      if (segment > place.segment) place = toPlace(segment, HEADER_BYTES, place.records)
      const before = place.offset
      const reading = this.#readingOf(source, segment, segment === start.segment)
      const end = until !== undefined && segment === until.segment ? until : null
      place = readSegment(reading, place, end, bytesMax - bytes, onBatch)
      if (reading.lastMs !== null) this.#lastMs.set(source, reading.lastMs)
      bytes += place.offset - before
      if (bytes >= bytesMax) return { place, bytes }
      if (!this.#segments.isFinal(source, segment, segments) || end !== null) break
      place = this.#finished.finish(reading, place, segments)
      if (segment < segments[segments.length - 1]!) this.#segments.closeAt(this.#segments.pathOf(source, segment))
    }
    return { place: until === undefined ? place : this.#reach(source, place, until), bytes }
  }

  /**
   * Reports a billed place that the spool does not reach: it is an older one, and lacks an unknown number of records. A consumer that
   * continues from an earlier place would not notice.
   */
  #compareBilled(source: string, segments: readonly number[]): void {
    const place = this.#billed?.[source]
    if (place === undefined || this.#compared.has(source)) return
    this.#compared.add(source)
    const { segment, offset } = place
    // Their record numbers tell.
    if (segments.some((each) => each > segment && this.#segments.isFound(source, each))) return
    if (!segments.includes(segment)) return this.#seekStart(source, place, segments)
    const { header, bytes } = this.#segments.fileOf(source, segment)
    if (header === null || header.isReleased || bytes >= offset) return
    const file = this.#segments.nameOf(source, segment)
    this.#missing.unnumbered(`${file} end`, { file, what: WHAT.shorter, fromMs: null, toMs: null }, 0)
  }

  /** Reports a missing start segment. Writes a header in its place, so that the next process does not report it again. */
  #seekStart(source: string, place: SpoolPlace, segments: readonly number[]): void {
    const { segment, records } = place
    if (segment === 0 || segments.includes(segment)) return
    const next = segments.find((each) => each > segment)
    // The first record number of the next segment yields the exact number of missing records.
    if (records !== undefined && next !== undefined && this.#segments.followerOf(source, segment, next) === 'numbered')
      return
    const file = this.#segments.nameOf(source, segment)
    this.#missing.unnumbered(file, { file, what: WHAT.gone, fromMs: null, toMs: null }, 0)
    // The header must not be written while a live writer uses the folder.
    if (next !== undefined || segments.some((each) => !this.#segments.isFound(source, each))) return
    try {
      makeFolder(this.#segments.folderOf(source))
      const path = this.#segments.pathOf(source, segment)
      replaceByReleased(path, { madeMs: 0, requestPrefix: '', firstRecord: records ?? 0 })
      this.#gauge.add(HEADER_BYTES)
    } catch {
      // The next start reports it again.
    }
  }

  /** Returns the end of a known range, even if its last records are no longer readable, and reports those. */
  #reach(source: string, place: SpoolPlace, until: SpoolPlace): SpoolPlace {
    if (isBefore(until, place)) return place
    const file = this.#segments.nameOf(source, until.segment)
    const at = { file, what: WHAT.range, fromMs: this.#lastMs.get(source) ?? null, toMs: null }
    const { records } = until
    if (records !== undefined && place.records !== undefined) {
      if (records > place.records) this.#missing.numbered(source, at, place.records, records, true)
    } else if (isBefore(place, until)) this.#missing.unnumbered(`${file} range`, at, 0)
    return until
  }

  #readingOf(source: string, segment: number, isNamed: boolean): SegmentReading {
    const segments = this.#segments
    return {
      source,
      segment,
      isNamed,
      name: segments.nameOf(source, segment),
      file: segments.fileOf(source, segment),
      missing: this.#missing,
      keep: () => segments.keep(source, segment),
      lastMs: this.#lastMs.get(source) ?? null,
    }
  }
}

function isBefore(a: SpoolPlace, b: SpoolPlace): boolean {
  return a.segment < b.segment || (a.segment === b.segment && a.offset < b.offset)
}

/**
 * Reads the spools of all gateway threads, oldest segment first, whole batches only.
 *
 * Live records and a replay after a crash take this one way. A segment is final when it was there
 * before this process wrote, or when its writer has begun another; what follows the last whole batch
 * of a final segment (a torn tail) is passed over, and counted.
 */

import { rmSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolder } from '../runtime/sync-folder.ts'
import type { SpoolPosition } from '../store/checkpoint.ts'
import { HEADER_BYTES } from './codec.ts'
import type { RecordBatch } from './record-batch.ts'
import { openSegment, type SegmentFile } from './segment-file.ts'
import { segmentName } from './segment-name.ts'
import { bytesIn, foldersIn, lastSegments, segmentsIn } from './spool-folder.ts'
import type { SpoolGauge } from './spool-gauge.ts'

export interface SpoolReader {
  /**
   * Hands over every whole batch from `position` up to what is written now (or up to `until`), and
   * answers the position after the last one. Calls are synchronous reads of the page cache; about
   * `bytesMax` are read at most (default 16 MiB), so that a long replay leaves room for others.
   */
  read(position: SpoolPosition, onBatch: (batch: RecordBatch) => void, options?: ReadOptions): SpoolPosition
  /** Gives back the room of segments of which nothing is left to read after `position`, now or ever. */
  release(position: SpoolPosition): void
  /** Runs `listener` soon after records were written; several writes are one call. Returns how to stop. */
  onGrowth(listener: () => void): () => void
  close(): void
}

export interface ReadOptions {
  readonly until?: SpoolPosition
  readonly bytesMax?: number
}

export interface SpoolReaderOptions {
  /** `DATA_DIR/spool`: a folder a source. */
  readonly folder: string
  readonly gauge: SpoolGauge
  /** Called once for each torn tail. */
  readonly onTornTail: (path: string, bytes: number) => void
}

/** The reader, and the way its writers tell it that there is more. */
export interface OpenSpoolReader extends SpoolReader {
  notify(): void
}

const READ_BYTES_MAX = 16 * 1024 * 1024
const OPEN_SEGMENTS_MAX = 64

interface Place {
  readonly segment: number
  readonly offset: number
}

const START: Place = { segment: 0, offset: 0 }

export function openSpoolReader({ folder, gauge, onTornTail }: SpoolReaderOptions): OpenSpoolReader {
  makeFolder(folder, 0o700)
  const open = new Map<string, SegmentFile>()
  const listeners = new Set<() => void>()
  const torn = new Set<string>()
  /** Segments that were read to the end of what can be read and get nothing more: where that end is. */
  const finished = new Map<string, number>()
  let nextKey = 0
  const found = lastSegments(folder)
  gauge.add(bytesIn(folder))

  function read(from: SpoolPosition, onBatch: (batch: RecordBatch) => void, options: ReadOptions = {}): SpoolPosition {
    const { until, bytesMax = READ_BYTES_MAX } = options
    const position: Record<string, Place> = { ...from }
    let left = bytesMax
    const sources = until === undefined ? foldersIn(folder) : Object.keys(until).sort()
    for (const [index, source] of sources.entries()) {
      const start = from[source] ?? START
      // An equal share each: threads that wrote at one time are read at one time, also in a long replay.
      const share = Math.max(1, left / (sources.length - index))
      const end = readSource(source, start, until?.[source], share, onBatch, (bytes) => (left -= bytes))
      if (end !== START) position[source] = end
    }
    return position
  }

  function readSource(
    source: string,
    start: Place,
    until: Place | undefined,
    bytesMax: number,
    onBatch: (batch: RecordBatch) => void,
    onRead: (bytes: number) => void,
  ): Place {
    let place = start
    let left = bytesMax
    const segments = segmentsIn(join(folder, source)).filter((segment) => segment >= start.segment)
    for (const segment of segments) {
      if (until !== undefined && segment > until.segment) break
      if (left <= 0) return place
      if (segment > place.segment) place = { segment, offset: HEADER_BYTES }
      const to = until !== undefined && segment === until.segment ? until.offset : Infinity
      const file = fileOf(source, segment)
      const offset = file.read(place.offset, to, left, onBatch)
      onRead(offset - place.offset)
      left -= offset - place.offset
      place = { segment, offset }
      if (left <= 0) return place
      if (!isFinal(source, segment, segments)) return place
      if (to !== Infinity) continue
      finish(source, segment, offset, file.bytes)
      if (segment < segments[segments.length - 1]!) closeFile(join(folder, source, segmentName(segment)))
    }
    return place
  }

  function isFinal(source: string, segment: number, segments: readonly number[]): boolean {
    return segment <= (found.get(source) ?? 0) || segment < segments[segments.length - 1]!
  }

  function finish(source: string, segment: number, offset: number, bytes: number): void {
    const path = join(folder, source, segmentName(segment))
    finished.set(path, offset)
    if (bytes <= offset || torn.has(path)) return
    torn.add(path)
    onTornTail(path, bytes - offset)
  }

  function fileOf(source: string, segment: number): SegmentFile {
    const path = join(folder, source, segmentName(segment))
    let file = open.get(path)
    if (file === undefined) {
      if (open.size >= OPEN_SEGMENTS_MAX) closeOldest()
      file = openSegment(path, nextKey++)
      open.set(path, file)
    }
    return file
  }

  function closeOldest(): void {
    closeFile(open.keys().next().value!)
  }

  function closeFile(path: string): void {
    open.get(path)?.close()
    open.delete(path)
  }

  function release(position: SpoolPosition): void {
    for (const [source, place] of Object.entries(position)) {
      for (const segment of segmentsIn(join(folder, source))) {
        const path = join(folder, source, segmentName(segment))
        if (segment < place.segment) remove(path)
        else if (segment === place.segment && isOver(path, place.offset)) empty(path)
      }
    }
  }

  function isOver(path: string, offset: number): boolean {
    const end = finished.get(path)
    return end !== undefined && offset >= end
  }

  function remove(path: string): void {
    forget(path)
    rmSync(path)
  }

  /**
   * The last segment of a source without a writer. Its name stays: a later writer numbers on from it, also
   * where the clock was set back, so that no segment ever lies before a position that was committed.
   */
  function empty(path: string): void {
    if (forget(path) > 0) truncateSync(path)
  }

  /** The room that it took, given back. */
  function forget(path: string): number {
    const { size } = statSync(path)
    closeFile(path)
    torn.delete(path)
    finished.delete(path)
    gauge.add(-size)
    return size
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
      for (const file of open.values()) file.close()
      open.clear()
    },
  }
}

/**
 * Describes the segments of a spool without changes: batches, record numbers, times, definitions, damage.
 *
 * Works on a copy and on the folder of a running service, in which the last batch may be incomplete and segments may be released
 * during the inspection; neither is damage.
 */

import { existsSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { openSegment, type SegmentFile, type Skipped } from './segment-file.ts'
import { HEADER_BYTES, type SegmentHeader } from './segment-header.ts'
import type { Tail } from './segment-tail.ts'
import { segmentName, segmentNumber } from './segment-name.ts'
import { foldersIn, segmentsIn } from './spool-folder.ts'

export interface InspectedBatch {
  readonly offset: number
  readonly records: number
  /** Null in format 1. */
  readonly firstRecord: number | null
  readonly fromMs: number
  readonly toMs: number
}

export interface InspectedSegment {
  readonly path: string
  readonly bytes: number
  readonly header: SegmentHeader | null
  readonly batches: number
  readonly records: number
  readonly definitions: number
  /** Range of record numbers, `to` exclusive; null: no records, or format 1. */
  readonly range: { readonly from: number; readonly to: number } | null
  readonly fromMs: number | null
  readonly toMs: number | null
  readonly isEnded: boolean
  /** Length of an incomplete last batch: its writer was interrupted, or is still writing it. */
  readonly truncatedBytes: number
  /** One sentence per damage. */
  readonly damage: readonly string[]
}

export interface InspectSink {
  /** Called before `onSegment` of the segment that contains the batch. */
  onBatch(batch: InspectedBatch): void
  onSegment(segment: InspectedSegment): void
}

/** Inspects a data folder, a spool, the folder of one source, or one segment. Returns null if `path` is none of them. */
export function inspectSpool(path: string, sink: InspectSink): { readonly isIntact: boolean } | null {
  const sources = sourcesAt(path)
  if (sources === null) return null
  let isIntact = true
  for (const segments of sources) {
    let expected: Expected = null
    for (const { path, segment } of segments) {
      const inspected = inspectSegment(path, expected, sink)
      expected = inspected === null ? null : { segment, nextRecord: inspected.nextRecord, isEnded: inspected.isEnded }
      if (inspected === null) continue
      sink.onSegment(inspected)
      if (inspected.damage.length > 0) isIntact = false
    }
  }
  return { isIntact }
}

interface Segment {
  readonly path: string
  readonly segment: number
}

/** The segments of each source. */
function sourcesAt(path: string): readonly (readonly Segment[])[] | null {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats === undefined) return null
  // The names of preserved damaged segments have the source as prefix.
  if (stats.isFile()) return [[{ path, segment: segmentNumber(basename(path)) ?? 0 }]]
  if (existsSync(join(path, 'spool'))) return sourcesAt(join(path, 'spool'))
  const own = segmentsOf(path)
  if (own.length > 0) return [own]
  const sources = foldersIn(path).map((name) => segmentsOf(join(path, name)))
  return sources.some(({ length }) => length > 0) || basename(path) === 'spool' ? sources : null
}

function segmentsOf(folder: string): readonly Segment[] {
  return segmentsIn(folder).map((segment) => ({ path: join(folder, segmentName(segment)), segment }))
}

/** State after the previous segment; null: there is none, or its state is unknown. */
type Expected = { readonly segment: number; readonly nextRecord: number | null; readonly isEnded: boolean } | null

type Inspected = InspectedSegment & { readonly nextRecord: number | null }

/** Returns null if the segment was released in the meantime. */
function inspectSegment(path: string, expected: Expected, sink: InspectSink): Inspected | null {
  let file: SegmentFile
  try {
    file = openSegment(path, 0)
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code === 'ENOENT' ? null : unreadable(path, cause)
  }
  try {
    return walk(path, file, expected, sink)
  } finally {
    file.close()
  }
}

function walk(path: string, file: SegmentFile, expected: Expected, sink: InspectSink): Inspected {
  const { header, bytes } = file
  const damage = headerDamage(header, bytes, expected)
  let nextRecord = header?.firstRecord ?? expected?.nextRecord ?? null
  let [batches, records, definitions] = [0, 0, 0]
  let fromMs: number | null = null
  let toMs: number | null = null
  let firstRecord: number | null = null
  const offset = file.read(
    HEADER_BYTES,
    Infinity,
    Infinity,
    (batch, first, at) => {
      if (first !== null && nextRecord !== null && first > nextRecord)
        damage.push(`before byte ${at}: ${missingText(nextRecord, first)}`)
      nextRecord = first === null ? nextRecord : first + batch.count
      if (batch.count === 0) return
      const [beginsMs, endsMs] = [batch.timeMs(0), batch.timeMs(batch.count - 1)]
      sink.onBatch({ offset: at, records: batch.count, firstRecord: first, fromMs: beginsMs, toMs: endsMs })
      batches++
      records += batch.count
      definitions = batch.attributions.length
      firstRecord ??= first
      fromMs ??= beginsMs
      toMs = endsMs
    },
    (stretch) => {
      damage.push(stretchText(stretch, nextRecord))
      nextRecord = stretch.nextRecord ?? nextRecord
    },
  )
  const tail = file.tail(offset)
  if (tail.kind === 'damaged') damage.push(tailText(tail, offset))
  const range = firstRecord === null || nextRecord === null ? null : { from: firstRecord, to: nextRecord }
  const truncatedBytes = tail.kind === 'truncated' ? tail.bytes : 0
  const { isEnded } = file
  return {
    path,
    bytes,
    header,
    batches,
    records,
    definitions,
    range,
    fromMs,
    toMs,
    isEnded,
    truncatedBytes,
    damage,
    nextRecord,
  }
}

function headerDamage(header: SegmentHeader | null, bytes: number, expected: Expected): string[] {
  if (header === null) return [bytes < HEADER_BYTES ? 'the header is incomplete' : 'the header does not verify']
  const { firstRecord, continues } = header
  if (expected === null || firstRecord === null) return []
  const { segment, nextRecord, isEnded } = expected
  if (nextRecord !== null && firstRecord > nextRecord) return [`before it: ${missingText(nextRecord, firstRecord)}`]
  return isEnded && continues < segment ? [`the segment that follows ${segmentName(segment)} is missing`] : []
}

function missingText(from: number, to: number): string {
  return `${to - from} records are missing (${from} to ${to - 1})`
}

function stretchText({ from, to, what, nextRecord, records }: Skipped, expected: number | null): string {
  const place = `bytes ${from} to ${to - 1} ${what === 'unreadable' ? 'do not verify' : 'refer to unknown consumers'}`
  if (nextRecord === null || expected === null) return `${place}: at least ${records} records are missing`
  return nextRecord > expected ? `${place}: ${missingText(expected, nextRecord)}` : `${place}: no records are missing`
}

function tailText({ bytes, records }: Tail, offset: number): string {
  const number = records === 0 ? 'an unknown number of' : `at least ${records}`
  return `the last ${bytes} bytes (from byte ${offset}) do not verify: ${number} records are missing`
}

function unreadable(path: string, cause: unknown): Inspected {
  const damage = [`it cannot be opened: ${cause instanceof Error ? cause.message : String(cause)}`]
  const nothing = {
    bytes: 0,
    header: null,
    batches: 0,
    records: 0,
    definitions: 0,
    range: null,
    fromMs: null,
    toMs: null,
  }
  return { path, ...nothing, isEnded: false, truncatedBytes: 0, damage, nextRecord: null }
}

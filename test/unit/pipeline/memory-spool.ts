/** A spool in memory that gives the batches of the real one: real bytes, read in place, many sources and segments. */

import type { Attribution } from '../../../src/domain/attribution.ts'
import type { CallRecord } from '../../../src/record/call-record.ts'
import { BATCH_HEADER_BYTES, BatchBuffer } from '../../../src/record/codec.ts'
import { RecordBatch } from '../../../src/record/record-batch.ts'
import type { SpoolReader } from '../../../src/record/spool-reader.ts'
import type { SpoolPosition } from '../../../src/store/checkpoint.ts'

interface Segment {
  readonly key: number
  readonly attributions: Attribution[]
  readonly batches: RecordBatch[]
}

export interface MemorySpool extends SpoolReader {
  append(source: string, records: readonly CallRecord[]): void
  /** What follows goes to another segment. */
  roll(source: string): void
  grow(): void
  readonly segments: number
}

const BYTES = 56

/** Segments are numbered from `firstKey`: two spools that one process reads must not share a number. */
export function createMemorySpool(firstKey = 0): MemorySpool {
  const sources = new Map<string, Map<number, Segment>>()
  const listeners = new Set<() => void>()
  let keys = firstKey

  function lastOf(source: string): Segment {
    let segments = sources.get(source)
    if (segments === undefined) sources.set(source, (segments = new Map()))
    return [...segments.values()].at(-1) ?? begin(segments)
  }

  function begin(segments: Map<number, Segment>, number = 1): Segment {
    const segment = { key: keys++, attributions: [], batches: [] }
    segments.set(number, segment)
    return segment
  }

  return {
    append(source, records) {
      const segment = lastOf(source)
      const buffer = new BatchBuffer(records.length)
      for (const record of records) {
        const known = segment.attributions.indexOf(record.attribution)
        buffer.add(record, known >= 0 ? known : segment.attributions.push(record.attribution) - 1)
      }
      const bytes = new Uint8Array(buffer.seal([], 0))
      segment.batches.push(
        new RecordBatch({
          bytes: bytes.buffer,
          offset: BATCH_HEADER_BYTES,
          count: records.length,
          segmentKey: segment.key,
          attributions: segment.attributions,
          requestPrefix: '0123456789abcdef',
        }),
      )
    },
    roll(source) {
      const segments = sources.get(source)
      if (segments !== undefined) begin(segments, Math.max(...segments.keys()) + 1)
    },
    read(position, onBatch, { until, bytesMax = Infinity } = {}) {
      const now: Record<string, { segment: number; offset: number }> = { ...position }
      let left = bytesMax
      for (const [source, segments] of sources) {
        const end = until === undefined ? { segment: Infinity, offset: Infinity } : until[source]
        if (end === undefined) continue
        for (const [number, { batches }] of segments) {
          const at = now[source] ?? { segment: 0, offset: 0 }
          if (number < at.segment || number > end.segment) continue
          let offset = number === at.segment ? at.offset : 0
          const stop = number === end.segment ? Math.min(end.offset, batches.length) : batches.length
          for (; offset < stop && left > 0; offset++) {
            onBatch(batches[offset]!)
            left -= batches[offset]!.count * BYTES
          }
          now[source] = { segment: number, offset }
          if (left <= 0) return now
        }
      }
      return now
    },
    release(position: SpoolPosition) {
      for (const [source, { segment }] of Object.entries(position))
        for (const number of sources.get(source)?.keys() ?? [])
          if (number < segment) sources.get(source)?.delete(number)
    },
    onGrowth(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    grow() {
      for (const listener of listeners) listener()
    },
    get segments() {
      return [...sources.values()].reduce((sum, { size }) => sum + size, 0)
    },
    close() {},
  }
}

/**
 * The final segments that were read completely: reports their torn tails, and releases their space.
 *
 * The caller releases up to the position that all consumers have committed.
 */

import { rmSync, statSync } from 'node:fs'
import type { SpoolPlace, SpoolPosition } from '../store/checkpoint.ts'
import { finishSegment, type SegmentReading } from './read-segment.ts'
import { HEADER_BYTES, replaceByReleased } from './segment-header.ts'
import type { SpoolGauge } from './spool-gauge.ts'
import type { SpoolSegments } from './spool-segments.ts'

export interface FinishedSegmentsOptions {
  readonly segments: SpoolSegments
  readonly gauge: SpoolGauge
  /** Called once for each torn tail. */
  readonly onTornTail: (path: string, bytes: number) => void
}

export class FinishedSegments {
  readonly #options: FinishedSegmentsOptions
  readonly #torn = new Set<string>()
  /** Offset of the readable end, by path. */
  readonly #ends = new Map<string, number>()

  constructor(options: FinishedSegmentsOptions) {
    this.#options = options
  }

  /** Reports the end of a final segment and returns the place after it. */
  finish(reading: SegmentReading, place: SpoolPlace, numbers: readonly number[]): SpoolPlace {
    const { segments } = this.#options
    const { source, segment } = reading
    const path = segments.pathOf(source, segment)
    const next = numbers.find((each) => each > segment)
    const follower = next === undefined ? 'none' : segments.followerOf(source, segment, next)
    const end = finishSegment(reading, place, follower, (bytes) => this.#reportTorn(path, bytes))
    if (!this.#ends.has(path)) this.#ends.set(path, end.offset)
    return end
  }

  /** Deletes or empties segments that have no records after `position` and never will. */
  release(position: SpoolPosition): void {
    const { segments } = this.#options
    for (const [source, place] of Object.entries(position)) {
      const numbers = segments.of(source)
      for (const segment of numbers.filter((each) => segments.isFinal(source, each, numbers))) {
        if (segment < place.segment) this.#remove(source, segment)
        else if (segment === place.segment && this.#isOver(source, place)) this.#empty(source, place)
      }
    }
  }

  #reportTorn(path: string, bytes: number): void {
    if (this.#torn.has(path)) return
    this.#torn.add(path)
    this.#options.onTornTail(path, bytes)
  }

  #isOver(source: string, { segment, offset }: SpoolPlace): boolean {
    const end = this.#ends.get(this.#options.segments.pathOf(source, segment))
    return end !== undefined && offset >= end
  }

  #remove(source: string, segment: number): void {
    const { segments, gauge } = this.#options
    const path = segments.pathOf(source, segment)
    const size = sizeOf(path)
    this.#evict(path)
    if (!segments.moveUnkept(source, segment)) rmSync(path, { recursive: true, force: true })
    gauge.add(-size)
  }

  /**
   * Replaces the last segment of a source without a writer by its header. The name and the record number stay, so that a later
   * writer continues from them even if the clock was set back: no segment ever precedes a committed position. On a full disk the
   * segment stays until there is space for a header.
   */
  #empty(source: string, { segment, records = 0 }: SpoolPlace): void {
    const { segments, gauge } = this.#options
    const path = segments.pathOf(source, segment)
    const header = segments.headerOf(source, segment)
    if (header?.isReleased === true) return
    const size = sizeOf(path)
    const { madeMs = 0, requestPrefix = '', continues = 0, folder = 0 } = header ?? {}
    segments.moveUnkept(source, segment)
    try {
      replaceByReleased(path, { madeMs, requestPrefix, continues, folder, firstRecord: records })
    } catch {
      return
    }
    this.#evict(path)
    gauge.add(-size)
    gauge.add(HEADER_BYTES)
  }

  #evict(path: string): void {
    this.#options.segments.closeAt(path)
    this.#torn.delete(path)
    this.#ends.delete(path)
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

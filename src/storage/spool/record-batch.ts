/**
 * The call records of one batch of the spool, read in place.
 *
 * Fields are decoded on access: the batch is a view on the bytes of the segment, and `attributionId` indexes the segment's own
 * table, so that a consumer aggregates by number. The view is valid until the reader's callback returns.
 */

import type { Attribution } from '../../foundation/domain/attribution.ts'
import type { CallRecord } from './call-record.ts'
import { TRACES_FROM } from './explanation-section.ts'

export const RECORD_BYTES = 56
export const RECORD_WORDS = RECORD_BYTES / 4
export const RECORD_DOUBLES = RECORD_BYTES / 8

export class RecordBatch {
  readonly count: number
  /** Unique among all segments that are read by one process: `attributions` is the same array for the same key. */
  readonly segmentKey: number
  /** The segment's table up to and including this batch. */
  readonly attributions: readonly Attribution[]
  readonly #requestPrefix: string
  readonly #words: Uint32Array
  readonly #doubles: Float64Array
  readonly #decodeExplanations: (() => ReadonlyMap<number, string>) | null
  #explanations: ReadonlyMap<number, string> | null = null

  constructor(options: {
    bytes: ArrayBufferLike
    /** Offset of the first record, a multiple of 8. */
    offset: number
    count: number
    segmentKey: number
    attributions: readonly Attribution[]
    requestPrefix: string
    /** Decodes explanations and traces by the number of their entry; missing if there are none. */
    explanations?: () => ReadonlyMap<number, string>
  }) {
    const { bytes, offset, count } = options
    this.count = count
    this.segmentKey = options.segmentKey
    this.attributions = options.attributions
    this.#requestPrefix = options.requestPrefix
    this.#decodeExplanations = options.explanations ?? null
    this.#words = new Uint32Array(bytes, offset, count * RECORD_WORDS)
    this.#doubles = new Float64Array(bytes, offset, count * RECORD_DOUBLES)
  }

  attributionId(index: number): number {
    return this.#words[index * RECORD_WORDS]!
  }
  timeMs(index: number): number {
    return this.#doubles[index * RECORD_DOUBLES + 1]!
  }
  unitsMicro(index: number): number {
    return this.#doubles[index * RECORD_DOUBLES + 2]!
  }
  status(index: number): number {
    return this.#words[index * RECORD_WORDS + 12]! & 0xffff
  }
  /** Position in `OUTCOMES`; 0 is served. */
  outcome(index: number): number {
    return (this.#words[index * RECORD_WORDS + 12]! >>> 16) & 0xff
  }
  flags(index: number): number {
    return this.#words[index * RECORD_WORDS + 12]! >>> 24
  }
  durationUs(index: number): number {
    return this.#words[index * RECORD_WORDS + 10]!
  }
  upstreamUs(index: number): number {
    return this.#words[index * RECORD_WORDS + 11]!
  }
  /** Milliseconds before `timeMs` at which the limits admitted the call. */
  admittedAgoMs(index: number): number {
    return this.#words[index * RECORD_WORDS + 13]!
  }
  /** The `X-Request-Id` that was returned to the caller. */
  requestId(index: number): string {
    return toRequestId(this.#requestPrefix, this.#words[index * RECORD_WORDS + 1]!)
  }

  /** Why the call was refused, as JSON (`foundation/domain/explanation.ts`); `''` if no explanation is stored. */
  explanation(index: number): string {
    return this.#noteAt(index)
  }

  /** The trace of a sampled call as text (`call-trace.ts`); `''` if none is stored. */
  trace(index: number): string {
    return this.#noteAt(index + TRACES_FROM)
  }

  #noteAt(entry: number): string {
    if (this.#decodeExplanations === null) return ''
    this.#explanations ??= this.#decodeExplanations()
    return this.#explanations.get(entry) ?? ''
  }

  /** Whether some record of the batch has an explanation or a trace. */
  get hasNotes(): boolean {
    return this.#decodeExplanations !== null
  }

  /** Returns the whole record as an object, for consumers that read few records. */
  at(index: number): CallRecord {
    const word = index * RECORD_WORDS
    const double = index * RECORD_DOUBLES
    return {
      attribution: this.attributions[this.attributionId(index)]!,
      sequence: this.#words[word + 1]!,
      timeMs: this.#doubles[double + 1]!,
      unitsMicro: this.#doubles[double + 2]!,
      requestBytes: this.#doubles[double + 3]!,
      responseBytes: this.#doubles[double + 4]!,
      durationUs: this.durationUs(index),
      upstreamUs: this.#words[word + 11]!,
      admittedAgoMs: this.#words[word + 13]!,
      status: this.status(index),
      outcome: this.outcome(index),
      flags: this.flags(index),
    }
  }
}

/** Request ids are a random prefix of the segment's writer and a counter: no randomness per call. */
export function toRequestId(prefix: string, sequence: number): string {
  return prefix + sequence.toString(16).padStart(8, '0')
}

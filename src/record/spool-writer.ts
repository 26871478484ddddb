/**
 * Appends call records to the spool of one gateway thread, before their answers end.
 *
 * Records of one turn of the event loop are written with one system call; `onSafe` runs when they
 * can no longer be lost to the death of this process, and only then may an answer's last byte leave.
 * When the disk refuses, `onRefused` runs instead: a call that cannot be recorded is not served.
 * Bodies and credentials cannot leak from here: a record does not carry them.
 *
 * A writer always begins a segment of its own and never appends to one it finds: whatever is torn at
 * the end of an older one stays apart. Its number is above the last segment, the checkpoint's (`after`) and the time in
 * seconds, so that numbers never go back, also in an emptied folder. Records are counted over segments and restarts: each
 * batch carries the number of its first one. A write that failed half-way is cut off again.
 */

import { closeSync, fdatasync, fdatasyncSync, ftruncateSync, mkdirSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Attribution } from '../domain/attribution.ts'
import { toExplanationText, type Explanation } from '../domain/explanation.ts'
import type { SpoolPlace } from '../store/checkpoint.ts'
import type { Clock } from '../runtime/clock.ts'
import { BATCH_HEADER_BYTES, BatchBuffer, encodeEnd } from './codec.ts'
import type { CallRecord } from './call-record.ts'
import type { SpoolGauge } from './spool-gauge.ts'
import { createSegment, HEADER_BYTES } from './segment-header.ts'
import { segmentName } from './segment-name.ts'
import { findSourceEnd } from './source-end.ts'

export type SpoolSync = 'always' | 'second' | 'never'

/** A call that waits for its record to be safe. Exactly one of the two is called, later in the same turn. */
export interface RecordedCall extends CallRecord {
  /** Why it was refused; kept beside its record. */
  readonly explanation?: Explanation | null
  onSafe(): void
  onRefused(cause: unknown): void
}

export interface SpoolWriter {
  append(call: RecordedCall): void
  /** False while the spool is full or the disk refuses: a call must not be forwarded now. */
  readonly accepting: boolean
  /** First 16 characters of every request id of this writer. */
  readonly requestPrefix: string
  /** Writes what waits and closes. */
  close(): void
}

export interface SpoolWriterOptions {
  /** The folder of this thread alone; made where it is missing. */
  readonly folder: string
  readonly requestPrefix: string
  /** The farthest committed place of this source; missing: none is known. */
  readonly after?: SpoolPlace | undefined
  readonly sync: SpoolSync
  readonly gauge: SpoolGauge
  readonly clock: Clock
  /** Called after each write. */
  readonly onGrowth: () => void
  /** Called on each failing write, for the log and the counter. */
  readonly onFailure: (cause: unknown) => void
  /** Keeps explanations of refused calls beside their records; missing: nothing reads them. */
  readonly explanations?: {
    /** Called for each that a batch has no room for; the record itself is written. */
    readonly onDropped: () => void
  }
  readonly segmentBytesMax?: number
}

const SEGMENT_BYTES_MAX = 64 * 1024 * 1024
const ATTRIBUTIONS_MAX = 65_536
const RECORDS_PER_BATCH_MAX = 16_384
const SYNC_EVERY_MS = 1_000
/** How long the writer lets the disk alone after it refused. */
const COOL_DOWN_MS = 1_000

export function createSpoolWriter(options: SpoolWriterOptions): SpoolWriter {
  const { folder, requestPrefix, after, sync, gauge, clock, onGrowth, onFailure, explanations } = options
  const segmentBytesMax = options.segmentBytesMax ?? SEGMENT_BYTES_MAX
  mkdirSync(folder, { recursive: true })

  const batch = new BatchBuffer(RECORDS_PER_BATCH_MAX, requestPrefix)
  const ids = new Map<Attribution, number>()
  let waiting: RecordedCall[] = []
  let definitions: Attribution[] = []
  const end = findSourceEnd(folder)
  let segment = Math.max(end.lastSegment, after?.segment ?? 0, Math.floor(clock.nowMs() / 1000))
  let nextRecord = Math.max(end.nextRecord, after?.records ?? 0)
  /** The last segment that this writer made; 0: none. */
  let madeLast = 0
  let file = -1
  let bytes = 0
  let isDirty = false
  let isScheduled = false
  let failedAtMs = -Infinity
  openNext()

  const stopSync = sync === 'second' ? clock.every(SYNC_EVERY_MS, syncLater) : () => {}

  function append(call: RecordedCall): void {
    let id = ids.get(call.attribution)
    if (id === undefined) {
      id = ids.size
      ids.set(call.attribution, id)
      definitions.push(call.attribution)
    }
    batch.add(call, id)
    if (explanations !== undefined && call.explanation) explain(call.explanation, explanations.onDropped)
    waiting.push(call)
    if (batch.count === RECORDS_PER_BATCH_MAX) flush()
    else if (!isScheduled) {
      isScheduled = true
      setImmediate(flush)
    }
  }

  function explain(explanation: Explanation, onDropped: () => void): void {
    if (!batch.explain(toExplanationText(explanation))) onDropped()
  }

  function flush(): void {
    isScheduled = false
    if (waiting.length === 0) return
    const calls = waiting
    waiting = []
    try {
      write(batch.seal(definitions, ids.size - definitions.length, nextRecord))
      definitions = []
      nextRecord += calls.length
    } catch (cause) {
      refuse(calls, cause)
      return
    }
    for (const call of calls) call.onSafe()
    onGrowth()
    if (bytes >= segmentBytesMax || ids.size >= ATTRIBUTIONS_MAX) endSegment()
  }

  /** The mark tells readers that a segment must follow, so it is written when that is there. It may be left out. */
  function endSegment(): void {
    const [ended, end] = [file, bytes]
    file = -1
    openNext()
    try {
      if (file >= 0) gauge.add(writeSync(ended, encodeEnd(nextRecord), 0, BATCH_HEADER_BYTES, end))
    } catch (cause) {
      onFailure(cause)
    }
    retire(ended)
  }

  function write(chunk: Buffer): void {
    if (file < 0) throw new Error('the spool segment could not be opened')
    let written = 0
    try {
      while (written < chunk.length) written += writeSync(file, chunk, written, chunk.length - written, bytes + written)
      if (sync === 'always') fdatasyncSync(file)
    } catch (cause) {
      ftruncateSync(file, bytes)
      throw cause
    }
    bytes += chunk.length
    isDirty = true
    gauge.add(chunk.length)
  }

  /** The definitions of a batch that was not written are unknown to readers: the next segment starts afresh. */
  function refuse(calls: readonly RecordedCall[], cause: unknown): void {
    failedAtMs = clock.nowMs()
    batch.clear()
    onFailure(cause)
    rotate()
    for (const call of calls) call.onRefused(cause)
  }

  function rotate(): void {
    if (file >= 0) retire(file)
    file = -1
    openNext()
  }

  /** What was written since the last sync goes to the disk before the file is let go of. */
  function retire(old: number): void {
    if (sync !== 'second') return closeSync(old)
    fdatasync(old, (cause) => {
      if (cause !== null) onFailure(cause)
      closeSync(old)
    })
  }

  function openNext(): void {
    ids.clear()
    definitions = []
    try {
      const header = { madeMs: clock.nowMs(), requestPrefix, firstRecord: nextRecord, continues: madeLast }
      file = createSegment(join(folder, segmentName(++segment)), header)
      madeLast = segment
      bytes = HEADER_BYTES
      gauge.add(HEADER_BYTES)
    } catch (cause) {
      failedAtMs = clock.nowMs()
      onFailure(cause)
    }
  }

  function syncLater(): void {
    if (!isDirty || file < 0) return
    isDirty = false
    fdatasync(file, (cause) => {
      if (cause !== null && (cause as NodeJS.ErrnoException).code !== 'EBADF') onFailure(cause)
    })
  }

  return {
    append,
    requestPrefix,
    get accepting() {
      if (gauge.isFull) return false
      if (failedAtMs === -Infinity) return true
      if (clock.nowMs() - failedAtMs < COOL_DOWN_MS) return false
      if (file < 0) openNext()
      if (file >= 0) failedAtMs = -Infinity
      return file >= 0
    },
    close() {
      flush()
      stopSync()
      if (file < 0) return
      if (sync !== 'never') fdatasyncSync(file)
      closeSync(file)
      file = -1
    },
  }
}

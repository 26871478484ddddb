/**
 * Appends call records to the spool of one gateway thread, before their responses end.
 *
 * Calls that end in one turn of the event loop are written with one system call. `onSafe` runs when the records survive a death of
 * this process; only then may the last byte of the response be sent. If the write fails, `onRefused` runs instead: a call that
 * cannot be recorded is not served. Records carry no bodies and no credentials, so the spool cannot leak them.
 *
 * A writer always starts a new segment and never appends to an existing one, so a truncated end of an older segment stays isolated.
 * The segment number is above the last segment, the checkpoint (`after`) and the time in seconds: numbers never decrease, even if
 * the folder was emptied. Record numbers continue over segments and restarts. Each batch carries the number of its first record, and
 * a mark beside the folder holds the number after the last one (`record-mark.ts`).
 *
 * After a failed write the writer refuses all calls without another attempt. Once a second, a probe truncates the remainder of the
 * failed write, writes a test block and removes it; then writing continues in the same segment. Only the probe starts a new segment,
 * and only if the old one cannot be continued: a disk that fails for hours costs one file at most. After a failed sync, the next
 * segment must be written and synced before calls are accepted, and the unsynced records are reported.
 */

import { basename, join } from 'node:path'
import type { Attribution } from '../../foundation/domain/attribution.ts'
import type { Explanation } from '../../foundation/domain/explanation.ts'
import type { MarkFile } from '../../foundation/runtime/mark-file.ts'
import { makeFolder, syncFolder, syncFolderLater } from '../../foundation/runtime/sync-folder.ts'
import { BatchBuffer, encodeEnd } from './codec.ts'
import type { CallRecord } from './call-record.ts'
import type { CallTrace } from './call-trace.ts'
import { addNotes } from './record-notes.ts'
import { openRecordMark } from './record-mark.ts'
import { createSegmentWriter, type SegmentWriter, type Unsynced } from './segment-writer.ts'
import { folderOf, HEADER_BYTES } from './segment-header.ts'
import { segmentName } from './segment-name.ts'
import { findSourceEnd } from './source-end.ts'
import { syncSegmentsLater } from './spool-folder.ts'
import type { SpoolWriterOptions } from './spool-writer-options.ts'
import { WriteFault } from './write-fault.ts'

/** A call whose record is being written. Exactly one of the callbacks runs, later in the same turn of the event loop. */
export interface RecordedCall extends CallRecord {
  /** Why the call was refused; stored beside its record. */
  readonly explanation?: Explanation | null
  /** Stored beside the record if the call is sampled; null or missing while no traces are exported. */
  readonly trace?: CallTrace | null
  onSafe(): void
  onRefused(cause: unknown): void
}

export interface SpoolWriter {
  append(call: RecordedCall): void
  /** False while the spool is full or the disk fails: calls must not be forwarded. */
  readonly accepting: boolean
  /** First 16 characters of every request id of this writer. */
  readonly requestPrefix: string
  /** Writes pending records and closes the segment. */
  close(): void
}

const SEGMENT_BYTES_MAX = 64 * 1024 * 1024
const ATTRIBUTIONS_MAX = 65_536
const RECORDS_PER_BATCH_MAX = 16_384
const SYNC_EVERY_MS = 1_000

export function createSpoolWriter(options: SpoolWriterOptions): SpoolWriter {
  return new Writer(options)
}

class Writer implements SpoolWriter {
  readonly requestPrefix: string
  readonly #options: SpoolWriterOptions
  readonly #segmentBytesMax: number
  readonly #batch: BatchBuffer
  /** Numbers of the attributions in the segment. */
  readonly #ids = new Map<Attribution, number>()
  /** Attributions at the end of `#ids` whose definitions are not written yet. */
  #definitions: Attribution[] = []
  #pending: RecordedCall[] = []
  readonly #flushSoon = (): void => this.#flush()
  #isScheduled = false
  #nextRecord: number
  readonly #mark: MarkFile
  #segment: SegmentWriter | null = null
  #number: number
  /** The last segment that this writer created; 0: none. */
  #lastCreated = 0
  /** The segment is full or cannot be continued. */
  #mustReplace = true
  /** A sync has failed: one must succeed before calls are accepted. */
  #mustSync = false
  readonly #fault: WriteFault
  readonly #stopSync: () => void

  constructor(options: SpoolWriterOptions) {
    const { folder, requestPrefix, after, sync, clock, onFailure } = options
    this.#options = options
    this.requestPrefix = requestPrefix
    this.#segmentBytesMax = options.segmentBytesMax ?? SEGMENT_BYTES_MAX
    makeFolder(folder)
    // A killed writer may have left unsynced records that are older than a second: a power cut must not take those.
    if (sync === 'second') syncSegmentsLater(folder, this.#noteFailure)
    this.#batch = new BatchBuffer(RECORDS_PER_BATCH_MAX, requestPrefix)
    this.#fault = new WriteFault({ ...options, probe: () => this.#probe() })
    const end = findSourceEnd(folder)
    this.#number = Math.max(end.lastSegment, after?.segment ?? 0, Math.floor(clock.nowMs() / 1000))
    this.#mark = openRecordMark(folder, onFailure)
    this.#nextRecord = Math.max(end.nextRecord, after?.records ?? 0, this.#mark.found ?? 0)
    try {
      this.#replaceSegment()
    } catch (cause) {
      this.#fault.raise(cause)
    }
    // A checkpoint that refers to a segment survives a power cut, so the name of the segment must survive too.
    this.#attempt(() => syncFolder(folder))
    this.#stopSync = sync === 'second' ? clock.every(SYNC_EVERY_MS, () => this.#syncSegment()) : () => {}
  }

  append(call: RecordedCall): void {
    const ids = this.#ids
    let id = ids.get(call.attribution)
    if (id === undefined) {
      id = ids.size
      ids.set(call.attribution, id)
      this.#definitions.push(call.attribution)
    }
    this.#batch.add(call, id)
    if (call.explanation || call.trace) addNotes(this.#batch, call, this.#options)
    this.#pending.push(call)
    if (this.#batch.count === RECORDS_PER_BATCH_MAX) this.#flush()
    else if (!this.#isScheduled) {
      this.#isScheduled = true
      setImmediate(this.#flushSoon)
    }
  }

  get accepting(): boolean {
    if (this.#options.gauge.isFull) return false
    if (this.#fault.current === null) return true
    if (this.#pending.length === 0 && this.#fault.isProbeDue) this.#probe()
    return this.#fault.current === null
  }

  close(): void {
    this.#flush()
    this.#fault.close()
    this.#stopSync()
    this.#mark.close()
    const segment = this.#segment
    if (segment === null) return
    try {
      if (this.#options.sync !== 'never') segment.syncNow()
    } catch (cause) {
      this.#syncFailed(segment, cause)
    }
    segment.close()
    this.#segment = null
  }

  #flush(): void {
    this.#isScheduled = false
    const calls = this.#pending
    if (calls.length === 0) return
    this.#pending = []
    const segment = this.#segment
    if (segment === null || this.#fault.current !== null) return this.#refuse(calls, this.#fault.current?.cause)
    const definitions = this.#definitions
    try {
      this.#write(
        segment,
        this.#batch.seal(definitions, this.#ids.size - definitions.length, this.#nextRecord),
        calls.length,
      )
    } catch (cause) {
      this.#fault.raise(cause)
      return this.#refuse(calls, cause)
    }
    this.#definitions = []
    this.#nextRecord += calls.length
    this.#mark.write(this.#nextRecord)
    for (const call of calls) call.onSafe()
    this.#options.onGrowth()
    if (segment.bytes >= this.#segmentBytesMax || this.#ids.size >= ATTRIBUTIONS_MAX) this.#rotate(segment)
  }

  #write(to: SegmentWriter, chunk: Buffer, records: number): void {
    const { clock, sync, gauge } = this.#options
    to.write(chunk, records, clock.nowMs())
    if (sync === 'always') this.#syncBatch(to, chunk, records)
    gauge.add(chunk.length)
  }

  /** Syncs one batch. If that fails, the batch is removed, because its calls are refused and must not be billed. */
  #syncBatch(to: SegmentWriter, chunk: Buffer, records: number): void {
    try {
      to.syncNow()
    } catch (cause) {
      this.#mustReplace = this.#mustSync = true
      if (!to.takeBack(chunk)) {
        const nowMs = this.#options.clock.nowMs()
        this.#nextRecord += records
        const lost = { records, fromMs: nowMs, toMs: nowMs }
        this.#report(to, 'A sync of the spool failed: refused calls may be billed.', lost)
      }
      throw cause
    }
  }

  /** Refuses the calls of a batch and discards its definitions, which are written again when they are used again. */
  #refuse(calls: readonly RecordedCall[], cause: unknown): void {
    this.#batch.clear()
    for (const definition of this.#definitions) this.#ids.delete(definition)
    this.#definitions = []
    for (const call of calls) call.onRefused(cause)
  }

  #rotate(full: SegmentWriter): void {
    try {
      this.#mustReplace = true
      // The end marker announces the next segment to readers. It is optional, since the header of that segment announces it too.
      this.#replaceSegment(() => this.#attempt(() => this.#write(full, encodeEnd(this.#nextRecord), 0)))
    } catch (cause) {
      this.#fault.raise(cause)
    }
  }

  /** Starts a new segment and retires the old one after that has succeeded. Throws. */
  #replaceSegment(beforeRetiring = (): void => {}): void {
    const { folder, requestPrefix, instance, sync, clock, gauge } = this.#options
    const numbers = { firstRecord: this.#nextRecord, continues: this.#lastCreated }
    const header = { madeMs: clock.nowMs(), requestPrefix, ...numbers, folder: folderOf(instance) }
    const next = createSegmentWriter({ folder, name: segmentName(this.#number + 1), header, sync })
    const old = this.#segment
    this.#lastCreated = ++this.#number
    this.#segment = next
    this.#mustReplace = false
    this.#ids.clear()
    this.#definitions = []
    gauge.add(HEADER_BYTES)
    if (sync === 'second') syncFolderLater(folder, this.#noteFailure)
    if (old === null) return
    beforeRetiring()
    // After a failed sync the loss is reported already; another sync would report lost pages as written.
    if (sync === 'second' && !this.#mustSync) old.retire((cause) => cause !== null && this.#syncFailed(old, cause))
    else old.close()
  }

  #probe(): void {
    // Pending records refer to attribution numbers that a new segment would not define.
    this.#flush()
    if (this.#fault.current === null) return
    try {
      if (this.#segment === null || this.#mustReplace || !this.#segment.isSound()) this.#replaceSegment()
      this.#segment?.probe()
      if (this.#mustSync) return this.#syncProbe()
    } catch (cause) {
      return this.#fault.raise(cause)
    }
    this.#resume()
  }

  /** Syncs the new segment, which has only a header until the sync has succeeded. */
  #syncProbe(): void {
    this.#segment?.rewriteHeader()
    this.#segment?.sync((cause) => (cause === null ? this.#resume() : this.#fault.raise(cause)))
  }

  #resume(): void {
    this.#mustSync = false
    this.#fault.clear()
  }

  #syncSegment(): void {
    const segment = this.#segment
    if (this.#fault.current === null) segment?.sync((cause) => cause !== null && this.#syncFailed(segment, cause))
  }

  #syncFailed(segment: SegmentWriter, cause: unknown): void {
    const { unsynced } = segment
    if (unsynced !== null) {
      this.#report(segment, 'A sync of the spool failed: written records may not be on the disk.', unsynced)
    }
    this.#mustReplace = this.#mustSync = true
    this.#fault.raise(cause)
  }

  #report({ name }: SegmentWriter, what: string, lost: Unsynced): void {
    const file = join('spool', basename(this.#options.folder), name)
    this.#options.onUncertain?.({ file, what, isExact: false, isUncertain: true, ...lost })
  }

  #attempt(step: () => void): void {
    try {
      step()
    } catch (cause) {
      this.#options.onFailure(cause)
    }
  }

  readonly #noteFailure = (cause: unknown): void => {
    if (cause !== null) this.#options.onFailure(cause)
  }
}

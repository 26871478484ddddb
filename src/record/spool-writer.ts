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
 * batch carries the number of its first one, and a mark beside the folder the number after the last (`record-mark.ts`).
 *
 * After a failed write all calls are refused without another attempt. Once a second a probe cuts back
 * what the failed write has left, writes, and takes that back; then writing goes on in the same segment.
 * A new one is begun only where the old cannot be continued, and only by the probe: a disk that refuses
 * for hours costs one file at most. After a failed sync the next segment has to be written and synced
 * before a call is accepted, and the records that no sync has covered are reported.
 */

import { basename, join } from 'node:path'
import type { Attribution } from '../domain/attribution.ts'
import { toExplanationText, type Explanation } from '../domain/explanation.ts'
import { makeFolder, syncFolder, syncFolderLater } from '../runtime/sync-folder.ts'
import { BatchBuffer, encodeEnd } from './codec.ts'
import type { CallRecord } from './call-record.ts'
import { openRecordMark } from './record-mark.ts'
import { createSegmentWriter, type SegmentWriter, type Unsynced } from './segment-writer.ts'
import { HEADER_BYTES } from './segment-header.ts'
import { segmentName } from './segment-name.ts'
import { findSourceEnd } from './source-end.ts'
import { syncSegmentsLater } from './spool-folder.ts'
import type { SpoolWriterOptions } from './spool-writer-options.ts'

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

const SEGMENT_BYTES_MAX = 64 * 1024 * 1024
const ATTRIBUTIONS_MAX = 65_536
const RECORDS_PER_BATCH_MAX = 16_384
const SYNC_EVERY_MS = 1_000
/** How long the writer leaves the disk alone after it refused. */
const PROBE_EVERY_MS = 1_000

export function createSpoolWriter(options: SpoolWriterOptions): SpoolWriter {
  const { folder, requestPrefix, after, sync, gauge, clock, onGrowth, onFailure, explanations } = options
  const { segmentBytesMax = SEGMENT_BYTES_MAX, onRefusing = () => {}, onUncertain = () => {} } = options
  makeFolder(folder)
  // A writer that was killed has left what it had not synced: it may be older than a second when the power is cut.
  if (sync === 'second') syncSegmentsLater(folder, noteFailure)

  const batch = new BatchBuffer(RECORDS_PER_BATCH_MAX, requestPrefix)
  const ids = new Map<Attribution, number>()
  let waiting: RecordedCall[] = []
  /** Those of `ids` that readers do not know yet: the last ones. */
  let definitions: Attribution[] = []
  const end = findSourceEnd(folder)
  let number = Math.max(end.lastSegment, after?.segment ?? 0, Math.floor(clock.nowMs() / 1000))
  const mark = openRecordMark(folder, onFailure)
  let nextRecord = Math.max(end.nextRecord, after?.records ?? 0, mark.found ?? 0)
  /** The last segment that this writer made; 0: none. */
  let madeLast = 0
  let segment: SegmentWriter | null = null
  let isScheduled = false
  let isClosed = false
  /** Why calls are refused. */
  let fault: { readonly cause: unknown } | null = null
  let probeFromMs = 0
  let cancelProbe = (): void => {}
  /** The segment cannot be continued, or is full. */
  let mustReplace = true
  /** A sync has failed: one has to succeed before calls are accepted. */
  let mustSync = false
  try {
    replace()
  } catch (cause) {
    fail(cause)
  }
  // A checkpoint that names a segment outlasts a power cut: so does the segment's name, whatever is lost of its content.
  attempt(() => syncFolder(folder))
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
    if (segment === null || fault !== null) return refuse(calls, fault?.cause)
    try {
      write(segment, batch.seal(definitions, ids.size - definitions.length, nextRecord), calls.length)
    } catch (cause) {
      fail(cause)
      return refuse(calls, cause)
    }
    definitions = []
    nextRecord += calls.length
    mark.write(nextRecord)
    for (const call of calls) call.onSafe()
    onGrowth()
    if (segment.bytes >= segmentBytesMax || ids.size >= ATTRIBUTIONS_MAX) rotate(segment)
  }

  function rotate(full: SegmentWriter): void {
    try {
      mustReplace = true
      // The mark lets readers see that a segment follows. The header of that one says so too: a mark that fails is left out.
      replace(() => attempt(() => write(full, encodeEnd(nextRecord), 0)))
    } catch (cause) {
      fail(cause)
    }
  }

  function write(to: SegmentWriter, chunk: Buffer, records: number): void {
    to.write(chunk, records, clock.nowMs())
    if (sync === 'always') syncBatch(to, chunk, records)
    gauge.add(chunk.length)
  }

  /** What was synced before is safe; the calls of this batch are refused, so it must not be billed. */
  function syncBatch(to: SegmentWriter, chunk: Buffer, records: number): void {
    try {
      to.syncNow()
    } catch (cause) {
      mustReplace = mustSync = true
      if (!to.takeBack(chunk)) {
        const nowMs = clock.nowMs()
        nextRecord += records
        report(to, 'A sync of the spool failed: refused calls may be billed.', {
          records,
          fromMs: nowMs,
          toMs: nowMs,
        })
      }
      throw cause
    }
  }

  /** What readers do not know is forgotten with the batch, and defined again when it is used again. */
  function refuse(calls: readonly RecordedCall[], cause: unknown): void {
    batch.clear()
    for (const definition of definitions) ids.delete(definition)
    definitions = []
    for (const call of calls) call.onRefused(cause)
  }

  function fail(cause: unknown): void {
    const isFirst = fault === null
    fault = { cause }
    probeFromMs = clock.nowMs() + PROBE_EVERY_MS
    cancelProbe()
    if (!isClosed) cancelProbe = clock.after(PROBE_EVERY_MS, probe)
    if (isFirst) onRefusing(cause)
    onFailure(cause)
  }

  function goOn(): void {
    cancelProbe()
    fault = null
    mustSync = false
    onRefusing(null)
  }

  function probe(): void {
    // Records that wait carry numbers of a table that a new segment would not have.
    flush()
    if (fault === null) return
    try {
      if (segment === null || mustReplace || !segment.isSound()) replace()
      segment?.probe()
      if (mustSync) return syncProbe()
    } catch (cause) {
      return fail(cause)
    }
    goOn()
  }

  /** Nothing but the header is in a segment that is not synced yet. */
  function syncProbe(): void {
    segment?.rewriteHeader()
    segment?.sync((cause) => (cause === null ? goOn() : fail(cause)))
  }

  /** Begins a segment; the old one is kept until that has succeeded. Throws. */
  function replace(beforeRetiring = (): void => {}): void {
    const header = { madeMs: clock.nowMs(), requestPrefix, firstRecord: nextRecord, continues: madeLast }
    const next = createSegmentWriter({ folder, name: segmentName(number + 1), header, sync })
    const old = segment
    madeLast = ++number
    segment = next
    mustReplace = false
    ids.clear()
    definitions = []
    gauge.add(HEADER_BYTES)
    if (sync === 'second') syncFolderLater(folder, noteFailure)
    if (old === null) return
    beforeRetiring()
    // What a failed sync has lost is reported already: another sync would take it for written.
    if (sync === 'second' && !mustSync) old.retire((cause) => cause !== null && syncFailed(old, cause))
    else old.close()
  }

  function attempt(step: () => void): void {
    try {
      step()
    } catch (cause) {
      onFailure(cause)
    }
  }

  function noteFailure(cause: unknown): void {
    if (cause !== null) onFailure(cause)
  }

  function syncLater(): void {
    const current = segment
    if (fault === null) current?.sync((cause) => cause !== null && syncFailed(current, cause))
  }

  function syncFailed(of: SegmentWriter, cause: unknown): void {
    if (of.unsynced !== null) {
      report(of, 'A sync of the spool failed: written records may not be on the disk.', of.unsynced)
    }
    mustReplace = mustSync = true
    fail(cause)
  }

  function report({ name }: SegmentWriter, what: string, lost: Unsynced): void {
    onUncertain({ file: join('spool', basename(folder), name), what, isExact: false, isUncertain: true, ...lost })
  }

  function close(): void {
    flush()
    isClosed = true
    stopSync()
    cancelProbe()
    mark.close()
    if (segment === null) return
    try {
      if (sync !== 'never') segment.syncNow()
    } catch (cause) {
      syncFailed(segment, cause)
    }
    segment.close()
    segment = null
  }

  return {
    append,
    requestPrefix,
    get accepting() {
      if (gauge.isFull) return false
      if (fault === null) return true
      if (waiting.length === 0 && clock.nowMs() >= probeFromMs) probe()
      return isWriting()
    },
    close,
  }

  /** As it is after a probe. */
  function isWriting(): boolean {
    return fault === null
  }
}

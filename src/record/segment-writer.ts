/**
 * One spool segment while it is written: whole batches, and nothing of one whose write failed.
 *
 * The file gets its name when its header is written, so a full disk leaves no empty segments. What a failed
 * write has left is cut off before anything else is written. The segment counts the records that no sync has
 * covered yet: those are uncertain when a sync fails, since the system reports a lost page once and then
 * takes it for written.
 */

import { closeSync, fdatasync, fdatasyncSync, fstatSync, ftruncateSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { createSegment, encodeHeader, HEADER_BYTES, type NewSegmentHeader } from './segment-header.ts'
import type { SpoolSync } from './spool-writer-options.ts'

/** Records that a power cut could take, and when they were written. */
export interface Unsynced {
  readonly records: number
  readonly fromMs: number
  readonly toMs: number
}

type OnSynced = (cause: Error | null) => void

export interface SegmentWriter {
  readonly name: string
  /** Length up to the last whole batch. */
  readonly bytes: number
  readonly unsynced: Unsynced | null
  /** Appends a batch whole; throws if it cannot be written, and leaves nothing of it that a reader takes for a batch. */
  write(batch: Buffer, records: number, nowMs: number): void
  /** Cuts the last batch off again, which was the only one since the last sync; false if that fails. */
  takeBack(batch: Buffer): boolean
  /** Whether writing can go on here: cuts off what a failed write has left, and looks whether the file still has its name. */
  isSound(): boolean
  /** Writes more than most batches need and takes it back. Throws if there is no room. */
  probe(): void
  /** Writes the header again, so that there is something to sync. For a segment without batches. */
  rewriteHeader(): void
  /** Throws if the disk does not take what was written. */
  syncNow(): void
  /** Calls `done` when everything written so far is on the disk, or could not be brought there; not if a sync is under way or nothing is to do. */
  sync(done: OnSynced): void
  /** Syncs what is left and closes the file. */
  retire(done: OnSynced): void
  /** Closes the file, after the sync that is under way. */
  close(): void
}

export interface SegmentWriterOptions {
  readonly folder: string
  readonly name: string
  readonly header: NewSegmentHeader
  /** With `always` the name is on the disk when the segment is created. */
  readonly sync: SpoolSync
}

const PROBE_BYTES = 256 * 1024

/** Throws, and leaves no file, if the header cannot be written or the name is taken. */
export function createSegmentWriter({ folder, name, header, sync: durability }: SegmentWriterOptions): SegmentWriter {
  const file = createSegment(join(folder, name), header, durability === 'always')
  let bytes = HEADER_BYTES
  /** Written before the sync that is under way or has failed, and since. */
  let covered: Unsynced | null = null
  let fresh: Unsynced | null = null
  let isDirty = true
  let isTorn = false
  let isSyncing = false
  let isClosed = false
  let onIdle = (): void => {}

  function writeAt(chunk: Buffer, offset: number): void {
    writeWhole(file, chunk, offset)
    isDirty = true
  }

  /** Must not throw: the error of the write is the one to report. */
  function cut(): boolean {
    try {
      ftruncateSync(file, bytes)
      isTorn = false
    } catch {
      isTorn = true
    }
    return !isTorn
  }

  function isSound(): boolean {
    try {
      return fstatSync(file).nlink > 0 && (!isTorn || cut())
    } catch {
      return false
    }
  }

  function sync(done: OnSynced): void {
    if (!isDirty || isSyncing || isClosed) return
    isSyncing = true
    isDirty = false
    covered = together(covered, fresh)
    fresh = null
    fdatasync(file, (cause) => {
      isSyncing = false
      if (cause === null) covered = null
      if (isClosed) closeSync(file)
      done(cause)
      onIdle()
    })
  }

  function retire(done: OnSynced): void {
    if (isSyncing) {
      onIdle = () => retire(done)
      return
    }
    sync(done)
    close()
  }

  function close(): void {
    if (isClosed) return
    isClosed = true
    if (!isSyncing) closeSync(file)
  }

  return {
    name,
    get bytes() {
      return bytes
    },
    get unsynced() {
      return together(covered, fresh)
    },
    write(batch, records, nowMs) {
      try {
        writeAt(batch, bytes)
      } catch (cause) {
        cut()
        throw cause
      }
      bytes += batch.length
      fresh = together(fresh, { records, fromMs: nowMs, toMs: nowMs })
    },
    takeBack(batch) {
      bytes -= batch.length
      fresh = null
      return cut()
    },
    isSound,
    probe() {
      try {
        writeAt(Buffer.alloc(PROBE_BYTES), bytes)
      } finally {
        cut()
      }
      if (isTorn) throw new Error(`${name} could not be cut back`)
    },
    rewriteHeader: () => writeAt(encodeHeader(header), 0),
    syncNow() {
      fdatasyncSync(file)
      isDirty = false
      covered = fresh = null
    },
    sync,
    retire,
    close,
  }
}

function writeWhole(file: number, chunk: Buffer, offset: number): void {
  for (let written = 0; written < chunk.length;)
    written += writeSync(file, chunk, written, chunk.length - written, offset + written)
}

function together(a: Unsynced | null, b: Unsynced | null): Unsynced | null {
  if (a === null || b === null) return a ?? b
  return { records: a.records + b.records, fromMs: a.fromMs, toMs: b.toMs }
}

/**
 * Writes one spool segment: whole batches, and no part of a batch whose write failed.
 *
 * The file gets its name after its header is written, so that a full disk leaves no empty segments. The remainder of a failed write
 * is truncated before the next write. The segment counts its unsynced records. They are uncertain after a failed sync, because the
 * kernel reports a lost page once and then treats it as clean.
 */

import { closeSync, fdatasync, fdatasyncSync, fstatSync, ftruncateSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { createSegment, encodeHeader, HEADER_BYTES, type NewSegmentHeader } from './segment-header.ts'
import type { SpoolSync } from './spool-writer-options.ts'

/** Records that a power cut could lose, and the time range of their writes. */
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
  /** Appends a whole batch. Throws if the write fails; a reader then never sees the partial batch as valid. */
  write(batch: Buffer, records: number, nowMs: number): void
  /** Truncates the last batch, which must be the only one since the last sync. Returns false if that fails. */
  takeBack(batch: Buffer): boolean
  /** Whether writing can continue in this file: truncates the remainder of a failed write and checks that the file has a name. */
  isSound(): boolean
  /** Writes a test block that is larger than most batches, and truncates it. Throws if the write fails. */
  probe(): void
  /** Writes the header again, so that a sync has something to write. For a segment without batches. */
  rewriteHeader(): void
  /** Syncs synchronously. Throws if the sync fails. */
  syncNow(): void
  /** Syncs asynchronously and calls `done` with the result. Does nothing if a sync is in progress or nothing is unsynced. */
  sync(done: OnSynced): void
  /** Syncs the remaining writes and closes the file. */
  retire(done: OnSynced): void
  /** Closes the file after the sync in progress, if any. */
  close(): void
}

export interface SegmentWriterOptions {
  readonly folder: string
  readonly name: string
  readonly header: NewSegmentHeader
  /** With `always`, the name of the segment is synced when it is created. */
  readonly sync: SpoolSync
}

const PROBE_BYTES = 256 * 1024

/** Throws, and leaves no file, if the header cannot be written or the name is taken. */
export function createSegmentWriter({ folder, name, header, sync: durability }: SegmentWriterOptions): SegmentWriter {
  const file = createSegment(join(folder, name), header, durability === 'always')
  let bytes = HEADER_BYTES
  /** Records written before the sync in progress (or the failed one), and records written since. */
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

  /** Truncates to the last whole batch. Does not throw, so that the error of the write is the one that is reported. */
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

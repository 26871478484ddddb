/**
 * Writes one spool segment: whole batches, and no part of a batch whose write failed.
 *
 * The file gets its name after its header is written, so that a full disk leaves no empty segments. The remainder of a failed write
 * is truncated before the next write. The segment counts its unsynced records. They are uncertain after a failed sync, because the
 * kernel reports a lost page once and then treats it as clean.
 */

import { closeSync, fdatasync, fdatasyncSync, fstatSync, ftruncateSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { createSegment, encodeHeader, HEADER_BYTES, placeOf, type NewSegmentHeader } from './segment-header.ts'
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

/** Throws, and leaves no file, if the header cannot be written or the name is in use. */
export function createSegmentWriter({ folder, name, header, sync }: SegmentWriterOptions): SegmentWriter {
  const path = join(folder, name)
  return new Writer(name, { ...header, place: placeOf(path) }, createSegment(path, header, sync === 'always'))
}

class Writer implements SegmentWriter {
  readonly name: string
  bytes = HEADER_BYTES
  readonly #header: NewSegmentHeader
  readonly #file: number
  /** Records written before the sync in progress (or the failed one). */
  #covered: Unsynced | null = null
  /** Records written since. */
  #fresh: Unsynced | null = null
  #isDirty = true
  #isTorn = false
  #isSyncing = false
  #isClosed = false
  #onIdle = (): void => {}

  constructor(name: string, header: NewSegmentHeader, file: number) {
    this.name = name
    this.#header = header
    this.#file = file
  }

  get unsynced(): Unsynced | null {
    return together(this.#covered, this.#fresh)
  }

  write(batch: Buffer, records: number, nowMs: number): void {
    try {
      this.#writeAt(batch, this.bytes)
    } catch (cause) {
      this.#cut()
      throw cause
    }
    this.bytes += batch.length
    this.#fresh = together(this.#fresh, { records, fromMs: nowMs, toMs: nowMs })
  }

  takeBack(batch: Buffer): boolean {
    this.bytes -= batch.length
    this.#fresh = null
    return this.#cut()
  }

  isSound(): boolean {
    try {
      return fstatSync(this.#file).nlink > 0 && (!this.#isTorn || this.#cut())
    } catch {
      return false
    }
  }

  probe(): void {
    try {
      this.#writeAt(Buffer.alloc(PROBE_BYTES), this.bytes)
    } finally {
      this.#cut()
    }
    if (this.#isTorn) throw new Error(`${this.name} could not be truncated after a test write`)
  }

  rewriteHeader(): void {
    this.#writeAt(encodeHeader(this.#header), 0)
  }

  syncNow(): void {
    fdatasyncSync(this.#file)
    this.#isDirty = false
    this.#covered = this.#fresh = null
  }

  sync(done: OnSynced): void {
    if (!this.#isDirty || this.#isSyncing || this.#isClosed) return
    this.#isSyncing = true
    this.#isDirty = false
    this.#covered = this.unsynced
    this.#fresh = null
    fdatasync(this.#file, (cause) => {
      this.#isSyncing = false
      if (cause === null) this.#covered = null
      if (this.#isClosed) closeSync(this.#file)
      done(cause)
      this.#onIdle()
    })
  }

  retire(done: OnSynced): void {
    if (this.#isSyncing) {
      this.#onIdle = () => this.retire(done)
      return
    }
    this.sync(done)
    this.close()
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    if (!this.#isSyncing) closeSync(this.#file)
  }

  #writeAt(chunk: Buffer, offset: number): void {
    writeWhole(this.#file, chunk, offset)
    this.#isDirty = true
  }

  /** Truncates to the last whole batch. Does not throw, so that the error of the write is the one that is reported. */
  #cut(): boolean {
    try {
      ftruncateSync(this.#file, this.bytes)
      this.#isTorn = false
    } catch {
      this.#isTorn = true
    }
    return !this.#isTorn
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

/**
 * A high-water mark beside a file: the number of its last change, written after each change.
 *
 * The mark reveals a database that was replaced by an older copy, or copied without its write-ahead log: such a file looks intact, but
 * the mark is ahead of it. The mark is written after the change, into the page cache, so a crash leaves it behind and never ahead. After
 * a power cut, the mark of a database is not ahead either, because commits are synced. The mark of the spool may be ahead: then records
 * are missing.
 */

import { closeSync, constants, openSync, readFileSync, writeSync } from 'node:fs'
import { crc32 } from 'node:zlib'

export interface MarkFile {
  /** The value when the file was opened; null: missing or damaged. */
  readonly found: number | null
  /** Never throws: a mark that cannot be written stays behind, which is harmless. */
  write(change: number): void
  close(): void
}

const FORM = /^tollgate mark 1 (\d{16}) ([0-9a-f]{8})\n$/

/** `registry.mark` for `registry.db`. */
export function markPathOf(path: string): string {
  return `${path.replace(/\.db$/, '')}.mark`
}

export function openMarkFile(path: string): MarkFile {
  const found = readMark(path)
  const file = openSync(path, constants.O_WRONLY | constants.O_CREAT, 0o600)
  let isOpen = true
  return {
    found,
    write(change) {
      // The descriptor number may already belong to another file.
      if (!isOpen) return
      try {
        writeSync(file, toText(change), 0)
      } catch {
        // The mark stays behind, as after a crash.
      }
    },
    close() {
      if (isOpen) closeSync(file)
      isOpen = false
    },
  }
}

/** Null: missing or damaged. */
export function readMark(path: string): number | null {
  try {
    const match = FORM.exec(readFileSync(path, 'latin1'))
    return match === null || checksum(match[1]!) !== match[2] ? null : Number(match[1])
  } catch {
    return null
  }
}

function toText(change: number): string {
  const digits = String(change).padStart(16, '0')
  return `tollgate mark 1 ${digits} ${checksum(digits)}\n`
}

function checksum(digits: string): string {
  return crc32(digits).toString(16).padStart(8, '0')
}

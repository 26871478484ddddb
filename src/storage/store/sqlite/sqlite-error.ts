/** Classifies SQLite's result codes for writers: https://sqlite.org/rescode.html. */

import { StoreUnwritable } from '../unwritable.ts'

const FULL = 13
const READ_ONLY = 8
const IO_ERROR = 10
const CANNOT_OPEN = 14
const UNWRITABLE = new Set([FULL, READ_ONLY, IO_ERROR, CANNOT_OPEN])

/** True if the disk is full, or the file has reached its size limit. */
export function isFull(cause: unknown): boolean {
  return primaryCode(cause) === FULL
}

/** True if the disk refused the write, for any reason. */
export function isUnwritable(cause: unknown): boolean {
  const code = primaryCode(cause)
  return code !== null && UNWRITABLE.has(code)
}

/** Runs `work`. Throws `StoreUnwritable` if the disk refuses a write, and other errors unchanged. */
export function withWriteRefusal<Result>(what: string, work: () => Result): Result {
  try {
    return work()
  } catch (cause) {
    if (isUnwritable(cause)) throw new StoreUnwritable(`${what} cannot be written`, { cause })
    throw cause
  }
}

/** Returns the low byte of an extended result code; null if there is no code. */
function primaryCode(cause: unknown): number | null {
  const code = cause instanceof Error ? (cause as { errcode?: unknown }).errcode : undefined
  return typeof code === 'number' ? code & 0xff : null
}

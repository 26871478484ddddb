/**
 * Opens a database file of the data folder: sets its pragmas, checks it, and explains why it cannot be opened.
 *
 * A file that cannot be used refuses the start with the name of the file and the remedy. A small file is checked before use;
 * `database-check.ts` checks a large one in a worker thread, so that the duration of a start does not depend on the size.
 */

import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { StartRefused, toStartRefused } from '../../../foundation/runtime/start-refused.ts'

export interface OpenDatabaseOptions {
  readonly path: string
  /** Remedy for a damaged file; follows "is damaged (…); ". */
  readonly remedy: string
}

export interface OpenedDatabase {
  readonly database: DatabaseSync
  /** True if the file is too large to be checked before use. */
  readonly isCheckedLater: boolean
}

/** About 50 ms on a slow machine. */
export const CHECKED_AT_OPEN_BYTES_MAX = 8 * 1024 * 1024

/** https://sqlite.org/rescode.html */
const CORRUPT = 11
const NOT_A_DATABASE = 26
const PRIMARY_CODE = 0xff

/** Creates the file if it is missing. Throws `StartRefused`. */
export function openDatabase({ path, remedy }: OpenDatabaseOptions): OpenedDatabase {
  const isCheckedLater = sizeOf(path) > CHECKED_AT_OPEN_BYTES_MAX
  let database: DatabaseSync | null = null
  try {
    if (existsSync(path)) accessSync(path, constants.R_OK | constants.W_OK)
    database = new DatabaseSync(path)
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000')
    const fault = isCheckedLater ? null : quickCheck(database)
    if (fault !== null) throw damaged(path, fault, remedy)
    return { database, isCheckedLater }
  } catch (cause) {
    database?.close()
    throw toRefusal(path, cause, remedy)
  }
}

/** Returns the first fault that SQLite finds in the structure of the file; null: none. */
export function quickCheck(database: DatabaseSync): string | null {
  const row = database.prepare('PRAGMA quick_check(1)').get()
  const result = String(row?.['quick_check'] ?? 'no answer')
  return result === 'ok' ? null : result.replaceAll(/\s+/g, ' ').slice(0, 200)
}

/** The content of the file cannot be used. */
export class DatabaseDamaged extends StartRefused {}

export function damaged(path: string, fault: string, remedy: string): DatabaseDamaged {
  return new DatabaseDamaged(`${path} is damaged (${fault}); ${remedy}`)
}

/** Maps an error of SQLite or of the operating system to a refusal. Returns any other error unchanged: it is a bug. */
export function toRefusal(path: string, cause: unknown, remedy: string): unknown {
  if (!(cause instanceof Error) || cause instanceof StartRefused) return cause
  return isCorruption(cause) ? damaged(path, cause.message, remedy) : toStartRefused(path, cause, remedy)
}

/** Whether SQLite reports that the content of the file is damaged. */
export function isCorruption(cause: unknown): cause is Error & { readonly errcode: number } {
  if (!(cause instanceof Error)) return false
  const { errcode } = cause as { readonly errcode?: unknown }
  return typeof errcode === 'number' && [CORRUPT, NOT_A_DATABASE].includes(errcode & PRIMARY_CODE)
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

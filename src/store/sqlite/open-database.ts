/**
 * Opens a database file of the data folder: the one place that sets its pragmas, checks it and explains why it does not open.
 *
 * A file that cannot be used is a refused start that names the file and the remedy. A small file is checked before it is used; a large
 * one is checked by `database-check.ts` in a thread of its own, so that a start costs the same for every size.
 */

import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { StartRefused, toStartRefused } from '../../runtime/start-refused.ts'

export interface OpenDatabaseOptions {
  readonly path: string
  /** Remedy for a damaged file; follows "is damaged (…); ". */
  readonly remedy: string
}

export interface OpenedDatabase {
  readonly database: DatabaseSync
  /** The file is too large to be checked before it is used. */
  readonly isCheckedLater: boolean
}

/** Some 50 ms on a slow machine. */
export const CHECKED_AT_ONCE_BYTES = 8 * 1024 * 1024

/** https://sqlite.org/rescode.html */
const CORRUPT = 11
const NOT_A_DATABASE = 26
const PRIMARY_CODE = 0xff

/** Throws `StartRefused`. A file that does not exist is made. */
export function openDatabase({ path, remedy }: OpenDatabaseOptions): OpenedDatabase {
  const isCheckedLater = sizeOf(path) > CHECKED_AT_ONCE_BYTES
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

/** The first fault that SQLite finds in the structure of the file; null: none. */
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

/** An error that is neither SQLite's nor the operating system's is a bug and stays as it is. */
export function toRefusal(path: string, cause: unknown, remedy: string): unknown {
  if (!(cause instanceof Error) || cause instanceof StartRefused) return cause
  return isCorruption(cause) ? damaged(path, cause.message, remedy) : toStartRefused(path, cause, remedy)
}

/** SQLite found that the content of a file is not what it must be. */
export function isCorruption(cause: unknown): cause is Error & { readonly errcode: number } {
  if (!(cause instanceof Error)) return false
  const { errcode } = cause as { readonly errcode?: unknown }
  return typeof errcode === 'number' && [CORRUPT, NOT_A_DATABASE].includes(errcode & PRIMARY_CODE)
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

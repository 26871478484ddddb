/**
 * Exclusive lock on a data folder, which the operating system releases when its process ends in any way.
 *
 * Uses the lock of an SQLite file, since Node has no file locks. The content of the file has no meaning.
 */

import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { checkFolderAccess } from '../../../foundation/runtime/folder-access.ts'
import { StartRefused, toStartRefused } from '../../../foundation/runtime/start-refused.ts'
import { makeFolder } from '../../../foundation/runtime/sync-folder.ts'

/** Marker file in a folder while `tollgate restore` fills it. */
export const RESTORING = 'restore.incomplete'

const SQLITE_BUSY = 5
const PRIMARY_CODE = 0xff

/** Locks the folder, and creates it if it is missing. Throws `StartRefused`. Returns a function that unlocks it. */
export function lockDataFolder(folder: string): () => void {
  const unlock = tryLockDataFolder(folder)
  if (unlock !== null) return unlock
  throw new StartRefused(`DATA_DIR ${folder} is in use by another process; stop it, or set another DATA_DIR`)
}

/** Like `lockDataFolder`, but returns null if another process holds the lock. */
export function tryLockDataFolder(folder: string): (() => void) | null {
  ensureFolder(folder)
  if (existsSync(join(folder, RESTORING))) {
    throw new StartRefused(`${folder} holds an unfinished restore; empty the folder and restore again`)
  }
  const path = join(folder, 'lock')
  let database: DatabaseSync | null = null
  try {
    database = new DatabaseSync(path)
    database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE')
  } catch (cause) {
    database?.close()
    if (isBusy(cause)) return null
    throw toStartRefused(path, cause, 'no process holds the lock, and the file has no content of value: delete it')
  }
  try {
    checkFolderAccess(folder)
  } catch (cause) {
    database.close()
    throw cause
  }
  return () => database.close()
}

function ensureFolder(folder: string): void {
  if (existsSync(folder) && !statSync(folder).isDirectory()) {
    throw new StartRefused(`DATA_DIR ${folder} is not a folder; move it away, or set another DATA_DIR`)
  }
  try {
    makeFolder(folder, 0o700)
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (cause) {
    throw toStartRefused(folder, cause)
  }
}

function isBusy(cause: unknown): boolean {
  const { errcode } = cause as { errcode?: unknown }
  return typeof errcode === 'number' && (errcode & PRIMARY_CODE) === SQLITE_BUSY
}

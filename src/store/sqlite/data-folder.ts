/**
 * One process a data folder: an exclusive lock that the operating system takes back when its holder
 * dies, however it dies.
 *
 * SQLite's own lock on a file of its own is used, since Node has no file locks; no byte of it matters.
 */

import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { StartRefused } from '../../runtime/start-refused.ts'
import { makeFolder } from '../../runtime/sync-folder.ts'

/** Makes the folder where it is missing. Throws `StartRefused`. Returns how to let go of it. */
export function lockDataFolder(folder: string): () => void {
  try {
    makeFolder(folder, 0o700)
    if (!statSync(folder).isDirectory()) throw new Error('it is not a folder')
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (cause) {
    const place = existsSync(folder) ? folder : dirname(folder)
    throw new StartRefused(
      `DATA_DIR ${folder} cannot be written (${reason(cause)}); give one that this user owns, or change ${place}`,
    )
  }
  const database = new DatabaseSync(join(folder, 'lock'))
  try {
    database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE')
  } catch {
    database.close()
    throw new StartRefused(`DATA_DIR ${folder} is in use by another process; stop it or give another folder`)
  }
  return () => database.close()
}

function reason(cause: unknown): string {
  return cause instanceof Error ? ((cause as NodeJS.ErrnoException).code ?? cause.message) : String(cause)
}

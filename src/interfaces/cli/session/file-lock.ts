/**
 * A lock that one process holds at a time, as an empty file next to the data.
 *
 * The operating system releases it when the process ends, however it ends: there is no abandoned lock that two others could take
 * over at once. Node has no such locks of its own, but SQLite locks a database file by them.
 */

import { closeSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import { CommandFailed } from '../exit-codes.ts'

export type Unlock = () => void

const POLL_MS = 50
const WAIT_MS_MAX = 45_000
const SQLITE_BUSY = 5

/** Resolves once no other process or caller holds the lock; throws if one holds it for `waitMs`. */
export async function lockFile(path: string, waitMs = WAIT_MS_MAX): Promise<Unlock> {
  // Only its owner may open it, because everyone who can open it can hold the lock.
  closeSync(openSync(path, 'a', 0o600))
  const database = new DatabaseSync(path, { timeout: 0 })
  try {
    for (const endMs = performance.now() + waitMs; ;) {
      if (take(database, path)) return () => database.close()
      if (performance.now() >= endMs) throw new CommandFailed(`Another tollgate command holds ${path}.`)
      await pause(POLL_MS)
    }
  } catch (cause) {
    database.close()
    throw cause
  }
}

function take(database: DatabaseSync, path: string): boolean {
  try {
    database.exec('BEGIN EXCLUSIVE')
    return true
  } catch (cause) {
    const { errcode = 0, message } = cause as Error & { readonly errcode?: number }
    // The lower byte is the error; the others give the reason.
    if ((errcode & 0xff) === SQLITE_BUSY) return false
    throw new CommandFailed(`${path} cannot be locked: ${message}. Remove it.`)
  }
}

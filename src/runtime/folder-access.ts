/**
 * Looks at every file and folder below a data folder before it is opened, for what this user may not read or write.
 *
 * The parts that are opened later hide it: SQLite opens a file that it cannot write for reading, and the embedded store sets aside
 * parts that it cannot read, together with the bill that is in them. Takes some 10 µs a file.
 */

import { accessSync, constants, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { toStartRefused } from './start-refused.ts'

/** Beyond it the rest is not looked at: a start takes no longer than that. */
const ENTRIES_MAX = 20_000
/** Others are left alone: `lost+found` of a mounted volume belongs to root. */
const OURS = /^((registry|checkpoint|idempotency)\.db|lock)(-wal|-shm|-journal)?$|^(master\.key|spool|clickhouse)$/
const READ_WRITE = constants.R_OK | constants.W_OK

/** Throws `StartRefused` with the first path that this user cannot use. */
export function checkFolderAccess(folder: string): void {
  const folders = [folder]
  let entries = 0
  for (let path = folders.shift(); path !== undefined && entries < ENTRIES_MAX; path = folders.shift()) {
    check(path, READ_WRITE | constants.X_OK)
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      if (path === folder && !OURS.test(entry.name)) continue
      entries++
      if (entry.isDirectory()) folders.push(join(path, entry.name))
      else if (entry.isFile()) check(join(path, entry.name), READ_WRITE)
    }
  }
}

function check(path: string, mode: number): void {
  try {
    accessSync(path, mode)
  } catch (cause) {
    throw toStartRefused(path, cause)
  }
}

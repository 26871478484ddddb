/**
 * Looks at every file and folder below a data folder before it is opened, for what this user may not read or write, and for what
 * stands in place of a file.
 *
 * To open a named pipe waits for ever, and a file that is written anew beside its name hides what the fault is.
 * The parts that are opened later hide it: SQLite opens a file that it cannot write for reading, and the embedded store sets aside
 * parts that it cannot read, together with the bill that is in them. Takes some 10 µs a file.
 */

import { accessSync, constants, readdirSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { StartRefused, toStartRefused } from './start-refused.ts'

/** Beyond it the rest is not looked at: a start takes no longer than that. */
const ENTRIES_MAX = 20_000
/** Others are left alone: `lost+found` of a mounted volume belongs to root. */
const OURS = /^((registry|checkpoint|idempotency)\.db|lock)(-wal|-shm|-journal)?$|^(master\.key|spool|clickhouse)$/
/** Files that are opened by their names. */
const FILES =
  /^((registry|checkpoint|idempotency)\.db(-wal|-shm|-journal)?|lock|master\.key|folder\.json|running|(registry|checkpoint|spool\/[^/]+)\.mark)$/
const READ_WRITE = constants.R_OK | constants.W_OK

/** Throws `StartRefused` with the first path that this user cannot use. */
export function checkFolderAccess(folder: string): void {
  const folders = [folder]
  let entries = 0
  for (let path = folders.shift(); path !== undefined && entries < ENTRIES_MAX; path = folders.shift()) {
    check(path, READ_WRITE | constants.X_OK)
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      const full = join(path, entry.name)
      if (!entry.isFile() && FILES.test(relative(folder, full))) refuseOther(full)
      if (path === folder && !OURS.test(entry.name)) continue
      entries++
      if (entry.isDirectory()) folders.push(full)
      else if (entry.isFile()) check(full, READ_WRITE)
    }
  }
}

/** A link to a file is one. */
function refuseOther(path: string): void {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats === undefined || stats.isFile()) return
  const reason = stats.isDirectory() ? 'EISDIR' : 'not a file'
  throw new StartRefused(
    `${path} is not the expected kind of file (${reason}); move it away, or restore it from a backup`,
  )
}

function check(path: string, mode: number): void {
  try {
    accessSync(path, mode)
  } catch (cause) {
    throw toStartRefused(path, cause)
  }
}

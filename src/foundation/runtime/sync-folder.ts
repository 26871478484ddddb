/**
 * Creates files and folders that survive a power cut: a synced file is still lost if its folder entry was not synced.
 */

import { closeSync, fsync, fsyncSync, mkdirSync, openSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** Creates `path` and its missing parents, and syncs their folder entries. */
export function makeFolder(path: string, mode = 0o777): void {
  const first = mkdirSync(path, { recursive: true, mode })
  if (first === undefined) return
  const top = dirname(resolve(first))
  for (let made = resolve(path); made !== top; made = dirname(made)) syncFolder(dirname(made))
}

/** Syncs the entries of the folder `path`: names created, removed or changed so far. */
export function syncFolder(path: string): void {
  const folder = openSync(path, 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

/** Like `syncFolder`, but asynchronous: `onDone` receives the error, or null. */
export function syncFolderLater(path: string, onDone: (cause: unknown) => void): void {
  const folder = openSync(path, 'r')
  fsync(folder, (cause) => {
    closeSync(folder)
    onDone(cause)
  })
}

/** Replaces the file at `path` atomically, also with respect to a power cut. */
export function writeWhole(path: string, text: string): void {
  const draft = `${path}.new`
  writeFileSync(draft, text, { mode: 0o600, flush: true })
  renameSync(draft, path)
  syncFolder(dirname(path))
}

/**
 * Files and folders that outlast a power cut: what is synced in a file is lost with its name, unless the folder that
 * holds the name was synced too.
 */

import { closeSync, fsync, fsyncSync, mkdirSync, openSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** Makes `path` and the folders above it that are missing; they are on disk when it returns. */
export function makeFolder(path: string, mode = 0o777): void {
  const first = mkdirSync(path, { recursive: true, mode })
  if (first === undefined) return
  const top = dirname(resolve(first))
  for (let made = resolve(path); made !== top; made = dirname(made)) syncFolder(dirname(made))
}

/** Names in `path` that were made, removed or changed until now are on disk when it returns. */
export function syncFolder(path: string): void {
  const folder = openSync(path, 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

/** As `syncFolder`, without waiting: `onDone` gets the error, or null. */
export function syncFolderLater(path: string, onDone: (cause: unknown) => void): void {
  const folder = openSync(path, 'r')
  fsync(folder, (cause) => {
    closeSync(folder)
    onDone(cause)
  })
}

/** Replaces the file at `path`; after a power cut it is as before or as it should be, and never a part of either. */
export function writeWhole(path: string, text: string): void {
  const draft = `${path}.new`
  writeFileSync(draft, text, { mode: 0o600, flush: true })
  renameSync(draft, path)
  syncFolder(dirname(path))
}

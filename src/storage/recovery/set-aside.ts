/** Moves files of a data folder to `lost/<time>/` instead of deleting them. */

import { existsSync, mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'

/** Moves the files and returns their new folder, relative to the data folder. */
export function setAside(dataDir: string, names: readonly string[], nowMs: number): string {
  const folder = join('lost', new Date(nowMs).toISOString().replaceAll(':', '-'))
  mkdirSync(join(dataDir, folder), { recursive: true, mode: 0o700 })
  for (const name of names) {
    const from = join(dataDir, name)
    if (existsSync(from)) renameSync(from, join(dataDir, folder, name))
  }
  return folder
}

/** Files of a database: the database itself, its write-ahead log and its mark. */
export function databaseFiles(name: string): readonly string[] {
  return [`${name}.db`, `${name}.db-wal`, `${name}.db-shm`, `${name}.mark`]
}

/** Moves files of a data folder to `lost/<time>/`: nothing that an operator gives up is deleted. */

import { existsSync, mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'

/** Returns the folder that holds them now, relative to the data folder. */
export function setAside(dataDir: string, names: readonly string[], nowMs: number): string {
  const folder = join('lost', new Date(nowMs).toISOString().replaceAll(':', '-'))
  mkdirSync(join(dataDir, folder), { recursive: true, mode: 0o700 })
  for (const name of names) {
    const from = join(dataDir, name)
    if (existsSync(from)) renameSync(from, join(dataDir, folder, name))
  }
  return folder
}

/** A database with everything that belongs to it. */
export function databaseFiles(name: string): readonly string[] {
  return [`${name}.db`, `${name}.db-wal`, `${name}.db-shm`, `${name}.mark`]
}

/** Marker of a data folder whose registry has moved to PostgreSQL: its `registry.db` is old, and would bring back what was revoked. */

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { StartRefused } from '../../../foundation/runtime/start-refused.ts'
import { writeWhole } from '../../../foundation/runtime/sync-folder.ts'

const FILE = 'registry.moved'

/** `where` names the database, without a password. Returns the path of the marker. */
export function markMoved(dataDir: string, where: string): string {
  const path = join(dataDir, FILE)
  writeWhole(path, `${where}\n`)
  return path
}

/** Whether the registry has moved to this database. */
export function hasMovedTo(dataDir: string, where: string): boolean {
  const path = join(dataDir, FILE)
  return existsSync(path) && readFileSync(path, 'utf8').trim() === where
}

/** Throws `StartRefused`. */
export function refuseMoved(dataDir: string): void {
  const path = join(dataDir, FILE)
  if (!existsSync(path)) return
  const where = readFileSync(path, 'utf8').trim().slice(0, 300)
  throw new StartRefused(
    `the registry of ${dataDir} has moved to PostgreSQL (${where}): set DATABASE_URL; to go back to registry.db and lose all ` +
      `changes since, remove ${path}`,
  )
}

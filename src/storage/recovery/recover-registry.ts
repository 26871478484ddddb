/** Accepts the loss of the registry, or of its latest changes. */

import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../../foundation/runtime/clock.ts'
import { DatabaseDamaged } from '../store/sqlite/open-database.ts'
import { openSqliteRegistry, type SqliteRegistry } from '../store/sqlite/registry.ts'
import { markedChange } from '../store/sqlite/registry-file.ts'
import { databaseFiles, setAside } from './set-aside.ts'

export interface RecoverRegistryOptions {
  readonly dataDir: string
  readonly hasMasterKey: boolean
  readonly clock: Clock
}

export interface Recovered<T> {
  readonly opened: T
  /** Description of the loss, in one sentence. */
  readonly loss: string
}

/** Throws `StartRefused` if the file cannot be opened for a reason other than its content. */
export async function recoverRegistry(options: RecoverRegistryOptions): Promise<Recovered<SqliteRegistry>> {
  const { dataDir, hasMasterKey, clock } = options
  const path = join(dataDir, 'registry.db')
  const open = (): SqliteRegistry => openSqliteRegistry({ path, clock, isLossAccepted: true })
  const startAgain = (why: string): Recovered<SqliteRegistry> => {
    const folder = setAside(dataDir, databaseFiles('registry'), clock.nowMs())
    return { opened: open(), loss: `${why}; all configuration is lost (the old file is in ${folder})` }
  }
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0) return startAgain('registry.db was missing')
  if (!hasMasterKey && !existsSync(join(dataDir, 'master.key'))) return startAgain('master.key was missing')
  try {
    const marked = markedChange(path)
    const opened = open()
    const lost = Math.max(0, marked - markedChange(path))
    return {
      opened,
      loss: lost === 0 ? 'registry.db is intact' : `the last ${lost} changes of registry.db are lost`,
    }
  } catch (cause) {
    if (cause instanceof DatabaseDamaged) return startAgain('registry.db was damaged')
    throw cause
  }
}

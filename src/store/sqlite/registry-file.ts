/**
 * Opens the file of the registry: checks it, migrates it to this version, and compares it with the mark beside it.
 *
 * An older copy of the registry is refused, because credentials that were revoked later would be valid again.
 */

import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { acceptLossCommand } from '../../runtime/accept-loss.ts'
import { StartRefused } from '../../runtime/start-refused.ts'
import { markPathOf, openMarkFile } from '../../runtime/mark-file.ts'
import { damaged, openDatabase, toRefusal } from './open-database.ts'
import { migrateSchema } from './registry-schema.ts'
import { REGISTRY_TABLES, verifyFeed, verifyTables } from './verify-tables.ts'

const IN_MEMORY = ':memory:'

export interface RegistryFile {
  readonly database: DatabaseSync
  /** Updates the mark after a commit. */
  committed(): void
  close(): void
}

/** Throws `StartRefused`. */
export function openRegistryFile(path: string, isLossAccepted: boolean): RegistryFile {
  const remedy = `put back its newest whole copy, or ${acceptLossCommand('registry', dirname(path))}`
  const { database, isCheckedLater } = openDatabase({ path, remedy })
  try {
    migrateSchema(database, path)
    const fault = isCheckedLater ? null : (verifyTables(database, REGISTRY_TABLES) ?? verifyFeed(database))
    if (fault !== null) throw damaged(path, fault, remedy)
    return withMark(path, database, isLossAccepted)
  } catch (cause) {
    database.close()
    throw toRefusal(path, cause, remedy)
  }
}

function withMark(path: string, database: DatabaseSync, isLossAccepted: boolean): RegistryFile {
  if (path === IN_MEMORY) return { database, committed() {}, close: () => database.close() }
  const last = database.prepare(`SELECT coalesce(sum(seq), 0) AS change FROM sqlite_sequence`)
  const change = (): number => Number(last.get()?.['change'])
  const mark = openMarkFile(markPathOf(path))
  const lost = (mark.found ?? 0) - change()
  if (lost > 0 && !isLossAccepted) {
    mark.close()
    throw new StartRefused(
      `${path} lacks its last ${lost} changes: it is an older copy, or ${path}-wal is missing; put back the newer files, ` +
        `or ${acceptLossCommand('registry', dirname(path))}`,
    )
  }
  mark.write(change())
  return {
    database,
    committed: () => mark.write(change()),
    close() {
      mark.close()
      database.close()
    },
  }
}

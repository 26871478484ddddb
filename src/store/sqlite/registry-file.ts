/**
 * Opens the file of the registry: checks it, migrates it to this version, and compares it with its marks.
 *
 * An older copy of the registry is refused, because credentials that were revoked later would be valid again. An operator who puts back
 * an older file may put back the mark beside it as well, so that there is another one in the spool.
 */

import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { acceptLossCommand } from '../../runtime/accept-loss.ts'
import { StartRefused } from '../../runtime/start-refused.ts'
import { markPathOf, openMarkFile, readMark, type MarkFile } from '../../runtime/mark-file.ts'
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
  const mark = openMarks(path)
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

/** The number of the last change that a mark of the file has recorded; 0 if there is none. */
export function markedChange(path: string): number {
  return Math.max(readMark(markPathOf(path)) ?? 0, readMark(spoolMarkOf(path)) ?? 0)
}

function spoolMarkOf(path: string): string {
  return join(dirname(path), 'spool', 'registry.mark')
}

/** A new folder has no spool yet. */
function openMarks(path: string): MarkFile {
  const own = openMarkFile(markPathOf(path))
  const found = markedChange(path)
  let other = tryOpen(spoolMarkOf(path))
  return {
    found,
    write(change) {
      own.write(change)
      other ??= tryOpen(spoolMarkOf(path))
      other?.write(change)
    },
    close() {
      own.close()
      other?.close()
      other = CLOSED
    },
  }
}

const CLOSED: MarkFile = { found: null, write() {}, close() {} }

/** Null also if the file cannot be written: the mark stays behind, which is harmless. */
function tryOpen(path: string): MarkFile | null {
  try {
    return existsSync(dirname(path)) ? openMarkFile(path) : null
  } catch {
    return null
  }
}

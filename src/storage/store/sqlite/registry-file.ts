/**
 * Opens the file of the registry: checks it, migrates it to this version, and compares it with its marks.
 *
 * An older copy of the registry is refused, because credentials that were revoked later would be valid again. An operator who puts back
 * an older file may put back the mark beside it as well, so that there is another one in the spool.
 */

import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { crc32 } from 'node:zlib'
import { acceptLossCommand } from '../../../foundation/runtime/accept-loss.ts'
import { StartRefused } from '../../../foundation/runtime/start-refused.ts'
import { markPathOf, openMarkFile, readMark, type MarkFile } from '../../../foundation/runtime/mark-file.ts'
import { damaged, openDatabase, toRefusal } from './open-database.ts'
import { migrateSchema } from './registry-schema.ts'
import { REGISTRY_TABLES, verifyFeed, verifyTables } from './verify-tables.ts'

const IN_MEMORY = ':memory:'
const CHANGES = 'changes of checkpoint.db'

/** How a registry is opened. */
export interface RegistryOpening {
  /** Opens it even if it lacks newer commits or belongs to another data folder, because the operator accepts that loss. */
  readonly isLossAccepted?: boolean
  /** Instance of the data folder. Default: unknown. */
  readonly instance?: string | null
}

export interface RegistryFile {
  readonly database: DatabaseSync
  /** Records the instance of the data folder that the registry belongs to. */
  claim(instance: string): void
  /** Number of changes of the checkpoint that the registry has noted; 0: none. */
  notedChanges(): number
  noteChanges(changes: number): void
  /** Updates the mark after a commit. */
  committed(): void
  close(): void
}

/** Throws `StartRefused`. */
export function openRegistryFile(path: string, opening: RegistryOpening): RegistryFile {
  const { isLossAccepted = false, instance = null } = opening
  const remedy = `put back its newest whole copy, or ${acceptLossCommand('registry', dirname(path))}`
  const { database, isCheckedLater } = openDatabase({ path, remedy })
  try {
    migrateSchema(database, path)
    const fault = isCheckedLater ? null : (verifyTables(database, REGISTRY_TABLES) ?? verifyFeed(database))
    if (fault !== null) throw damaged(path, fault, remedy)
    if (instance !== null && !isLossAccepted) refuseForeign(database, instance, path, remedy)
    return withMark(path, database, isLossAccepted)
  } catch (cause) {
    database.close()
    throw toRefusal(path, cause, remedy)
  }
}

/** The file has the number of its data folder in the header of SQLite, which copies keep; 0: none yet. */
function refuseForeign(database: DatabaseSync, instance: string, path: string, remedy: string): void {
  const found = Number(database.prepare('PRAGMA application_id').get()?.['application_id'])
  if (found !== 0 && found !== numberOf(instance))
    throw new StartRefused(`${path} belongs to another data folder; ${remedy}`)
}

function claim(database: DatabaseSync, instance: string): void {
  const found = Number(database.prepare('PRAGMA application_id').get()?.['application_id'])
  if (found !== numberOf(instance)) database.exec(`PRAGMA application_id = ${numberOf(instance)}`)
}

function numberOf(instance: string): number {
  return crc32(instance) | 0 || 1
}

function withMark(path: string, database: DatabaseSync, isLossAccepted: boolean): RegistryFile {
  if (path === IN_MEMORY)
    return {
      database,
      claim() {},
      notedChanges: () => 0,
      noteChanges() {},
      committed() {},
      close: () => database.close(),
    }
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
    claim: (instance) => claim(database, instance),
    notedChanges: () =>
      Number(database.prepare(`SELECT value FROM noted WHERE name = '${CHANGES}'`).get()?.['value'] ?? 0),
    noteChanges: (changes) =>
      void database.prepare(`INSERT OR REPLACE INTO noted (name, value) VALUES ('${CHANGES}', ?)`).run(changes),
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

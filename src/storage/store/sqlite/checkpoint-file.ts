/**
 * The file of the checkpoint: tables, named values, and transactions that increment a change number.
 *
 * Every row has a checksum, which is verified on each read. After each commit the change number is written to a mark beside the file,
 * so that an older copy of the file is detected.
 */

import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { acceptLossCommand } from '../../../foundation/runtime/accept-loss.ts'
import { damaged, openDatabase, toRefusal } from './open-database.ts'
import { markPathOf, openMarkFile } from '../../../foundation/runtime/mark-file.ts'
import { checksumOf, verifyRow } from './row-checksum.ts'
import { transact } from './transaction.ts'
import { CHECKPOINT_TABLES, verifyTables } from './verify-tables.ts'

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS state (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS episode (
    risk_id TEXT PRIMARY KEY, tenant TEXT NOT NULL, state TEXT NOT NULL, last_seen_ms INTEGER NOT NULL, body TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS episode_by_state ON episode (state, tenant, risk_id);
  CREATE INDEX IF NOT EXISTS episode_by_age ON episode (state, last_seen_ms);
  CREATE TABLE IF NOT EXISTS outbox (id TEXT PRIMARY KEY, batch INTEGER, body TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS counter (
    subscription TEXT NOT NULL, api TEXT NOT NULL, saved_ms INTEGER NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (subscription, api)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS counter_by_age ON counter (saved_ms);
`
/** `user_version` of a file whose rows have checksums. */
const WITH_CHECKSUMS = 1

export interface CheckpointFile {
  readonly database: DatabaseSync
  /** Number of changes that the file has lost since the mark was written; 0: none. */
  readonly wentBackBy: number
  /** Number of transactions of the file, those that it has lost included. */
  readonly changes: number
  state<T>(name: string, fallback: T): T
  /** Must be called within `once`. */
  setState(name: string, value: unknown): void
  dropState(name: string): void
  /** Runs `work` in one transaction that is on disk when it returns. */
  once(work: () => void): void
  close(): void
}

/** Throws `StartRefused`. */
export function openCheckpointFile(path: string): CheckpointFile {
  const remedy = `put back its newest whole copy, or ${acceptLossCommand('checkpoint', dirname(path))}`
  const { database, isCheckedLater } = openDatabase({ path, remedy })
  try {
    database.exec(SCHEMA)
    addChecksums(database)
    const fault = isCheckedLater ? null : verifyTables(database, CHECKPOINT_TABLES)
    if (fault !== null) throw damaged(path, fault, remedy)
    return openState(path, database)
  } catch (cause) {
    database.close()
    throw toRefusal(path, cause, remedy)
  }
}

function openState(path: string, database: DatabaseSync): CheckpointFile {
  const mark = openMarkFile(markPathOf(path))
  const readState = database.prepare('SELECT value, checksum FROM state WHERE name = ?')
  const writeState = database.prepare(
    `INSERT INTO state (name, value, checksum) VALUES (?, ?, ?)
     ON CONFLICT (name) DO UPDATE SET value = excluded.value, checksum = excluded.checksum`,
  )
  const dropState = database.prepare('DELETE FROM state WHERE name = ?')

  function state<T>(name: string, fallback: T): T {
    const row = readState.get(name) as { value: string; checksum: number | null } | undefined
    if (row === undefined) return fallback
    verifyRow(`${name} in ${path}`, row.checksum, [name], row.value)
    return JSON.parse(row.value) as T
  }

  function setState(name: string, value: unknown): void {
    const text = JSON.stringify(value)
    writeState.run(name, text, checksumOf([name], text))
  }

  let changes = state('changes', 0)
  const wentBackBy = Math.max(0, (mark.found ?? 0) - changes)
  // Used numbers are not reused, so that another older copy is detected too.
  changes += wentBackBy

  return {
    database,
    wentBackBy,
    get changes() {
      return changes
    },
    state,
    setState,
    dropState: (name) => void dropState.run(name),
    once(work) {
      transact(database, () => {
        work()
        setState('changes', changes + 1)
      })
      mark.write(++changes)
    },
    close() {
      mark.close()
      database.close()
    },
  }
}

function addChecksums(database: DatabaseSync): void {
  const version = Number(database.prepare('PRAGMA user_version').get()?.['user_version'])
  if (version >= WITH_CHECKSUMS) return
  const columns = CHECKPOINT_TABLES.map(({ table }) => `ALTER TABLE ${table} ADD COLUMN checksum INTEGER;`).join(' ')
  database.exec(`BEGIN IMMEDIATE; ${columns} PRAGMA user_version = ${WITH_CHECKSUMS}; COMMIT`)
}

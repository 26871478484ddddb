/**
 * The copy of a shared registry in a file of the data folder, with the schema of the registry of one node.
 *
 * The file has no change feed and no audit log. An update is one transaction, however long it takes, so that a crash leaves the copy of
 * one moment or the other. A mark beside the file is ahead of it while it lacks changes that others know to be served, or if an
 * older copy of the file was put back: both would bring back what was revoked.
 */

import { chmodSync, closeSync, existsSync, openSync, rmSync, statSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { markPathOf, openMarkFile, type MarkFile } from '../../../foundation/runtime/mark-file.ts'
import type {
  CopiedPage,
  CopyNotes,
  CopyOrigin,
  CopyReceiver,
  RegistryCopy,
  RegistryMark,
  RegistryReads,
} from '../registry-copy.ts'
import { documentChecksum } from './document-row.ts'
import { CHECKED_AT_OPEN_BYTES_MAX, openDatabase, quickCheck } from './open-database.ts'
import { createRegistryReads } from './registry-reads.ts'
import { migrateSchema } from './registry-schema.ts'
import { checksumOf } from './row-checksum.ts'
import { REGISTRY_TABLES, verifyTables } from './verify-tables.ts'

interface CopyState extends CopyOrigin, CopyNotes {
  readonly mark: RegistryMark
}

/** Why a copy cannot be used. `fault` follows the path of the file. */
export interface UnusableCopy {
  readonly fault: string
  readonly isDamaged: boolean
  /** There is none, or the first one was not completed. */
  readonly isMissing: boolean
}

export const LAST_GOOD_FILE = 'last-good.db'

const STATE_TABLE = { table: 'last_good', fields: ['name'], body: 'value' } as const
const CREATE_STATE = `CREATE TABLE IF NOT EXISTS last_good (
  name TEXT PRIMARY KEY, value TEXT NOT NULL, checksum INTEGER NOT NULL) STRICT, WITHOUT ROWID`
const MISSING: UnusableCopy = { fault: 'does not exist', isDamaged: false, isMissing: true }
const NOTHING_NOTED: CopyNotes = { isListed: false, leaseIdentity: null }

/** Opens a complete copy to serve from, after it was checked as a whole. Changes nothing if it is unusable. */
export function openRegistryCopy(path: string, origin: CopyOrigin): RegistryCopy | UnusableCopy {
  const found = openComplete(path, origin, 'checked')
  if (!(found instanceof CopyFile) || found.lacking <= 0) return found
  found.close()
  const fault =
    `lacks the last ${found.lacking} changes that this node has received: it ended before it had written them, ` +
    'or an older copy of the file was put back'
  return { fault, isDamaged: false, isMissing: false }
}

/**
 * Opens a copy to keep it up to date; a large one is not checked, so that the duration of a start does not depend on it. One that is
 * unusable is replaced by an empty one; `onDamaged` receives the reason if it was damaged.
 */
export function openOrReplaceCopy(path: string, origin: CopyOrigin, onDamaged: (fault: string) => void): RegistryCopy {
  const found = openComplete(path, origin, 'checked if small')
  if (found instanceof CopyFile) return found
  if (found.isDamaged) onDamaged(found.fault)
  removeCopy(path)
  closeSync(openSync(path, 'wx', 0o600))
  return new CopyFile(open(path), openMarkFile(markPathOf(path)), origin, null)
}

function openComplete(path: string, origin: CopyOrigin, how: 'checked' | 'checked if small'): CopyFile | UnusableCopy {
  if (!existsSync(path)) return MISSING
  let database: DatabaseSync | null = null
  try {
    database = open(path)
    const isWhole = how === 'checked' || statSync(path).size <= CHECKED_AT_OPEN_BYTES_MAX
    const fault = isWhole ? faultOf(database) : verifyTables(database, [STATE_TABLE])
    if (fault !== null) throw new Error(fault)
    const state = readState(database)
    const unusable = state === null ? MISSING : refuseOrigin(state, origin)
    if (unusable === null) return new CopyFile(database, openMarkFile(markPathOf(path)), origin, state)
    database.close()
    return unusable
  } catch (cause) {
    database?.close()
    const reason = cause instanceof Error ? cause.message : String(cause)
    return { fault: `is damaged (${reason})`, isDamaged: true, isMissing: false }
  }
}

function faultOf(database: DatabaseSync): string | null {
  return quickCheck(database) ?? verifyTables(database, [...REGISTRY_TABLES, STATE_TABLE])
}

/** Removes a copy, so that no node serves from it. */
export function removeCopy(path: string): void {
  for (const file of [path, `${path}-wal`, `${path}-shm`, markPathOf(path)]) rmSync(file, { force: true })
}

function open(path: string): DatabaseSync {
  chmodSync(path, 0o600)
  const { database } = openDatabase({ path, remedy: 'remove it' })
  try {
    migrateSchema(database, path)
    database.exec(CREATE_STATE)
    return database
  } catch (cause) {
    database.close()
    throw cause
  }
}

function readState(database: DatabaseSync): CopyState | null {
  const row = database.prepare(`SELECT value FROM last_good WHERE name = 'state'`).get()
  return row === undefined ? null : (JSON.parse(String(row['value'])) as CopyState)
}

function refuseOrigin(state: CopyState, origin: CopyOrigin): UnusableCopy | null {
  const of = (fault: string): UnusableCopy => ({ fault, isDamaged: false, isMissing: false })
  if (state.lineage !== origin.lineage) return of('belongs to another node')
  if (state.fingerprint !== origin.fingerprint) return of('was written with another MASTER_KEY')
  if (state.gatewayUrl !== origin.gatewayUrl) return of(`was written for GATEWAY_URL ${state.gatewayUrl}`)
  if (state.version !== origin.version) return of(`was written by tollgate ${state.version}`)
  return null
}

class CopyFile implements RegistryCopy {
  readonly reads: RegistryReads
  readonly #database: DatabaseSync
  readonly #mark: MarkFile
  readonly #origin: CopyOrigin
  readonly #write: (page: CopiedPage) => void
  readonly #clear: () => void
  #state: CopyState | null
  #notes: CopyNotes
  #expected: number
  #isUpdating = false

  constructor(database: DatabaseSync, mark: MarkFile, origin: CopyOrigin, state: CopyState | null) {
    this.#database = database
    this.#mark = mark
    this.#origin = origin
    this.#state = state
    this.#expected = mark.found ?? 0
    this.#notes = state === null ? NOTHING_NOTED : { isListed: state.isListed, leaseIdentity: state.leaseIdentity }
    this.reads = createRegistryReads(database)
    this.#write = createPageWriter(database)
    this.#clear = () => database.exec('DELETE FROM document; DELETE FROM document_key')
  }

  get mark(): RegistryMark | null {
    return this.#state?.mark ?? null
  }

  get notes(): CopyNotes {
    return this.#notes
  }

  /** Number of changes that the node has received and the copy lacks. */
  get lacking(): number {
    return this.#expected - (this.mark?.position ?? 0)
  }

  expect(position: number): void {
    this.#expected = position
    this.#writeMark()
  }

  note(changed: Partial<CopyNotes>): void {
    this.#notes = { ...this.#notes, ...changed }
    if (this.#state !== null && !this.#isUpdating) this.#save(this.#state.mark)
  }

  async update(read: (receiver: CopyReceiver) => Promise<RegistryMark>): Promise<void> {
    this.#isUpdating = true
    this.#database.exec('BEGIN IMMEDIATE')
    try {
      const mark = await read({ clear: this.#clear, receive: this.#write })
      this.#save(mark)
      this.#database.exec('COMMIT')
      this.#writeMark()
    } catch (cause) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      this.#state = readState(this.#database)
      throw cause
    } finally {
      this.#isUpdating = false
      this.note({})
    }
  }

  close(): void {
    this.#mark.close()
    this.#database.close()
  }

  #writeMark(): void {
    this.#mark.write(Math.max(this.#expected, this.mark?.position ?? 0))
  }

  #save(mark: RegistryMark): void {
    const state: CopyState = { ...this.#origin, ...this.#notes, mark }
    if (JSON.stringify(state) === JSON.stringify(this.#state)) return
    const value = JSON.stringify(state)
    this.#database
      .prepare(`INSERT OR REPLACE INTO last_good (name, value, checksum) VALUES ('state', ?, ?)`)
      .run(value, checksumOf(['state'], value))
    this.#state = state
  }
}

function createPageWriter(database: DatabaseSync): (page: CopiedPage) => void {
  const dropKeys = database.prepare('DELETE FROM document_key INDEXED BY document_key_by_id WHERE kind = ? AND id = ?')
  const remove = database.prepare('DELETE FROM document WHERE kind = ? AND id = ?')
  const insert = database.prepare(
    `INSERT INTO document (kind, id, tenant, revision, body, created_at_ms, updated_at_ms, checksum)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const key = database.prepare(
    'INSERT INTO document_key (kind, name, value, tenant, id, is_unique) VALUES (?, ?, ?, ?, ?, ?)',
  )
  return ({ names, documents, keys }) => {
    for (const { kind, id } of names) {
      dropKeys.run(kind, id)
      remove.run(kind, id)
    }
    for (const row of documents) {
      const { kind, id, tenant, revision, body } = row
      insert.run(kind, id, tenant, revision, body, row.created_at_ms, row.updated_at_ms, documentChecksum(row))
    }
    for (const { kind, name, value, tenant, id, is_unique: isUnique } of keys) {
      key.run(kind, name, value, tenant, id, isUnique ? 1 : 0)
    }
  }
}

/**
 * The registry of one node, in SQLite.
 *
 * A commit is one transaction on disk (`synchronous = FULL`): documents, their keys, the change feed and the audit log together.
 * Documents are not held in memory, so adding documents uses only disk space. The audit log is append-only; only `redact`
 * changes bodies in it.
 */

import type { DatabaseSync } from 'node:sqlite'
import type { Clock } from '../../../foundation/runtime/clock.ts'
import type { CredentialUseStore } from '../credential-uses.ts'
import { RegistryFull, type Commit, type Registry } from '../registry.ts'
import { StoreUnwritable } from '../unwritable.ts'
import { createAuditReader } from './audit-reader.ts'
import { createChangeFeed } from './change-feed.ts'
import { createCredentialUses } from './credential-uses.ts'
import { createDocumentWriter } from './document-writer.ts'
import { openRegistryFile, type RegistryFile, type RegistryOpening } from './registry-file.ts'
import { createRegistryReads } from './registry-reads.ts'
import { createRedaction } from './redaction.ts'
import { isFull, isUnwritable } from './sqlite-error.ts'
import { transact, runInSavepoint } from './transaction.ts'

export interface SqliteRegistryOptions extends RegistryOpening {
  readonly path: string
  readonly clock: Clock
  /** Maximum size of the file. Defaults to the free disk space. */
  readonly bytesMax?: number
}

export interface SqliteRegistry extends Registry, Pick<RegistryFile, 'claim' | 'notedChanges' | 'noteChanges'> {
  readonly credentialUses: CredentialUseStore
  close(): void
}

/** Throws `StartRefused`. */
export function openSqliteRegistry(options: SqliteRegistryOptions): SqliteRegistry {
  const { path, clock, bytesMax } = options
  const file = openRegistryFile(path, options)
  const { database } = file
  if (bytesMax !== undefined) limitSize(database, bytesMax)
  const statements = prepare(database)
  const feed = createChangeFeed(database)
  const readAudit = createAuditReader(database)
  const apply = createDocumentWriter(database, clock)
  const redact = createRedaction(database)

  function runInTransaction<Result>(work: () => Result): Result {
    try {
      const result = transact(database, work)
      file.committed()
      return result
    } catch (cause) {
      throw toRegistryError(cause)
    }
  }

  return {
    ...createRegistryReads(database),
    commit: async (author, action, writes) => {
      runInTransaction(() => apply({ author, action, writes }))
      feed.notify()
    },
    commitEach: async (commits) => {
      const errors = runInTransaction(() => commits.map((commit) => tryApply(database, apply, commit)))
      feed.notify()
      return errors
    },
    audit: async (author, action, { kind, id, tenant }) => {
      runInTransaction(() => statements.insertNote.run(kind, id, tenant, clock.nowMs(), JSON.stringify(author), action))
    },
    redact: async (of, edit) => {
      for (let after: number | null = 0; after !== null;) {
        const from: number = after
        after = runInTransaction(() => redact(of, edit, from))
      }
    },
    history: async (query) => readAudit(query),
    end: async () => Number(statements.lastPosition.get()?.['position'] ?? 0),
    watch: feed.watch,
    credentialUses: createCredentialUses(database, runInTransaction),
    claim: file.claim,
    notedChanges: file.notedChanges,
    noteChanges: file.noteChanges,
    close: file.close,
  }
}

function prepare(database: DatabaseSync) {
  return {
    lastPosition: database.prepare('SELECT max(position) AS position FROM change'),
    insertNote: database.prepare(
      'INSERT INTO note (kind, id, tenant, at_ms, author, action) VALUES (?, ?, ?, ?, ?, ?)',
    ),
  }
}

function limitSize(database: DatabaseSync, bytesMax: number): void {
  const pageBytes = Number(database.prepare('PRAGMA page_size').get()?.['page_size'])
  database.exec(`PRAGMA max_page_count = ${Math.floor(bytesMax / pageBytes)}`)
}

/** Applies a commit; if it is refused, undoes its writes and returns the error. */
function tryApply(database: DatabaseSync, apply: (commit: Commit) => void, commit: Commit): Error | null {
  try {
    runInSavepoint(database, () => apply(commit))
    return null
  } catch (cause) {
    // SQLite has rolled back the whole transaction, so the other commits are lost too.
    if (!database.isTransaction) throw cause
    const error = toRegistryError(cause)
    return error instanceof Error ? error : new Error(String(error))
  }
}

/** Translates an SQLite error into an error of the registry. Returns other errors unchanged. */
function toRegistryError(cause: unknown): unknown {
  if (isFull(cause)) return new RegistryFull('there is no room for the registry to grow', { cause })
  return isUnwritable(cause) ? new StoreUnwritable('the registry cannot be written', { cause }) : cause
}

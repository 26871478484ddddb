/**
 * The registry of one node, in SQLite.
 *
 * A commit is one transaction on disk (`synchronous = FULL`): documents, their keys, the change feed
 * and the audit together, or nothing of them. Nothing is kept in memory but prepared statements, so the
 * number of documents costs disk alone. The audit is only ever added to.
 */

import type { DatabaseSync } from 'node:sqlite'
import type { Clock } from '../../runtime/clock.ts'
import {
  KeyTaken,
  RegistryFull,
  RevisionConflict,
  type Commit,
  type ListQuery,
  type Registry,
  type Write,
} from '../registry.ts'
import { StoreUnwritable } from '../unwritable.ts'
import { createAuditReader } from './audit-reader.ts'
import { createChangeFeed } from './change-feed.ts'
import { createDocumentList } from './document-list.ts'
import { documentChecksum, toDocument, type DocumentRow } from './document-row.ts'
import { openRegistryFile } from './registry-file.ts'
import { isFull, isUnwritable } from './sqlite-error.ts'
import { transact, transactWithin } from './transaction.ts'

export interface SqliteRegistryOptions {
  readonly path: string
  readonly clock: Clock
  /** How large the file may become; missing: as the disk has room. */
  readonly bytesMax?: number
  /** Opens a file that is older than its mark: the operator accepts what is lost. */
  readonly isLossAccepted?: boolean
}

/** Throws `StartRefused`. */
export function openSqliteRegistry(options: SqliteRegistryOptions): Registry {
  const { path, clock, bytesMax, isLossAccepted = false } = options
  const file = openRegistryFile(path, isLossAccepted)
  const { database } = file
  if (bytesMax !== undefined) limitSize(database, bytesMax)
  const statements = prepare(database)
  const list = createDocumentList(database)
  const feed = createChangeFeed(database)
  const history = createAuditReader(database)

  function write(author: string, action: string, { kind, id, tenant, expected, body }: Write): void {
    const before = statements.get.get(kind, id) as DocumentRow | undefined
    if ((before?.revision ?? 0) !== expected || (before === undefined && body === null)) {
      throw new RevisionConflict(`${kind} ${id} is not at revision ${expected}`)
    }
    if (before !== undefined && before.tenant !== tenant) throw new Error(`${kind} ${id} is not of tenant ${tenant}`)
    const nowMs = clock.nowMs()
    const createdAtMs = before?.created_at_ms ?? nowMs
    const text = body === null ? (before?.body ?? 'null') : JSON.stringify(body)
    if (body === null) statements.remove.run(kind, id)
    const removed = body === null ? 1 : 0
    const [from, to] = [before?.body ?? null, expected + 1]
    if (removed === 0) {
      const checksum = documentChecksum({ kind, id, tenant, revision: to, body: text })
      if (before === undefined) statements.insert.run(kind, id, tenant, text, createdAtMs, nowMs, checksum)
      else statements.update.run(text, nowMs, checksum, kind, id)
    }
    statements.change.run(kind, id, tenant, to, text, createdAtMs, nowMs, removed, from, author, action)
  }

  function writeKeys({ kind, id, tenant, body, keys = {}, unique = [] }: Write): void {
    if (body === null) return
    for (const [name, value] of Object.entries(keys)) {
      const isUnique = unique.includes(name)
      if (isUnique && statements.otherHolder.get(kind, name, value, id) !== undefined) throw new KeyTaken(name)
      statements.key.run(kind, name, value, tenant, id, isUnique ? 1 : 0)
    }
  }

  function apply({ author, action, writes }: Commit): void {
    const signature = JSON.stringify(author)
    for (const each of writes) {
      write(signature, action, each)
      statements.dropKeys.run(each.kind, each.id)
    }
    // When all have given up theirs: one document may take what another had.
    const last = new Map(writes.map((each) => [`${each.kind} ${each.id}`, each]))
    for (const each of last.values()) writeKeys(each)
  }

  function change<Result>(work: () => Result): Result {
    try {
      const result = transact(database, work)
      file.committed()
      return result
    } catch (cause) {
      throw refusal(cause)
    }
  }

  /** The error of one that is refused, which leaves nothing behind. */
  function tryApply(commit: Commit): Error | null {
    try {
      transactWithin(database, () => apply(commit))
      return null
    } catch (cause) {
      if (!database.isTransaction) throw cause
      const error = refusal(cause)
      return error instanceof Error ? error : new Error(String(error))
    }
  }

  return {
    get: async <Body>(kind: string, id: string) => {
      const row = statements.get.get(kind, id) as DocumentRow | undefined
      return row === undefined ? null : toDocument<Body>(row)
    },
    find: async <Body>(kind: string, name: string, value: string) => {
      const row = statements.find.get(kind, name, value) as DocumentRow | undefined
      return row === undefined ? null : toDocument<Body>(row)
    },
    list: async <Body>(kind: string, query: ListQuery) => list(kind, query).map((row) => toDocument<Body>(row)),
    commit: async (author, action, writes) => {
      change(() => apply({ author, action, writes }))
      feed.notify()
    },
    commitEach: async (commits) => {
      const errors = change(() => commits.map(tryApply))
      feed.notify()
      return errors
    },
    audit: async (author, action, { kind, id, tenant }) => {
      change(() => statements.note.run(kind, id, tenant, clock.nowMs(), JSON.stringify(author), action))
    },
    history: async (query) => history(query),
    end: async () => Number(statements.end.get()?.['position'] ?? 0),
    watch: feed.watch,
    close: file.close,
  }
}

function limitSize(database: DatabaseSync, bytesMax: number): void {
  const pageBytes = Number(database.prepare('PRAGMA page_size').get()?.['page_size'])
  database.exec(`PRAGMA max_page_count = ${Math.floor(bytesMax / pageBytes)}`)
}

/** Returns the error that a commit throws for an error of SQLite. */
function refusal(cause: unknown): unknown {
  if (isFull(cause)) return new RegistryFull('there is no room for the registry to grow', { cause })
  return isUnwritable(cause) ? new StoreUnwritable('the registry cannot be written', { cause }) : cause
}

function prepare(database: DatabaseSync) {
  return {
    get: database.prepare('SELECT * FROM document WHERE kind = ? AND id = ?'),
    find: database.prepare(
      `SELECT d.* FROM document_key k CROSS JOIN document d ON d.kind = k.kind AND d.id = k.id
       WHERE k.kind = ? AND k.name = ? AND k.value = ? ORDER BY k.tenant, k.id LIMIT 1`,
    ),
    insert: database.prepare(
      'INSERT INTO document (kind, id, tenant, revision, body, created_at_ms, updated_at_ms, checksum) VALUES (?, ?, ?, 1, ?, ?, ?, ?)',
    ),
    update: database.prepare(
      'UPDATE document SET body = ?, updated_at_ms = ?, revision = revision + 1, checksum = ? WHERE kind = ? AND id = ?',
    ),
    remove: database.prepare('DELETE FROM document WHERE kind = ? AND id = ?'),
    otherHolder: database.prepare(
      'SELECT 1 FROM document_key WHERE kind = ? AND name = ? AND value = ? AND id <> ? LIMIT 1',
    ),
    key: database.prepare(
      'INSERT INTO document_key (kind, name, value, tenant, id, is_unique) VALUES (?, ?, ?, ?, ?, ?)',
    ),
    dropKeys: database.prepare('DELETE FROM document_key INDEXED BY document_key_by_id WHERE kind = ? AND id = ?'),
    change: database.prepare(
      `INSERT INTO change (kind, id, tenant, revision, body, created_at_ms, updated_at_ms, removed, before, author, action)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    end: database.prepare('SELECT max(position) AS position FROM change'),
    note: database.prepare('INSERT INTO note (kind, id, tenant, at_ms, author, action) VALUES (?, ?, ?, ?, ?, ?)'),
  }
}

/**
 * The registry of one node, in SQLite.
 *
 * A commit is one transaction on disk (`synchronous = FULL`): documents, their keys, the change feed
 * and the audit together, or nothing of them. Nothing is kept in memory but prepared statements, so the
 * number of documents costs disk alone. The audit is only ever added to.
 */

import { DatabaseSync } from 'node:sqlite'
import type { Clock } from '../../runtime/clock.ts'
import {
  KeyTaken,
  RevisionConflict,
  type Author,
  type Change,
  type Document,
  type ListQuery,
  type Registry,
  type Write,
} from '../registry.ts'

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS document (
    kind TEXT NOT NULL, id TEXT NOT NULL, tenant TEXT NOT NULL, revision INTEGER NOT NULL, body TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL, updated_at_ms INTEGER NOT NULL,
    PRIMARY KEY (kind, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS document_by_tenant ON document (kind, tenant, id);
  CREATE TABLE IF NOT EXISTS document_key (
    kind TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, id TEXT NOT NULL, is_unique INTEGER NOT NULL,
    PRIMARY KEY (kind, name, value, id)
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX IF NOT EXISTS document_key_unique ON document_key (kind, name, value) WHERE is_unique = 1;
  CREATE INDEX IF NOT EXISTS document_key_by_id ON document_key (kind, id);
  CREATE TABLE IF NOT EXISTS change (
    position INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, id TEXT NOT NULL, tenant TEXT NOT NULL,
    revision INTEGER NOT NULL, body TEXT NOT NULL, created_at_ms INTEGER NOT NULL, updated_at_ms INTEGER NOT NULL,
    removed INTEGER NOT NULL, before TEXT, author TEXT NOT NULL, action TEXT NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS note (
    position INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, id TEXT NOT NULL, tenant TEXT NOT NULL,
    at_ms INTEGER NOT NULL, author TEXT NOT NULL, action TEXT NOT NULL
  ) STRICT;
`
const WATCH_PAGE = 500

interface Row {
  kind: string
  id: string
  tenant: string
  revision: number
  body: string
  created_at_ms: number
  updated_at_ms: number
}

export interface SqliteRegistryOptions {
  readonly path: string
  readonly clock: Clock
}

export function openSqliteRegistry({ path, clock }: SqliteRegistryOptions): Registry {
  const database = new DatabaseSync(path)
  database.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000; PRAGMA foreign_keys = ON',
  )
  database.exec(SCHEMA)
  const statements = prepare(database)
  const watchers = new Set<() => void>()

  function write(author: string, action: string, { kind, id, tenant, expected, body, keys, unique }: Write): void {
    const before = statements.get.get(kind, id) as Row | undefined
    if ((before?.revision ?? 0) !== expected) throw new RevisionConflict(`${kind} ${id} is not at revision ${expected}`)
    const nowMs = clock.nowMs()
    const createdAtMs = before?.created_at_ms ?? nowMs
    const text = body === null ? (before?.body ?? 'null') : JSON.stringify(body)
    if (body === null) statements.remove.run(kind, id)
    else if (before === undefined) statements.insert.run(kind, id, tenant, text, createdAtMs, nowMs)
    else statements.update.run(text, nowMs, kind, id)
    statements.dropKeys.run(kind, id)
    if (body !== null) writeKeys(kind, id, keys ?? {}, unique ?? [])
    const removed = body === null ? 1 : 0
    const [from, to] = [before?.body ?? null, expected + 1]
    statements.change.run(kind, id, tenant, to, text, createdAtMs, nowMs, removed, from, author, action)
  }

  function writeKeys(
    kind: string,
    id: string,
    keys: Readonly<Record<string, string>>,
    unique: readonly string[],
  ): void {
    for (const [name, value] of Object.entries(keys)) {
      try {
        statements.key.run(kind, name, value, id, unique.includes(name) ? 1 : 0)
      } catch (cause) {
        if (cause instanceof Error && cause.message.includes('UNIQUE')) throw new KeyTaken(name)
        throw cause
      }
    }
  }

  function list(kind: string, { tenant, where, after, limit }: ListQuery): Row[] {
    const [first, ...others] = Object.entries(where ?? {})
    const conditions = ['d.kind = ?', 'd.id > ?']
    const values: (string | number)[] = [kind, after ?? '']
    if (tenant !== undefined) {
      conditions.push('d.tenant = ?')
      values.push(tenant)
    }
    for (const [name, value] of first === undefined ? [] : [first, ...others]) {
      conditions.push(
        'EXISTS (SELECT 1 FROM document_key k WHERE k.kind = d.kind AND k.name = ? AND k.value = ? AND k.id = d.id)',
      )
      values.push(name, value)
    }
    const sql = `SELECT d.* FROM document d WHERE ${conditions.join(' AND ')} ORDER BY d.id LIMIT ?`
    return database.prepare(sql).all(...values, limit) as unknown as Row[]
  }

  function watch(position: number, listener: (change: Change) => void): () => void {
    let at = position
    const deliver = (): void => {
      for (;;) {
        const rows = statements.changes.all(at, WATCH_PAGE) as unknown as (Row & {
          position: number
          removed: number
        })[]
        for (const row of rows) {
          at = row.position
          listener({ position: row.position, document: toDocument(row), removed: row.removed === 1 })
        }
        if (rows.length < WATCH_PAGE) return
      }
    }
    deliver()
    watchers.add(deliver)
    return () => watchers.delete(deliver)
  }

  return {
    get: async <Body>(kind: string, id: string) => {
      const row = statements.get.get(kind, id) as Row | undefined
      return row === undefined ? null : (toDocument(row) as Document<Body>)
    },
    find: async <Body>(kind: string, name: string, value: string) => {
      const row = statements.find.get(kind, name, value) as Row | undefined
      return row === undefined ? null : (toDocument(row) as Document<Body>)
    },
    list: async <Body>(kind: string, query: ListQuery) => list(kind, query).map(toDocument) as Document<Body>[],
    commit: async (author: Author, action: string, writes: readonly Write[]) => {
      const signature = JSON.stringify(author)
      database.exec('BEGIN IMMEDIATE')
      try {
        for (const each of writes) write(signature, action, each)
        database.exec('COMMIT')
      } catch (cause) {
        database.exec('ROLLBACK')
        throw cause
      }
      for (const deliver of watchers) deliver()
    },
    audit: async (author, action, { kind, id, tenant }) => {
      statements.note.run(kind, id, tenant, clock.nowMs(), JSON.stringify(author), action)
    },
    watch,
    close: () => database.close(),
  }
}

function prepare(database: DatabaseSync) {
  return {
    get: database.prepare('SELECT * FROM document WHERE kind = ? AND id = ?'),
    find: database.prepare(
      `SELECT d.* FROM document_key k JOIN document d ON d.kind = k.kind AND d.id = k.id
       WHERE k.kind = ? AND k.name = ? AND k.value = ? ORDER BY d.id LIMIT 1`,
    ),
    insert: database.prepare(
      'INSERT INTO document (kind, id, tenant, revision, body, created_at_ms, updated_at_ms) VALUES (?, ?, ?, 1, ?, ?, ?)',
    ),
    update: database.prepare(
      'UPDATE document SET body = ?, updated_at_ms = ?, revision = revision + 1 WHERE kind = ? AND id = ?',
    ),
    remove: database.prepare('DELETE FROM document WHERE kind = ? AND id = ?'),
    key: database.prepare('INSERT INTO document_key (kind, name, value, id, is_unique) VALUES (?, ?, ?, ?, ?)'),
    dropKeys: database.prepare('DELETE FROM document_key WHERE kind = ? AND id = ?'),
    change: database.prepare(
      `INSERT INTO change (kind, id, tenant, revision, body, created_at_ms, updated_at_ms, removed, before, author, action)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    note: database.prepare('INSERT INTO note (kind, id, tenant, at_ms, author, action) VALUES (?, ?, ?, ?, ?, ?)'),
    changes: database.prepare('SELECT * FROM change WHERE position > ? ORDER BY position LIMIT ?'),
  }
}

function toDocument(row: Row): Document {
  return {
    kind: row.kind,
    id: row.id,
    tenant: row.tenant,
    revision: row.revision,
    body: JSON.parse(row.body) as unknown,
    createdAtMs: row.created_at_ms,
    updatedAtMs: row.updated_at_ms,
  }
}

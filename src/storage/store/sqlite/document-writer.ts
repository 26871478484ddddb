/** Writes the documents of a commit, with their keys, the change feed and the audit log. */

import type { DatabaseSync } from 'node:sqlite'
import type { Clock } from '../../../foundation/runtime/clock.ts'
import { KeyTaken, RevisionConflict, type Commit, type Write } from '../registry.ts'
import { LABEL_KEY, labelValues } from '../labels.ts'
import { SEARCH_KEY, searchValues } from '../search-key.ts'
import { documentChecksum, type DocumentRow } from './document-row.ts'

type Statements = ReturnType<typeof prepare>

/** The entry of one write in the audit log. */
interface Entry {
  readonly author: string
  readonly action: string
  readonly nowMs: number
}

/**
 * Returns a function that applies a commit within the caller's transaction. It throws `RevisionConflict` or `KeyTaken`; the caller
 * then rolls back.
 */
export function createDocumentWriter(database: DatabaseSync, clock: Clock): (commit: Commit) => void {
  const statements = prepare(database)
  return ({ author, action, writes }) => {
    const authorText = JSON.stringify(author)
    for (const each of writes) {
      writeDocument(statements, { author: authorText, action, nowMs: clock.nowMs() }, each)
      statements.dropKeys.run(each.kind, each.id)
    }
    // After all old keys are removed, because one document may take over the key of another.
    const last = new Map(writes.map((each) => [`${each.kind} ${each.id}`, each]))
    for (const each of last.values()) writeKeys(statements, each)
  }
}

function prepare(database: DatabaseSync) {
  return {
    get: database.prepare('SELECT * FROM document WHERE kind = ? AND id = ?'),
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
  }
}

function writeDocument(statements: Statements, { author, action, nowMs }: Entry, write: Write): void {
  const { kind, id, tenant, expected, body } = write
  const before = statements.get.get(kind, id) as DocumentRow | undefined
  if ((before?.revision ?? 0) !== expected || (before === undefined && body === null)) {
    throw new RevisionConflict(`${kind} ${id} is not at revision ${expected}`)
  }
  if (before !== undefined && before.tenant !== tenant) throw new Error(`${kind} ${id} is not of tenant ${tenant}`)
  const createdAtMs = before?.created_at_ms ?? nowMs
  const text = body === null ? (before?.body ?? 'null') : JSON.stringify(body)
  const revision = expected + 1
  if (body === null) statements.remove.run(kind, id)
  else {
    const checksum = documentChecksum({ kind, id, tenant, revision, body: text })
    if (before === undefined) statements.insert.run(kind, id, tenant, text, createdAtMs, nowMs, checksum)
    else statements.update.run(text, nowMs, checksum, kind, id)
  }
  const removed = body === null ? 1 : 0
  const textBefore = before?.body ?? null
  statements.change.run(kind, id, tenant, revision, text, createdAtMs, nowMs, removed, textBefore, author, action)
}

function writeKeys(statements: Statements, { kind, id, tenant, body, keys = {}, unique = [] }: Write): void {
  if (body === null) return
  for (const [name, value] of Object.entries(keys)) {
    const isUnique = unique.includes(name)
    if (isUnique && statements.otherHolder.get(kind, name, value, id) !== undefined) throw new KeyTaken(name)
    statements.key.run(kind, name, value, tenant, id, isUnique ? 1 : 0)
  }
  for (const value of labelValues(body)) statements.key.run(kind, LABEL_KEY, value, tenant, id, 0)
  for (const value of searchValues(kind, tenant, body)) statements.key.run(kind, SEARCH_KEY, value, tenant, id, 0)
}

/** Verifies the checksums of all rows of a file, and the consistency between its tables. */

import type { DatabaseSync } from 'node:sqlite'
import { verifyRow } from './row-checksum.ts'

/** A table whose rows have a checksum of `fields` and `body`. */
export interface ChecksummedTable {
  readonly table: string
  readonly fields: readonly string[]
  readonly body: string
}

export const CHECKPOINT_TABLES: readonly ChecksummedTable[] = [
  { table: 'state', fields: ['name'], body: 'value' },
  { table: 'episode', fields: ['risk_id', 'tenant', 'state', 'last_seen_ms'], body: 'body' },
  { table: 'outbox', fields: ['id'], body: 'body' },
  { table: 'counter', fields: ['subscription', 'api', 'saved_ms'], body: 'body' },
]

export const REGISTRY_TABLES: readonly ChecksummedTable[] = [
  { table: 'document', fields: ['kind', 'id', 'tenant', 'revision'], body: 'body' },
]

/** Returns the first fault; null: none. */
export function verifyTables(database: DatabaseSync, tables: readonly ChecksummedTable[]): string | null {
  for (const { table, fields, body } of tables) {
    const rows = database.prepare(`SELECT ${fields.join(', ')}, ${body}, checksum FROM ${table}`).iterate()
    for (const row of rows) {
      const values = fields.map((field) => row[field] as string | number)
      try {
        verifyRow(`a row of ${table}`, row['checksum'] as number | null, values, String(row[body]))
      } catch (cause) {
        return (cause as Error).message
      }
    }
  }
  return null
}

/**
 * Compares the documents of the registry with its change feed; returns null if they agree. If the pages of a file are from two points
 * in time, changes are missing, or documents are not at the revision of their last change.
 */
export function verifyFeed(database: DatabaseSync): string | null {
  const feed = database.prepare('SELECT count(*) AS changes, coalesce(max(position), 0) AS last FROM change').get()
  if (feed?.['changes'] !== feed?.['last']) return `only ${feed?.['changes']} of ${feed?.['last']} changes are present`
  const row = database
    .prepare(
      `SELECT count(*) AS documents FROM
         (SELECT kind, id, max(position), revision AS last, removed FROM change GROUP BY tenant, kind, id) c
       LEFT JOIN document d ON d.kind = c.kind AND d.id = c.id
       WHERE CASE WHEN c.removed = 1 THEN d.revision IS NOT NULL ELSE d.revision IS NOT c.last END`,
    )
    .get()
  const wrong = Number(row?.['documents'])
  return wrong === 0 ? null : `${wrong} documents are not at the revision of their last change`
}

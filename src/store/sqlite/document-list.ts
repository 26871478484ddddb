/**
 * Lists of documents, in id order.
 *
 * A filter is answered from the keys, which lie in that order: of several filters the one with the
 * fewest documents leads, and the others are looked up for what it finds. Indexes are named: left to
 * itself SQLite walks a kind from its first document to find those of one tenant. Statements are
 * prepared once a shape of question, and shapes are few: filters are words of ours.
 */

import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { ListQuery } from '../registry.ts'
import type { DocumentRow } from './document-row.ts'

/** Beyond this many documents one filter is as good as another to lead. */
const COUNTED_MAX = 1_000
const ALL = 'document d'
const OF_TENANT = 'document d INDEXED BY document_by_tenant'
const BY_KEY = 'document_key k CROSS JOIN document d ON d.kind = k.kind AND d.id = k.id'
const HOLDS_TOO = `EXISTS (SELECT 1 FROM document_key o
  WHERE o.kind = d.kind AND o.name = ? AND o.value = ? AND o.tenant = d.tenant AND o.id = d.id)`

export function createDocumentList(
  database: Pick<DatabaseSync, 'prepare'>,
): (kind: string, query: ListQuery) => DocumentRow[] {
  const statements = new Map<string, StatementSync>()

  function prepared(sql: string): StatementSync {
    const known = statements.get(sql)
    if (known !== undefined) return known
    const statement = database.prepare(sql)
    statements.set(sql, statement)
    return statement
  }

  function count(kind: string, [name, value]: [string, string], tenant: string | undefined): number {
    const isOf = tenant === undefined ? '' : 'AND tenant = ?'
    const sql = `SELECT count(*) AS documents FROM
      (SELECT 1 FROM document_key WHERE kind = ? AND name = ? AND value = ? ${isOf} LIMIT ${COUNTED_MAX})`
    const row = prepared(sql).get(kind, name, value, ...(tenant === undefined ? [] : [tenant]))
    return Number(row?.['documents'])
  }

  function fewestFirst(kind: string, { where = {}, tenant }: ListQuery): [string, string][] {
    const filters = Object.entries(where)
    if (filters.length < 2) return filters
    return filters
      .map((filter) => ({ filter, documents: count(kind, filter, tenant) }))
      .sort((a, b) => a.documents - b.documents)
      .map(({ filter }) => filter)
  }

  return (kind, query) => {
    const { tenant, after = '', limit } = query
    const [lead, ...others] = fewestFirst(kind, query)
    const from = lead === undefined ? (tenant === undefined ? ALL : OF_TENANT) : BY_KEY
    const first = lead === undefined ? 'd' : 'k'
    // `+` keeps SQLite from walking all keys in id order where they do not lie in it.
    const id = lead === undefined || tenant !== undefined ? `${first}.id` : '+k.id'
    const conditions = [
      `${first}.kind = ?`,
      ...(lead === undefined ? [] : ['k.name = ?', 'k.value = ?']),
      ...(tenant === undefined ? [] : [`${first}.tenant = ?`]),
      `${id} > ?`,
      ...others.map(() => HOLDS_TOO),
    ]
    const sql = `SELECT d.* FROM ${from} WHERE ${conditions.join(' AND ')} ORDER BY ${id} LIMIT ?`
    const values = [kind, ...(lead ?? []), ...(tenant === undefined ? [] : [tenant]), after, ...others.flat(), limit]
    return prepared(sql).all(...values) as unknown as DocumentRow[]
  }
}

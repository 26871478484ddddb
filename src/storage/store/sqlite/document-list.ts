/**
 * Lists of documents, in id order.
 *
 * A filter reads the table of keys, which is in id order. With several filters, the one with the fewest documents drives the query,
 * and the others are tested on its results. The SQL names its indexes, because SQLite would otherwise scan a whole kind for the
 * documents of one tenant. A prefix drives its query in the order of the values, so that a page reads no more than it returns. One statement is prepared per shape of query; shapes are few, because the code defines the filters.
 */

import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { KeyPrefix, ListQuery } from '../registry.ts'
import type { DocumentRow } from './document-row.ts'

/** Counting stops here: above this number, the choice of the driving filter does not matter. */
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

  function byNumberOfDocuments(kind: string, { where = {}, tenant }: ListQuery): [string, string][] {
    const filters = Object.entries(where).flatMap(([name, value]) =>
      [value].flat().map((each): [string, string] => [name, each]),
    )
    if (filters.length < 2) return filters
    return filters
      .map((filter) => ({ filter, documents: count(kind, filter, tenant) }))
      .sort((a, b) => a.documents - b.documents)
      .map(({ filter }) => filter)
  }

  return (kind, query) => {
    if (query.prefix !== undefined) {
      const { sql, values } = toPrefixStatement(kind, query, query.prefix)
      return prepared(sql).all(...values) as unknown as DocumentRow[]
    }
    const { tenant, after = '', limit } = query
    const [driving, ...others] = byNumberOfDocuments(kind, query)
    const from = driving === undefined ? (tenant === undefined ? ALL : OF_TENANT) : BY_KEY
    const first = driving === undefined ? 'd' : 'k'
    // Without a tenant, keys are not in id order; `+` prevents SQLite from scanning all of them in that order.
    const id = driving === undefined || tenant !== undefined ? `${first}.id` : '+k.id'
    const conditions = [
      `${first}.kind = ?`,
      ...(driving === undefined ? [] : ['k.name = ?', 'k.value = ?']),
      ...(tenant === undefined ? [] : [`${first}.tenant = ?`]),
      `${id} > ?`,
      ...others.map(() => HOLDS_TOO),
    ]
    const sql = `SELECT d.* FROM ${from} WHERE ${conditions.join(' AND ')} ORDER BY ${id} LIMIT ?`
    const values = [kind, ...(driving ?? []), ...(tenant === undefined ? [] : [tenant]), after, ...others.flat(), limit]
    return prepared(sql).all(...values) as unknown as DocumentRow[]
  }
}

/** Sorts after every text with the prefix. */
const LAST_CHARACTER = '\u{10ffff}'

function toPrefixStatement(
  kind: string,
  { where = {}, tenant, limit }: ListQuery,
  { name, value, after }: KeyPrefix,
): { readonly sql: string; readonly values: (string | number)[] } {
  const filters = Object.entries(where).flatMap(([key, each]) => [each].flat().flatMap((one) => [key, one]))
  const conditions = [
    'k.kind = ?',
    'k.name = ?',
    'k.value >= ?',
    'k.value < ?',
    ...(tenant === undefined ? [] : ['k.tenant = ?']),
    ...(after === undefined ? [] : ['(k.value > ? OR k.id > ?)']),
    ...Array.from({ length: filters.length / 2 }, () => HOLDS_TOO),
  ]
  const sql = `SELECT d.* FROM ${BY_KEY} WHERE ${conditions.join(' AND ')} ORDER BY k.value, k.tenant, k.id LIMIT ?`
  return {
    sql,
    values: [
      ...[kind, name, after?.value ?? value, value + LAST_CHARACTER],
      ...(tenant === undefined ? [] : [tenant]),
      ...(after === undefined ? [] : [after.value, after.id]),
      ...filters,
      limit,
    ],
  }
}

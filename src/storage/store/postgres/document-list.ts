/**
 * Lists documents in id order, and finds them by the beginning of an id or a name.
 *
 * A filter reads the table of keys, which is in id order within a tenant. With several filters, the one with the fewest documents
 * drives the query, and the others are tested on its results.
 */

import type { Pool } from 'pg'
import type { StoredDocument } from '../document-row.ts'
import type { KeyPrefix, ListQuery, SearchQuery } from '../registry.ts'
import { prefixRange, SEARCH_KEY, searchRange } from '../search-key.ts'
import { toText } from './connection.ts'

type Filter = readonly [name: string, value: string]

/** Counting stops here: above this number, the choice of the driving filter does not matter. */
const COUNTED_MAX = 1_000
const BY_KEY = 'document_key k JOIN document d ON d.kind = k.kind AND d.id = k.id'
const LAST_CHARACTER = '\u{10ffff}'

export function createDocumentList(
  pool: Pick<Pool, 'query'>,
): (kind: string, query: ListQuery) => Promise<readonly StoredDocument[]> {
  async function count(kind: string, [name, value]: Filter, tenant: string | undefined): Promise<number> {
    const statement = new Statement()
    const conditions = statement.filterOf('k', kind, [name, value], tenant)
    const sql = `SELECT count(*) AS documents FROM (SELECT 1 FROM document_key k WHERE ${conditions} LIMIT ${COUNTED_MAX}) c`
    const { rows } = await pool.query<{ documents: number }>(sql, statement.values)
    return rows[0]!.documents
  }

  async function byNumberOfDocuments(kind: string, query: ListQuery): Promise<readonly Filter[]> {
    const filters = filtersOf(query)
    if (filters.length < 2) return filters
    const counted = await Promise.all(
      filters.map(async (filter) => ({ filter, documents: await count(kind, filter, query.tenant) })),
    )
    return counted.sort((a, b) => a.documents - b.documents).map(({ filter }) => filter)
  }

  return async (kind, query) => {
    const statement = new Statement()
    const sql =
      query.prefix === undefined
        ? inIdOrder(statement, kind, query, await byNumberOfDocuments(kind, query))
        : inKeyOrder(statement, kind, query, query.prefix)
    return (await pool.query<StoredDocument>(sql, statement.values)).rows
  }
}

export function createDocumentSearch(
  pool: Pick<Pool, 'query'>,
): (kind: string, query: SearchQuery) => Promise<readonly StoredDocument[]> {
  return async (kind, { tenant, text, limit }) => {
    const ids = await pool.query<StoredDocument>(
      'SELECT * FROM document WHERE kind = $1 AND tenant = $2 AND id >= $3 AND id < $4 ORDER BY id LIMIT $5',
      [...[kind, tenant, ...prefixRange(text)].map(toText), limit],
    )
    const names = await pool.query<StoredDocument>(
      `SELECT d.* FROM ${BY_KEY} WHERE k.kind = $1 AND k.name = $2 AND k.value >= $3 AND k.value < $4
       ORDER BY k.value, k.tenant, k.id LIMIT $5`,
      [...[kind, SEARCH_KEY, ...searchRange(tenant, text)].map(toText), limit],
    )
    const found = new Map([...ids.rows, ...names.rows].map((row) => [row.id, row]))
    return [...found.values()].filter((row) => row.tenant === tenant).slice(0, limit)
  }
}

/** The values of a statement, each under a number. */
class Statement {
  readonly values: (string | number)[] = []

  /** Returns the placeholder of a value. */
  value(value: string | number): string {
    return `$${this.values.push(typeof value === 'string' ? toText(value) : value)}`
  }

  filterOf(table: string, kind: string, [name, value]: Filter, tenant: string | undefined): string {
    const ofTenant = tenant === undefined ? '' : ` AND ${table}.tenant = ${this.value(tenant)}`
    return `${table}.kind = ${this.value(kind)} AND ${table}.name = ${this.value(name)} AND ${table}.value = ${this.value(value)}${ofTenant}`
  }

  /** Tests a filter on a document that is found already. */
  holdsToo([name, value]: Filter): string {
    return `EXISTS (SELECT 1 FROM document_key o WHERE o.kind = d.kind AND o.name = ${this.value(name)}
      AND o.value = ${this.value(value)} AND o.tenant = d.tenant AND o.id = d.id)`
  }
}

function filtersOf({ where = {} }: ListQuery): readonly Filter[] {
  return Object.entries(where).flatMap(([name, value]) => [value].flat().map((each): Filter => [name, each]))
}

function inIdOrder(
  statement: Statement,
  kind: string,
  { tenant, after = '', limit }: ListQuery,
  [driving, ...others]: readonly Filter[],
): string {
  const first = driving === undefined ? 'd' : 'k'
  const conditions = [
    driving === undefined ? ofKind(statement, kind, tenant) : statement.filterOf('k', kind, driving, tenant),
    `${first}.id > ${statement.value(after)}`,
    ...others.map((filter) => statement.holdsToo(filter)),
  ]
  const from = driving === undefined ? 'document d' : BY_KEY
  return `SELECT d.* FROM ${from} WHERE ${conditions.join(' AND ')} ORDER BY ${first}.id LIMIT ${statement.value(limit)}`
}

function ofKind(statement: Statement, kind: string, tenant: string | undefined): string {
  const ofTenant = tenant === undefined ? '' : ` AND d.tenant = ${statement.value(tenant)}`
  return `d.kind = ${statement.value(kind)}${ofTenant}`
}

function inKeyOrder(statement: Statement, kind: string, query: ListQuery, prefix: KeyPrefix): string {
  const { tenant, limit } = query
  const { name, value, after } = prefix
  const conditions = [
    `k.kind = ${statement.value(kind)}`,
    `k.name = ${statement.value(name)}`,
    `k.value >= ${statement.value(after?.value ?? value)}`,
    `k.value < ${statement.value(value + LAST_CHARACTER)}`,
    ...(tenant === undefined ? [] : [`k.tenant = ${statement.value(tenant)}`]),
    ...(after === undefined
      ? []
      : [`(k.value > ${statement.value(after.value)} OR k.id > ${statement.value(after.id)})`]),
    ...filtersOf(query).map((filter) => statement.holdsToo(filter)),
  ]
  return `SELECT d.* FROM ${BY_KEY} WHERE ${conditions.join(' AND ')}
    ORDER BY k.value, k.tenant, k.id LIMIT ${statement.value(limit)}`
}

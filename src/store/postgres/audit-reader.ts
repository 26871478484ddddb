/**
 * Reads the audit log, newest first: changes and audited reads, merged by time.
 *
 * Both tables are read backwards from the end of the previous page, so the cost of a page depends on its size. Bodies that the caller
 * may not see are not loaded.
 */

import type { Pool } from 'pg'
import type { AuditEntry, AuditQuery, Author } from '../registry.ts'
import { toText } from './connection.ts'

interface Row {
  readonly position: number
  readonly at_ms: number
  readonly author: string
  readonly action: string
  readonly kind: string
  readonly id: string
}

interface ChangeRow extends Row {
  readonly revision: number
  readonly removed: boolean
  readonly body: string | null
  readonly before: string | null
}

type Found = Omit<AuditEntry, 'position'> & { readonly source: 'change' | 'note'; readonly number: number }

const LAST = Number.MAX_SAFE_INTEGER
/** Deliveries are frequent, so that only queries for them return them. Must equal the condition of the index `change_but_deliveries`. */
const NO_DELIVERIES = `AND kind <> 'webhook_delivery'`
const FILTERS = `tenant = $1 AND position < $2 AND ($3::text IS NULL OR kind = $3) AND ($4::text IS NULL OR id = $4)
  AND ($5::text IS NULL OR action = $5) AND ($6::text IS NULL OR shown_author = $6)`
const NEWEST = 'ORDER BY position DESC LIMIT $7'

export function createAuditReader(pool: Pick<Pool, 'query'>): (query: AuditQuery) => Promise<readonly AuditEntry[]> {
  return async ({ tenant, kind, id, action, consumer, before, bodiesOf, limit }) => {
    const filters = [kind, id, action, consumer].map((value) => (value === undefined ? null : toText(value)))
    const isNarrow = kind !== undefined || id !== undefined || action !== undefined
    const changes = await pool.query<ChangeRow>(
      `SELECT position, updated_at_ms AS at_ms, author, action, kind, id, revision, removed,
         CASE WHEN kind = ANY ($8) THEN body END AS body, CASE WHEN kind = ANY ($8) THEN before END AS before
       FROM change WHERE ${FILTERS} ${isNarrow ? '' : NO_DELIVERIES} ${NEWEST}`,
      [toText(tenant), before?.change ?? LAST, ...filters, limit, bodiesOf],
    )
    const notes = await pool.query<Row>(
      `SELECT position, at_ms, author, action, kind, id FROM note WHERE ${FILTERS} ${NEWEST}`,
      [toText(tenant), before?.note ?? LAST, ...filters, limit],
    )
    const found: Found[] = [...changes.rows.map(toChange), ...notes.rows.map(toNote)]
    // At the same time, changes come first, in their stored order; the sort is stable.
    found.sort((one, other) => other.atMs - one.atMs)
    let position = before ?? { change: LAST, note: LAST }
    return found.slice(0, limit).map(({ source, number, ...entry }) => {
      position = { ...position, [source]: Math.min(position[source], number) }
      return { position, ...entry }
    })
  }
}

function toChange({ revision, removed, body, before, ...row }: ChangeRow): Found {
  return {
    ...shared(row),
    source: 'change',
    fromRevision: revision === 1 ? null : revision - 1,
    toRevision: removed ? null : revision,
    before: before === null ? null : JSON.parse(before),
    after: body === null || removed ? null : JSON.parse(body),
  }
}

function toNote(row: Row): Found {
  return { ...shared(row), source: 'note', fromRevision: null, toRevision: null, before: null, after: null }
}

function shared({ position: number, at_ms: atMs, author, action, kind, id }: Row) {
  return { number, atMs, author: JSON.parse(author) as Author, action, kind, id }
}

/**
 * Reads the audit log, newest first: changes and audited reads, merged by time.
 *
 * Both tables are read backwards from the end of the previous page, so the cost of a page depends on its size. Bodies that the caller
 * may not see are not loaded.
 */

import type { Pool } from 'pg'
import { pageStart, skipsDeliveries, toAuditEntries, type AuditedChangeRow, type NoteRow } from '../audit-entries.ts'
import type { AuditEntry, AuditQuery } from '../registry.ts'
import { toText } from './connection.ts'

/** Must equal the condition of the index `change_but_deliveries`. */
const NO_DELIVERIES = `AND kind <> 'webhook_delivery'`
const FILTERS = `tenant = $1 AND position < $2 AND ($3::text IS NULL OR kind = $3) AND ($4::text IS NULL OR id = $4)
  AND ($5::text IS NULL OR action = $5) AND ($6::text IS NULL OR shown_author = $6)`
const NEWEST = 'ORDER BY position DESC LIMIT $7'

export function createAuditReader(pool: Pick<Pool, 'query'>): (query: AuditQuery) => Promise<readonly AuditEntry[]> {
  return async (query) => {
    const { tenant, kind, id, action, consumer, bodiesOf, limit } = query
    const start = pageStart(query)
    const filters = [kind, id, action, consumer].map((value) => (value === undefined ? null : toText(value)))
    const changes = await pool.query<AuditedChangeRow>(
      `SELECT position, updated_at_ms AS at_ms, author, action, kind, id, revision, removed,
         CASE WHEN kind = ANY ($8) THEN body END AS body, CASE WHEN kind = ANY ($8) THEN before END AS before
       FROM change WHERE ${FILTERS} ${skipsDeliveries(query) ? NO_DELIVERIES : ''} ${NEWEST}`,
      [toText(tenant), start.change, ...filters, limit, bodiesOf],
    )
    const notes = await pool.query<NoteRow>(
      `SELECT position, at_ms, author, action, kind, id FROM note WHERE ${FILTERS} ${NEWEST}`,
      [toText(tenant), start.note, ...filters, limit],
    )
    return toAuditEntries(query, changes.rows, notes.rows)
  }
}

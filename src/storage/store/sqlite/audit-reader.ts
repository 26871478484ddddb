/**
 * Reads the audit log, newest first: changes and audited reads, merged by time.
 *
 * Both tables are read backwards from the end of the previous page, so the cost of a page depends on its size. A filter without an
 * index also reads the entries that it skips. Bodies that the caller may not see are not loaded.
 */

import type { DatabaseSync } from 'node:sqlite'
import { pageStart, skipsDeliveries, toAuditEntries, type AuditedChangeRow, type NoteRow } from '../audit-entries.ts'
import { FOREIGN_AUTHOR, type AuditEntry, type AuditQuery } from '../registry.ts'

/** Must equal the condition of the index `change_but_deliveries`. */
const NO_DELIVERIES = `kind <> 'webhook_delivery'`
const FILTERS = `tenant = :tenant AND position < :before
  AND (:kind IS NULL OR kind = :kind) AND (:id IS NULL OR id = :id) AND (:action IS NULL OR action = :action)
  AND (:consumer IS NULL OR :consumer = CASE
    WHEN json_extract(author, '$.tenant') = :tenant OR json_extract(author, '$.consumer') = 'system'
    THEN json_extract(author, '$.consumer') ELSE '${FOREIGN_AUTHOR}' END)
  ORDER BY position DESC LIMIT :limit`

export function createAuditReader(database: DatabaseSync): (query: AuditQuery) => readonly AuditEntry[] {
  const changesWhere = (filters: string) =>
    database.prepare(`
    SELECT position, updated_at_ms AS at_ms, author, action, kind, id, revision, removed,
      CASE WHEN kind IN (SELECT value FROM json_each(:bodies)) THEN body END AS body,
      CASE WHEN kind IN (SELECT value FROM json_each(:bodies)) THEN before END AS before
    FROM change WHERE ${filters}`)
  const changes = changesWhere(`${NO_DELIVERIES} AND ${FILTERS}`)
  const changesOfAll = changesWhere(FILTERS)
  const notes = database.prepare(`SELECT position, at_ms, author, action, kind, id FROM note WHERE ${FILTERS}`)

  return (query) => {
    const { tenant, kind, id, action, consumer, bodiesOf, limit } = query
    const filters = {
      tenant,
      kind: kind ?? null,
      id: id ?? null,
      action: action ?? null,
      consumer: consumer ?? null,
      limit,
    }
    const start = pageStart(query)
    const changed = (skipsDeliveries(query) ? changes : changesOfAll).all({
      ...filters,
      before: start.change,
      bodies: JSON.stringify(bodiesOf),
    })
    const read = notes.all({ ...filters, before: start.note })
    return toAuditEntries(
      query,
      changed as unknown as readonly AuditedChangeRow[],
      read as unknown as readonly NoteRow[],
    )
  }
}

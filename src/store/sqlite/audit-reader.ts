/**
 * Reads the audit log, newest first: changes and audited reads, merged by time.
 *
 * Both tables are read backwards from the end of the previous page, so the cost of a page depends on its size. A filter without an
 * index also reads the entries that it skips. Bodies that the caller may not see are not loaded.
 */

import type { DatabaseSync } from 'node:sqlite'
import { FOREIGN_AUTHOR, type AuditEntry, type AuditQuery, type Author } from '../registry.ts'

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
  readonly removed: number
  readonly body: string | null
  readonly before: string | null
}

type Found = Omit<AuditEntry, 'position'> & { readonly source: 'change' | 'note'; readonly number: number }

/** Deliveries are frequent, so that only queries for them return them. Must equal the condition of the index `change_but_deliveries`. */
const NO_DELIVERIES = `kind <> 'webhook_delivery'`
const FILTERS = `tenant = :tenant AND position < :before
  AND (:kind IS NULL OR kind = :kind) AND (:id IS NULL OR id = :id) AND (:action IS NULL OR action = :action)
  AND (:consumer IS NULL OR :consumer = CASE
    WHEN json_extract(author, '$.tenant') = :tenant OR json_extract(author, '$.consumer') = 'system'
    THEN json_extract(author, '$.consumer') ELSE '${FOREIGN_AUTHOR}' END)
  ORDER BY position DESC LIMIT :limit`
const LAST = Number.MAX_SAFE_INTEGER

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

  return ({ tenant, kind, id, action, consumer, before, bodiesOf, limit }) => {
    const shared = {
      tenant,
      kind: kind ?? null,
      id: id ?? null,
      action: action ?? null,
      consumer: consumer ?? null,
      limit,
    }
    const isNarrow = kind !== undefined || id !== undefined || action !== undefined
    const changed = (isNarrow ? changesOfAll : changes).all({
      ...shared,
      before: before?.change ?? LAST,
      bodies: JSON.stringify(bodiesOf),
    })
    const read = notes.all({ ...shared, before: before?.note ?? LAST })
    const found: Found[] = [
      ...(changed as unknown as ChangeRow[]).map(toChange),
      ...(read as unknown as Row[]).map(toNote),
    ]
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
  const isRemoved = removed === 1
  return {
    ...shared(row),
    source: 'change',
    fromRevision: revision === 1 ? null : revision - 1,
    toRevision: isRemoved ? null : revision,
    before: before === null ? null : JSON.parse(before),
    after: body === null || isRemoved ? null : JSON.parse(body),
  }
}

function toNote(row: Row): Found {
  return { ...shared(row), source: 'note', fromRevision: null, toRevision: null, before: null, after: null }
}

function shared({ position: number, at_ms: atMs, author, action, kind, id }: Row) {
  return { number, atMs, author: JSON.parse(author) as Author, action, kind, id }
}

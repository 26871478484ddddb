/** Merges the two tables of the audit log, changes and audited reads, into entries by time. */

import type { AuditEntry, AuditPosition, AuditQuery, Author } from './registry.ts'

export interface NoteRow {
  readonly position: number
  readonly at_ms: number
  /** JSON */
  readonly author: string
  readonly action: string
  readonly kind: string
  readonly id: string
}

export interface AuditedChangeRow extends NoteRow {
  readonly revision: number
  /** SQLite has no booleans. */
  readonly removed: boolean | number
  /** JSON; null if the body is not among those of the query. */
  readonly body: string | null
  readonly before: string | null
}

type Found = Omit<AuditEntry, 'position'> & { readonly source: keyof AuditPosition; readonly number: number }

/** A position after all entries. */
const END = Number.MAX_SAFE_INTEGER

/** Returns the position at which a page begins. */
export function pageStart({ before }: Pick<AuditQuery, 'before'>): AuditPosition {
  return before ?? { change: END, note: END }
}

/** Whether deliveries of events are left out, because they are frequent and the query has no filter that means them. */
export function skipsDeliveries({ kind, id, action }: AuditQuery): boolean {
  return kind === undefined && id === undefined && action === undefined
}

/** Returns one page, newest first. The rows of each table are those before the start of the page, in the order of the table. */
export function toAuditEntries(
  query: AuditQuery,
  changes: readonly AuditedChangeRow[],
  notes: readonly NoteRow[],
): readonly AuditEntry[] {
  const found = [...changes.map(fromChange), ...notes.map(fromNote)]
  // At the same time, changes come first, in their stored order; the sort is stable.
  found.sort((one, other) => other.atMs - one.atMs)
  let position = pageStart(query)
  return found.slice(0, query.limit).map(({ source, number, ...entry }) => {
    position = { ...position, [source]: Math.min(position[source], number) }
    return { position, ...entry }
  })
}

function fromChange({ revision, removed, body, before, ...row }: AuditedChangeRow): Found {
  const isRemoved = Boolean(removed)
  return {
    ...shared(row),
    source: 'change',
    fromRevision: revision === 1 ? null : revision - 1,
    toRevision: isRemoved ? null : revision,
    before: before === null ? null : JSON.parse(before),
    after: body === null || isRemoved ? null : JSON.parse(body),
  }
}

function fromNote(row: NoteRow): Found {
  return { ...shared(row), source: 'note', fromRevision: null, toRevision: null, before: null, after: null }
}

function shared({ position: number, at_ms: atMs, author, action, kind, id }: NoteRow) {
  return { number, atMs, author: JSON.parse(author) as Author, action, kind, id }
}

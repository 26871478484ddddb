/**
 * Replaces bodies in the audit log, which is otherwise append-only: its trigger admits updates only of a transaction that says so.
 */

import type { ClientBase } from 'pg'
import { RevisionConflict, type Document } from '../registry.ts'
import { toText } from './connection.ts'
import { COMMIT_LOCK } from './lock-numbers.ts'

type Edit = (body: unknown) => unknown

interface BodiesRow {
  readonly position: number
  readonly body: string
  readonly before: string | null
}

/** Entries per transaction; each takes a few milliseconds at most. */
const BATCH_MAX = 500
const BEGIN = `BEGIN; SELECT pg_advisory_xact_lock(${COMMIT_LOCK}); SET LOCAL tollgate.redacts = 'yes'`

/** Edits one batch of entries after a position. Returns the position of the last one; null at the end. */
export async function redactBatch(
  client: ClientBase,
  of: Pick<Document, 'kind' | 'id' | 'tenant'>,
  edit: Edit,
  after: number,
): Promise<number | null> {
  const [kind, id, tenant] = [of.kind, of.id, of.tenant].map(toText)
  await client.query(BEGIN)
  const { rows: documents } = await client.query<{ body: string }>(
    'SELECT body FROM document WHERE kind = $1 AND id = $2',
    [kind, id],
  )
  if (documents.some(({ body }) => body !== editText(edit, body))) {
    throw new RevisionConflict(`${kind} ${id} still has what is to be removed from its audit entries`)
  }
  const { rows } = await client.query<BodiesRow>(
    `SELECT position, body, before FROM change WHERE tenant = $1 AND kind = $2 AND id = $3 AND position > $4
     ORDER BY position LIMIT ${BATCH_MAX}`,
    [tenant, kind, id, after],
  )
  const edited = rows.map((row) => editRow(edit, row))
  await client.query(
    `UPDATE change SET body = e.body, before = e.before
     FROM unnest($1::bigint[], $2::text[], $3::text[]) AS e (position, body, before)
     WHERE change.position = e.position AND (change.body, change.before) IS DISTINCT FROM (e.body, e.before)`,
    [edited.map(({ position }) => position), edited.map(({ body }) => body), edited.map(({ before }) => before)],
  )
  await client.query('COMMIT')
  return rows.length < BATCH_MAX ? null : (rows.at(-1)?.position ?? null)
}

function editRow(edit: Edit, { position, body, before }: BodiesRow): BodiesRow {
  return { position, body: editText(edit, body), before: before === null ? null : editText(edit, before) }
}

function editText(edit: Edit, text: string): string {
  return JSON.stringify(edit(JSON.parse(text)))
}

/**
 * Replaces bodies in the audit log, which is otherwise append-only.
 *
 * The trigger that refuses updates is dropped and created again within the transaction, so no other change passes.
 */

import { isDeepStrictEqual } from 'node:util'
import type { DatabaseSync } from 'node:sqlite'
import { RevisionConflict, type Document } from '../registry.ts'

type Edit = (body: unknown) => unknown

interface BodiesRow {
  readonly position: number
  readonly body: string
  readonly before: string | null
}

const TRIGGER = 'change_stays'
/** Entries per transaction; each takes a few milliseconds at most. */
const BATCH_MAX = 500

/** Returns a function that edits one batch of entries after a position; it returns the position of the last one, null at the end. */
export function createRedaction(database: DatabaseSync) {
  const get = database.prepare('SELECT body FROM document WHERE kind = ? AND id = ?')
  const trigger = database.prepare(`SELECT sql FROM sqlite_master WHERE type = 'trigger' AND name = ?`)

  return ({ kind, id, tenant }: Pick<Document, 'kind' | 'id' | 'tenant'>, edit: Edit, after: number): number | null => {
    const document = get.get(kind, id) as { readonly body: string } | undefined
    if (document !== undefined && document.body !== editText(edit, document.body))
      throw new RevisionConflict(`${kind} ${id} still has what is to be removed from its audit entries`)
    const rows = database
      .prepare(
        `SELECT position, body, before FROM change WHERE tenant = ? AND kind = ? AND id = ? AND position > ?
         ORDER BY position LIMIT ${BATCH_MAX}`,
      )
      .all(tenant, kind, id, after) as unknown as BodiesRow[]
    const changed = rows.map((row) => editRow(edit, row)).filter((row, index) => !isDeepStrictEqual(row, rows[index]))
    if (changed.length > 0) {
      const { sql } = trigger.get(TRIGGER) as { readonly sql: string }
      database.exec(`DROP TRIGGER ${TRIGGER}`)
      const update = database.prepare('UPDATE change SET body = ?, before = ? WHERE position = ?')
      for (const { position, body, before } of changed) update.run(body, before, position)
      database.exec(sql)
    }
    return rows.length < BATCH_MAX ? null : (rows.at(-1)?.position ?? null)
  }
}

function editRow(edit: Edit, { position, body, before }: BodiesRow): BodiesRow {
  return { position, body: editText(edit, body), before: before === null ? null : editText(edit, before) }
}

function editText(edit: Edit, text: string): string {
  return JSON.stringify(edit(JSON.parse(text)))
}

/** Finds documents by the beginning of their ids or names. Both searches read a range of an index, and only as much as they return. */

import type { DatabaseSync } from 'node:sqlite'
import type { SearchQuery } from '../registry.ts'
import { prefixRange, SEARCH_KEY, searchRange } from '../search-key.ts'
import type { DocumentRow } from './document-row.ts'

export function createDocumentSearch(
  database: Pick<DatabaseSync, 'prepare'>,
): (kind: string, query: SearchQuery) => readonly DocumentRow[] {
  const byId = database.prepare(
    `SELECT * FROM document INDEXED BY document_by_tenant
     WHERE kind = ? AND tenant = ? AND id >= ? AND id < ? ORDER BY id LIMIT ?`,
  )
  const byName = database.prepare(
    `SELECT d.* FROM document_key k CROSS JOIN document d ON d.kind = k.kind AND d.id = k.id
     WHERE k.kind = ? AND k.name = '${SEARCH_KEY}' AND k.value >= ? AND k.value < ?
     ORDER BY k.value, k.tenant, k.id LIMIT ?`,
  )

  return (kind, { tenant, text, limit }) => {
    const rows = [
      ...byId.all(kind, tenant, ...prefixRange(text), limit),
      ...byName.all(kind, ...searchRange(tenant, text), limit),
    ] as unknown as DocumentRow[]
    const found = new Map(rows.map((row) => [row.id, row]))
    return [...found.values()].filter((row) => row.tenant === tenant).slice(0, limit)
  }
}

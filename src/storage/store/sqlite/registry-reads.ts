/** Reads documents from a file with the schema of the registry. */

import type { DatabaseSync } from 'node:sqlite'
import type { Document, ListQuery, SearchQuery } from '../registry.ts'
import type { RegistryReads } from '../registry-copy.ts'
import { createDocumentList } from './document-list.ts'
import { toDocument, type DocumentRow } from './document-row.ts'
import { createDocumentSearch } from './document-search.ts'

export function createRegistryReads(database: DatabaseSync): RegistryReads {
  const get = database.prepare('SELECT * FROM document WHERE kind = ? AND id = ?')
  const find = database.prepare(
    `SELECT d.* FROM document_key k CROSS JOIN document d ON d.kind = k.kind AND d.id = k.id
     WHERE k.kind = ? AND k.name = ? AND k.value = ? ORDER BY k.tenant, k.id LIMIT 1`,
  )
  const list = createDocumentList(database)
  const search = createDocumentSearch(database)
  return {
    get: async <Body>(kind: string, id: string) => toDocumentOrNull<Body>(get.get(kind, id)),
    getEach: async <Body>(kind: string, ids: readonly string[]) =>
      new Map(
        ids.flatMap((id) => {
          const document = toDocumentOrNull<Body>(get.get(kind, id))
          return document === null ? [] : [[id, document]]
        }),
      ),
    find: async <Body>(kind: string, name: string, value: string) =>
      toDocumentOrNull<Body>(find.get(kind, name, value)),
    list: async <Body>(kind: string, query: ListQuery) => list(kind, query).map((row) => toDocument<Body>(row)),
    search: async <Body>(kind: string, query: SearchQuery) => search(kind, query).map((row) => toDocument<Body>(row)),
  }
}

function toDocumentOrNull<Body>(row: Record<string, unknown> | undefined): Document<Body> | null {
  return row === undefined ? null : toDocument<Body>(row as unknown as DocumentRow)
}

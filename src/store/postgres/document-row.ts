/** The row of a document in PostgreSQL. */

import type { Document } from '../registry.ts'
import type { StoredDocument } from './plan-commits.ts'

export function toDocument<Body>(row: StoredDocument): Document<Body> {
  return {
    kind: row.kind,
    id: row.id,
    tenant: row.tenant,
    revision: row.revision,
    body: JSON.parse(row.body) as Body,
    createdAtMs: row.created_at_ms,
    updatedAtMs: row.updated_at_ms,
  }
}

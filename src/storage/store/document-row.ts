/** The row of a document, as both registries store it. */

import type { Document } from './registry.ts'

export interface StoredDocument {
  readonly kind: string
  readonly id: string
  readonly tenant: string
  readonly revision: number
  /** JSON */
  readonly body: string
  readonly created_at_ms: number
  readonly updated_at_ms: number
}

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

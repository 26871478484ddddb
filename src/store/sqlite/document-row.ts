/** The row of a document in SQLite. */

import type { Document } from '../registry.ts'
import { checksumOf, verifyRow } from './row-checksum.ts'

export interface DocumentRow {
  readonly kind: string
  readonly id: string
  readonly tenant: string
  readonly revision: number
  /** JSON */
  readonly body: string
  readonly created_at_ms: number
  readonly updated_at_ms: number
  /** Missing in rows of the change feed; null in documents that were written before checksums existed. */
  readonly checksum?: number | null
}

export function documentChecksum(row: Pick<DocumentRow, 'kind' | 'id' | 'tenant' | 'revision' | 'body'>): number {
  return checksumOf([row.kind, row.id, row.tenant, row.revision], row.body)
}

/** Throws `RowDamaged`. */
export function toDocument<Body>(row: DocumentRow): Document<Body> {
  verifyRow(`${row.kind} ${row.id}`, row.checksum, [row.kind, row.id, row.tenant, row.revision], row.body)
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

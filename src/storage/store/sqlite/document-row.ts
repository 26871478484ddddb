/** The row of a document in SQLite, with a checksum. */

import { toDocument as toUnverified, type StoredDocument } from '../document-row.ts'
import type { Document } from '../registry.ts'
import { checksumOf, verifyRow } from './row-checksum.ts'

export interface DocumentRow extends StoredDocument {
  /** Missing in rows of the change feed; null in documents that were written before checksums existed. */
  readonly checksum?: number | null
}

export function documentChecksum(row: Pick<DocumentRow, 'kind' | 'id' | 'tenant' | 'revision' | 'body'>): number {
  return checksumOf([row.kind, row.id, row.tenant, row.revision], row.body)
}

/** Throws `RowDamaged`. */
export function toDocument<Body>(row: DocumentRow): Document<Body> {
  verifyRow(`${row.kind} ${row.id}`, row.checksum, [row.kind, row.id, row.tenant, row.revision], row.body)
  return toUnverified(row)
}

/**
 * Checksums of rows that decide about money and access.
 *
 * `PRAGMA quick_check` verifies the structure of a file and does not see a bit that flips inside a value. A row whose checksum
 * does not match is never used. Rows of versions before checksums carry none (NULL) and are taken as they are.
 */

import { crc32 } from 'node:zlib'

/** A row does not match its checksum. */
class RowDamaged extends Error {
  override readonly name = 'RowDamaged'
}

/** `body` is hashed as it is, the fields before it in a form that keeps them apart. */
export function checksumOf(fields: readonly (string | number)[], body: string): number {
  return crc32(body, crc32(JSON.stringify(fields)))
}

/** Throws `RowDamaged`; `row` names it for the operator. */
export function verifyRow(
  row: string,
  checksum: number | null | undefined,
  fields: readonly (string | number)[],
  body: string,
): void {
  if (checksum === null || checksum === undefined) return
  if (checksum !== checksumOf(fields, body)) throw new RowDamaged(`${row} does not match its checksum`)
}

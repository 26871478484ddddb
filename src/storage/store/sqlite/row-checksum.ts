/**
 * Checksums of rows that decide about money and access.
 *
 * `PRAGMA quick_check` verifies the structure of a file, but does not detect a flipped bit inside a value. A row whose checksum does
 * not match is never used. Rows that were written before checksums existed have none (NULL) and are not verified.
 */

import { crc32 } from 'node:zlib'

/** A row does not match its checksum. */
class RowDamaged extends Error {
  override readonly name = 'RowDamaged'
}

/** Hashes the fields as JSON, so that their boundaries count, and then `body`. */
export function checksumOf(fields: readonly (string | number)[], body: string): number {
  return crc32(body, crc32(JSON.stringify(fields)))
}

/** Throws `RowDamaged` if the row does not match its checksum. `row` describes the row in the message. */
export function verifyRow(
  row: string,
  checksum: number | null | undefined,
  fields: readonly (string | number)[],
  body: string,
): void {
  if (checksum === null || checksum === undefined) return
  if (checksum !== checksumOf(fields, body)) throw new RowDamaged(`${row} does not match its checksum`)
}

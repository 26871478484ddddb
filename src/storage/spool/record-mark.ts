/**
 * The number after the last record that a source has written, in a file beside its folder: `spool/gateway-0.mark`.
 *
 * The writer updates the mark after each batch, in the page cache. The mark does not count a batch that a crash truncated, so it
 * distinguishes such a batch from records that were truncated later. Those are missing: the next writer continues after the
 * mark, so the reader sees the gap in the numbers.
 */

import { openMarkFile, type MarkFile } from '../../foundation/runtime/mark-file.ts'

/** Never throws: without a mark, the checkpoint still holds the number of the last record that was read. */
export function openRecordMark(folder: string, onFailure: (cause: unknown) => void): MarkFile {
  try {
    return openMarkFile(`${folder}.mark`)
  } catch (cause) {
    onFailure(cause)
    return { found: null, write() {}, close() {} }
  }
}

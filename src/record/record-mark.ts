/**
 * The number after the last record that a source has written, in a file beside its folder: `spool/gateway-0.mark`.
 *
 * It is written after each batch, into the page cache. A batch that a crash cut off is not counted in it, so the mark tells
 * such a batch from records that were cut off later: those are missing, and the writer that follows continues behind them,
 * which shows the reader the gap.
 */

import { openMarkFile, type MarkFile } from '../runtime/mark-file.ts'

/** Never throws: without a mark the checkpoint still tells what it has read. */
export function openRecordMark(folder: string, onFailure: (cause: unknown) => void): MarkFile {
  try {
    return openMarkFile(`${folder}.mark`)
  } catch (cause) {
    onFailure(cause)
    return { found: null, write() {}, close() {} }
  }
}

/** Reads a known range of the spool to its end. */

import type { RecordBatch } from './record-batch.ts'
import type { SpoolReader } from './spool-reader.ts'
import type { SpoolPosition } from '../store/checkpoint.ts'
import { isSame } from './spool-position.ts'

export function readRange(
  reader: Pick<SpoolReader, 'read'>,
  from: SpoolPosition,
  to: SpoolPosition,
  onBatch: (batch: RecordBatch) => void,
): void {
  for (let at = from, isMore = true; isMore;) {
    const next = reader.read(at, onBatch, { until: to })
    isMore = !isSame(at, next)
    at = next
  }
}

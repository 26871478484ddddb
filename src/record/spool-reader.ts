/**
 * Reads the spools of all gateway threads, oldest segment first, whole batches only.
 *
 * Live records and a replay after a crash take this one way. What follows the last whole batch of a
 * segment whose writer is gone (a torn tail) is cut off, and counted.
 */

import type { RecordBatch } from './record-batch.ts'
import type { SpoolPosition } from './checkpoint.ts'

export interface SpoolReader {
  /**
   * Hands over every whole batch from `position` up to what is written now (or up to `until`), and
   * answers the position after the last one. Calls are synchronous reads of the page cache; at most
   * `bytesMax` are read (default 16 MiB), so that a long replay leaves room for others.
   */
  read(
    position: SpoolPosition,
    onBatch: (batch: RecordBatch) => void,
    options?: { until?: SpoolPosition; bytesMax?: number },
  ): SpoolPosition
  /** Deletes the segments that lie wholly before `position`. */
  release(position: SpoolPosition): void
  /** Runs `listener` soon after records were written; several writes are one call. Returns how to stop. */
  onGrowth(listener: () => void): () => void
}

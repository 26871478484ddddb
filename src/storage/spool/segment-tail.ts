/** Classifies the bytes after the last whole batch of a segment: the remainder of a crashed write, or damage. */

import { BATCH_HEADER_BYTES, decodeBatchHeader, isBatchMagic, type BatchHeader } from './codec.ts'
import { EXPLANATION_HEAD_BYTES, explanationSectionBytes } from './explanation-section.ts'
import type { FileWindow } from './file-window.ts'

export interface Tail {
  readonly bytes: number
  /** `truncated`: the beginning of a batch, left by a crash. */
  readonly kind: 'none' | 'truncated' | 'damaged'
  /** Records of a complete batch that does not verify. */
  readonly records: number
}

export const NO_TAIL: Tail = { bytes: 0, kind: 'none', records: 0 }

const MAGIC_BYTES = 4

/** Classifies the last `bytes` bytes of the file, which begin at `offset`. */
export function tailOf(window: FileWindow, offset: number, bytes: number): Tail {
  if (bytes <= 0) return NO_TAIL
  const at = window.load(offset, Math.min(bytes, BATCH_HEADER_BYTES))
  if (at < 0) return NO_TAIL
  if (bytes >= MAGIC_BYTES && !isBatchMagic(window.view.getUint32(at, true)))
    return { bytes, kind: 'damaged', records: 0 }
  if (bytes < BATCH_HEADER_BYTES) return { bytes, kind: 'truncated', records: 0 }
  const batch = decodeBatchHeader(window.view, at)
  if (batch === null) return { bytes, kind: 'damaged', records: 0 }
  if (batch.bytes <= bytes) return { bytes, kind: 'damaged', records: batch.records }
  return { bytes, kind: isBeginning(window, offset, bytes, batch) ? 'truncated' : 'damaged', records: 0 }
}

/** Whether the length of an incomplete batch agrees with the length of its explanations. */
function isBeginning(window: FileWindow, offset: number, bytes: number, batch: BatchHeader): boolean {
  const from = batch.bytes - batch.explanationBytes
  if (batch.explanationBytes === 0 || from + EXPLANATION_HEAD_BYTES > bytes) return true
  const at = window.load(offset + from, EXPLANATION_HEAD_BYTES)
  return at < 0 || explanationSectionBytes(window.view, at) === batch.explanationBytes
}

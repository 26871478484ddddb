/**
 * Returns the memory that the start of the main thread needed to the operating system.
 *
 * V8 keeps the space for new objects as large as loading the modules made it (64 MB on the main thread), and frees it only after
 * collections that an idle thread does not need. It grows again with the work, which is why gateway threads keep theirs.
 */

import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

type CollectGarbage = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void

/** A larger heap is not collected: the pause would exceed a second, and what it frees is a small part. */
const HEAP_BYTES_MAX = 512 * 1024 * 1024

/** Blocks the thread for some 0.1 s: call it once, when the start is over. Returns false if the heap is too large for that. */
export function releaseHeap(heapBytesMax = HEAP_BYTES_MAX): boolean {
  if (getHeapStatistics().used_heap_size > heapBytesMax) return false
  // The function is visible only to contexts that are created while the flag is set.
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as CollectGarbage
  setFlagsFromString('--no-expose-gc')
  collectGarbage({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  return true
}

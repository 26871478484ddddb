/** Bounded cache of segments that are open for reading; opening one more closes the oldest. */

import { NO_SEGMENT, openSegment, type SegmentFile } from './segment-file.ts'

export interface OpenSegments {
  /** Treats a file that cannot be opened as empty. Throws if the process or system is out of descriptors or memory. */
  at(path: string): SegmentFile
  closeAt(path: string): void
  close(): void
}

const OPEN_MAX = 64
/** Errors of the process, not of one file: the file is read again later. */
const TRANSIENT = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN', 'EINTR'])

export function createOpenSegments(): OpenSegments {
  const open = new Map<string, SegmentFile>()
  let nextKey = 0

  function closeAt(path: string): void {
    open.get(path)?.close()
    open.delete(path)
  }

  return {
    at(path) {
      let file = open.get(path)
      if (file !== undefined) return file
      if (open.size >= OPEN_MAX) closeAt(open.keys().next().value!)
      try {
        file = openSegment(path, nextKey++)
      } catch (cause) {
        if (TRANSIENT.has((cause as NodeJS.ErrnoException).code ?? '')) throw cause
        return NO_SEGMENT
      }
      open.set(path, file)
      return file
    },
    closeAt,
    close() {
      for (const file of open.values()) file.close()
      open.clear()
    },
  }
}

/** Segments that are open for reading: a bounded number, the oldest is closed for the next. */

import { NO_SEGMENT, openSegment, type SegmentFile } from './segment-file.ts'

export interface OpenSegments {
  /** A file that cannot be opened counts as an empty one. Throws if the process has no room for another file. */
  at(path: string): SegmentFile
  closeAt(path: string): void
  close(): void
}

const OPEN_MAX = 64
/** Errors of the process, not of one file: the file is read later. */
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

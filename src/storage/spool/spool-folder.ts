/** Lists and syncs the spool folder: one subfolder per source, with its segments in order of creation. */

import { closeSync, existsSync, fdatasync, fdatasyncSync, openSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { syncFolder } from '../../foundation/runtime/sync-folder.ts'
import { unlessGone } from '../../foundation/runtime/unless-gone.ts'
import { DAMAGED_FOLDER } from './damaged-segments.ts'
import { TEMPORARY_SUFFIX } from './segment-header.ts'
import { segmentName, segmentNumber } from './segment-name.ts'

export function foldersIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== DAMAGED_FOLDER)
    .map(({ name }) => name)
    .sort()
}

/** Returns no segments for a missing folder, which a position may still refer to. */
export function segmentsIn(folder: string): number[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .map(segmentNumber)
    .filter((segment) => segment !== null)
    .sort((a, b) => a - b)
}

/** The number of the last segment of each source. */
export function lastSegments(folder: string): Map<string, number> {
  return new Map(foldersIn(folder).map((source) => [source, segmentsIn(join(folder, source)).at(-1) ?? 0]))
}

export function bytesIn(folder: string): number {
  const sizes = foldersIn(folder).flatMap((source) =>
    segmentsIn(join(folder, source)).map((segment) => statSync(join(folder, source, segmentName(segment))).size),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}

/** Removes temporary files that a crash left during creation or replacement of a segment. Call it before writers start. */
export function removeTemporaries(folder: string): void {
  for (const source of foldersIn(folder)) {
    for (const name of readdirSync(join(folder, source))) {
      if (name.endsWith(TEMPORARY_SUFFIX)) rmSync(join(folder, source, name), { force: true })
    }
  }
}

/**
 * Syncs the segments of a source asynchronously; `onDone` receives the error of each sync, or null. The reader of the spool may
 * remove segments meanwhile: their records are stored, so they are skipped.
 */
export function syncSegmentsLater(folder: string, onDone: (cause: unknown) => void): void {
  for (const segment of segmentsIn(folder)) {
    const file = unlessGone(() => openSync(join(folder, segmentName(segment)), 'r'))
    if (file === undefined) continue
    fdatasync(file, (cause) => {
      closeSync(file)
      onDone(cause)
    })
  }
}

/** Syncs the whole spool. Throws the first error. */
export function syncSpool(folder: string): void {
  if (!existsSync(folder)) return
  for (const source of foldersIn(folder)) {
    for (const segment of segmentsIn(join(folder, source))) {
      const file = openSync(join(folder, source, segmentName(segment)), 'r')
      try {
        fdatasyncSync(file)
      } finally {
        closeSync(file)
      }
    }
    syncFolder(join(folder, source))
  }
  syncFolder(folder)
}

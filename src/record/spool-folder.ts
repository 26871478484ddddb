/** What lies in the spool's folder: a folder a source, its segments in the order they were made. */

import { closeSync, existsSync, fdatasync, fdatasyncSync, openSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { syncFolder } from '../runtime/sync-folder.ts'
import { DAMAGED_FOLDER } from './damaged-segments.ts'
import { TEMPORARY_SUFFIX } from './segment-header.ts'
import { segmentName, segmentNumber } from './segment-name.ts'

export function foldersIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== DAMAGED_FOLDER)
    .map(({ name }) => name)
    .sort()
}

/** A folder that somebody took away holds nothing: a position may still name it. */
export function segmentsIn(folder: string): number[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .map(segmentNumber)
    .filter((segment) => segment !== null)
    .sort((a, b) => a - b)
}

/** By source the number of its last segment. */
export function lastSegments(folder: string): Map<string, number> {
  return new Map(foldersIn(folder).map((source) => [source, segmentsIn(join(folder, source)).at(-1) ?? 0]))
}

export function bytesIn(folder: string): number {
  const sizes = foldersIn(folder).flatMap((source) =>
    segmentsIn(join(folder, source)).map((segment) => statSync(join(folder, source, segmentName(segment))).size),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}

/** Removes what a crash left of segments that were being created or replaced. Call it before there are writers. */
export function removeTemporaries(folder: string): void {
  for (const source of foldersIn(folder)) {
    for (const name of readdirSync(join(folder, source))) {
      if (name.endsWith(TEMPORARY_SUFFIX)) rmSync(join(folder, source, name), { force: true })
    }
  }
}

/** Brings what the segments of a source hold to the disk, without waiting; `onDone` gets the error of each, or null. */
export function syncSegmentsLater(folder: string, onDone: (cause: unknown) => void): void {
  for (const segment of segmentsIn(folder)) {
    const file = openSync(join(folder, segmentName(segment)), 'r')
    fdatasync(file, (cause) => {
      closeSync(file)
      onDone(cause)
    })
  }
}

/** Brings all that the spool holds to the disk; throws what the first sync that fails gives. */
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

/** Determines which positions the segment files in the spool folder still cover. */

import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { segmentName } from '../spool/segment-name.ts'
import { foldersIn, segmentsIn } from '../spool/spool-folder.ts'
import type { SpoolPosition } from '../store/checkpoint.ts'

/**
 * Returns a function that checks whether every record of a source from `place` on exists. Segments are released in order, oldest
 * first, and the last segment of a source is truncated. So the segment of `place` must exist and be long enough.
 */
export function spoolHolds(folder: string): (source: string, place: SpoolPosition[string]) => boolean {
  return (source, { segment, offset }) => {
    const path = join(folder, source, segmentName(segment))
    return (statSync(path, { throwIfNoEntry: false })?.size ?? -1) >= offset
  }
}

/** Whether the position has sources, but none of them has a segment. The service never removes the last segment of a source. */
export function isSpoolEmptied(folder: string, position: SpoolPosition): boolean {
  const sources = Object.keys(position)
  return sources.length > 0 && sources.every((source) => segmentsIn(join(folder, source)).length === 0)
}

/** Returns the end of every source, which skips all records in the spool. */
export function endOfSpool(folder: string): SpoolPosition {
  if (!existsSync(folder)) return {}
  return Object.fromEntries(
    foldersIn(folder).flatMap((source) => {
      const segment = segmentsIn(join(folder, source)).at(-1)
      if (segment === undefined) return []
      return [[source, { segment, offset: statSync(join(folder, source, segmentName(segment))).size }] as const]
    }),
  )
}

/** What the spool's folder still holds, judged by its segment files. */

import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { segmentName } from '../record/segment-name.ts'
import { foldersIn, segmentsIn } from '../record/spool-folder.ts'
import type { SpoolPosition } from '../store/checkpoint.ts'

/**
 * Whether every record of a source from `place` on is there: segments are removed from the oldest on, and the last one of a source
 * is truncated, so the segment of the place has to reach it.
 */
export function spoolHolds(folder: string): (source: string, place: SpoolPosition[string]) => boolean {
  return (source, { segment, offset }) => {
    const path = join(folder, source, segmentName(segment))
    return (statSync(path, { throwIfNoEntry: false })?.size ?? -1) >= offset
  }
}

/** Whether the position names sources and no segment of any is there; the last segment of a source is never removed. */
export function isSpoolEmptied(folder: string, position: SpoolPosition): boolean {
  const sources = Object.keys(position)
  return sources.length > 0 && sources.every((source) => segmentsIn(join(folder, source)).length === 0)
}

/** The end of every source: everything before it is left behind. */
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

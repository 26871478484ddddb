/** Lists the segments of the spool with their current lengths. Segments only grow, so a prefix of that length stays valid. */

import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { filesIn } from './copy-files.ts'

export interface MeasuredFile {
  readonly path: string
  readonly bytes: number
}

export function measureSpool(folder: string): readonly MeasuredFile[] {
  if (!existsSync(folder)) return []
  return filesIn(folder)
    .filter((path) => path.endsWith('.spool'))
    .map((path) => ({ path, bytes: statSync(join(folder, path)).size }))
}

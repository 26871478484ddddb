/** Segments of the spool and their lengths at one moment. Segments only grow, so their first bytes are what they were then. */

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

/** Lists folders that a running process changes: what is removed meanwhile is left out. */

import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { unlessGone } from '../../src/foundation/runtime/unless-gone.ts'

/** Returns the paths of all files below `folder`. */
export function liveFilesIn(folder: string): readonly string[] {
  const entries = unlessGone(() => readdirSync(folder, { withFileTypes: true })) ?? []
  return entries.flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return liveFilesIn(path)
    return entry.isFile() ? [path] : []
  })
}

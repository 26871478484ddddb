/**
 * Classifies files of the embedded store: parts, which `FREEZE` links, and the frame around them.
 *
 * The engine stores a table in `store/<3 digits>/<uuid>/`: a folder for each part, `format_version.txt`, and `deduplication_logs/`,
 * from which a restored service recognises repeated inserts. Folders with the prefix `tmp` are unfinished, and `detached` is unused.
 */

import { filesIn } from './copy-files.ts'

const PART_DEPTH = 4
const DEDUPLICATION = 'deduplication_logs'
/** Excluded from a copy: links of other backups, and temporary files. */
const SCRATCH = new Set(['shadow', 'tmp'])

/** Lists metadata, links and deduplication logs: small files that only inserts change. */
export function frameOf(folder: string): string[] {
  return filesIn(folder, (path, isFolder) => !isScratch(path) && !(isFolder && isPart(path)))
}

/** Lists parts, in the engine's own folder (service stopped) or in the folder of a freeze (service running). */
export function partsOf(folder: string): string[] {
  return filesIn(folder, (path) => !isScratch(path)).filter((path) => isPart(path))
}

function isScratch(path: string): boolean {
  const names = path.split('/')
  return SCRATCH.has(names[0]!) || /^(tmp|delete_tmp|detached$)/.test(names[PART_DEPTH - 1] ?? '')
}

/** Whether the path is the folder of a part, or lies in one. */
function isPart(path: string): boolean {
  const names = path.split('/')
  const [top, , , name] = names
  return top === 'store' && name !== undefined && name !== DEDUPLICATION && !/\.(txt|sql)$/.test(name)
}

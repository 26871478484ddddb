/**
 * Files of the embedded store's folder, told apart: parts, which `FREEZE` links, and the frame around them.
 *
 * The engine lays out a table as `store/<3 digits>/<uuid>/`: a folder for each part, `format_version.txt`, and
 * `deduplication_logs/`, by which a restored service knows the inserts that were made. Folders whose names begin with `tmp` hold
 * what is not finished, `detached` what is not used.
 */

import { filesIn } from './copy-files.ts'

const PART_DEPTH = 4
const DEDUPLICATION = 'deduplication_logs'
/** Not part of a copy: links of other backups, and scratch. */
const SCRATCH = new Set(['shadow', 'tmp'])

/** Metadata, links and deduplication logs: small, and only changed by inserts. */
export function frameOf(folder: string): string[] {
  return filesIn(folder, (path, isFolder) => !isScratch(path) && !(isFolder && isPart(path)))
}

/** Parts as they lie in the engine's own folder, for a service that is stopped; or below the folder of a freeze. */
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

/**
 * Keeps damaged segments in `spool/damaged/` for inspection.
 *
 * A damaged segment is hard-linked there when the damage is found, so that the file survives its release and a crash. The folder
 * is bounded by number and bytes; the oldest files are removed first.
 */

import { copyFileSync, existsSync, linkSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { segmentName } from './segment-name.ts'

export const DAMAGED_FOLDER = 'damaged'
const FILES_MAX = 32
const BYTES_MAX = 512 * 1024 * 1024

/** Links a segment into `damaged/` of the spool `folder`. Returns false if that fails. */
export function keepDamaged(folder: string, source: string, segment: number): boolean {
  const { target, name, path } = namesOf(folder, source, segment)
  try {
    if (existsSync(name)) return true
    mkdirSync(target, { recursive: true, mode: 0o700 })
    linkOrCopy(path, name)
    prune(target)
    return true
  } catch {
    return false
  }
}

/** Moves a segment that could not be linked. Returns false if that fails too. */
export function moveDamaged(folder: string, source: string, segment: number): boolean {
  const { target, name, path } = namesOf(folder, source, segment)
  try {
    mkdirSync(target, { recursive: true, mode: 0o700 })
    renameSync(path, name)
    prune(target)
    return true
  } catch {
    return false
  }
}

function namesOf(folder: string, source: string, segment: number) {
  const target = join(folder, DAMAGED_FOLDER)
  const name = segmentName(segment)
  return { target, name: join(target, `${source}-${name}`), path: join(folder, source, name) }
}

function linkOrCopy(path: string, name: string): void {
  try {
    linkSync(path, name)
  } catch {
    // A file system without links.
    copyFileSync(path, name)
  }
}

function prune(folder: string): void {
  const files = readdirSync(folder)
    .map((name) => join(folder, name))
    .map((path) => ({ path, stats: statSync(path) }))
    .sort((a, b) => b.stats.ctimeMs - a.stats.ctimeMs)
  let bytes = 0
  for (const [index, { path, stats }] of files.entries()) {
    bytes += stats.size
    if (index > 0 && (index >= FILES_MAX || bytes > BYTES_MAX)) rmSync(path, { recursive: true, force: true })
  }
}

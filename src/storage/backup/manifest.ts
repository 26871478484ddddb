/**
 * `backup.json`: the list of files in a backup, so that a restore detects a changed, missing or additional file.
 *
 * The manifest is written last; a folder without it is not a backup.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { StartRefused, toStartRefused } from '../../foundation/runtime/start-refused.ts'
import type { SpoolPosition } from '../store/checkpoint.ts'
import { isPlain, isStoreLink } from './inside.ts'

export const MANIFEST_NAME = 'backup.json'
const FORMAT = 1

export type BackupFile =
  | { readonly path: string; readonly bytes: number; readonly sha256: string }
  /** A symbolic link of the embedded store. */
  | { readonly path: string; readonly link: string }

export interface Manifest {
  readonly format: typeof FORMAT
  /** Version of tollgate that wrote it. */
  readonly version: string
  /** Point in time of the copy, ISO 8601. */
  readonly at: string
  readonly dataDir: string
  readonly wasRunning: boolean
  /** False: the service gets its key from `MASTER_KEY`, and the copy cannot be used without that key. */
  readonly hasMasterKey: boolean
  /** Address of the external ClickHouse server, which the copy does not include; null: the copy includes the store. */
  readonly server: string | null
  readonly checkpoint: {
    readonly instance: string
    /** Number of committed flushes. */
    readonly flushes: number
    readonly position: SpoolPosition
    /** True: a kill interrupted a flush, and the restored service finishes it. */
    readonly isFlushPending: boolean
  }
  /** End of the spool in the copy. */
  readonly spoolEnd: SpoolPosition
  /** Numbers of calls, without the platform's own API. Their sum is the bill of the restored service. */
  readonly calls: {
    /** Calls in the line items of the store; null: an external store that was not queried. */
    readonly stored: number | null
    /** Calls in the spool after the checkpoint; the restored service bills them when it starts. */
    readonly inSpool: number
  }
  readonly files: readonly BackupFile[]
}

/** Reads and validates the manifest. Throws `StartRefused` if the folder is not a backup that this version can restore. */
export function readManifest(folder: string): Manifest {
  const path = join(folder, MANIFEST_NAME)
  const manifest = parse(path)
  const { format } = manifest
  if (typeof format === 'number' && format > FORMAT) {
    throw new StartRefused(`${path} was written by a later version of tollgate; restore it with that version`)
  }
  if (!isManifest(manifest)) throw new StartRefused(`${path} is not the manifest of a backup; use another backup`)
  refuseHostile(path, manifest.files)
  return manifest
}

function parse(path: string): Partial<Manifest> {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') {
      throw new StartRefused(`${path} does not exist: the folder is not a backup, or the backup was not finished`, {
        cause,
      })
    }
    const refused = toStartRefused(path, cause)
    if (refused instanceof StartRefused) throw refused
    throw new StartRefused(`${path} is damaged (${refused.message}); use another backup`, { cause })
  }
  try {
    const value: unknown = JSON.parse(text)
    if (isObject(value)) return value
  } catch (cause) {
    throw new StartRefused(`${path} is damaged (not JSON); use another backup`, { cause })
  }
  throw new StartRefused(`${path} is damaged (not a JSON object); use another backup`)
}

function isManifest(value: Partial<Manifest>): value is Manifest {
  const { format, version, at, dataDir, wasRunning, hasMasterKey, server, checkpoint, spoolEnd, calls, files } = value
  return (
    format === FORMAT &&
    [version, at, dataDir].every((text) => typeof text === 'string') &&
    [wasRunning, hasMasterKey].every((flag) => typeof flag === 'boolean') &&
    (server === null || typeof server === 'string') &&
    isObject(checkpoint) &&
    isObject(spoolEnd) &&
    isObject(calls) &&
    (calls.stored === null || isCount(calls.stored)) &&
    isCount(calls.inSpool) &&
    Array.isArray(files) &&
    files.every(isFile)
  )
}

function isFile(value: unknown): value is BackupFile {
  if (!isObject(value) || typeof value['path'] !== 'string') return false
  const { link, bytes, sha256 } = value
  return 'link' in value ? typeof link === 'string' : isCount(bytes) && typeof sha256 === 'string'
}

/** Rejects paths that leave the backup: the manifest is not signed, so a forged one must not reach other files. */
function refuseHostile(path: string, files: readonly BackupFile[]): void {
  const seen = new Set<string>()
  for (const file of files) {
    if (!isPlain(file.path)) {
      throw new StartRefused(
        `${path} lists a file outside of the backup (${JSON.stringify(file.path)}); use another backup`,
      )
    }
    if ('link' in file && !isStoreLink(file.path, file.link)) {
      throw new StartRefused(
        `${path} lists a link that points outside of the store (${JSON.stringify(file.path)}); use another backup`,
      )
    }
    if (seen.has(file.path)) throw new StartRefused(`${path} lists ${file.path} twice; use another backup`)
    seen.add(file.path)
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

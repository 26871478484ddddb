/**
 * `backup.json`: what a backup holds, so that a changed, missing or additional file is found before anything is restored.
 *
 * It is written last; a folder without it is no backup.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { StartRefused, toStartRefused } from '../runtime/start-refused.ts'
import type { SpoolPosition } from '../store/checkpoint.ts'
import { isPlain, isStoreLink } from './inside.ts'

export const MANIFEST_NAME = 'backup.json'
const FORMAT = 1

export type BackupFile =
  | { readonly path: string; readonly bytes: number; readonly sha256: string }
  /** A symbolic link, as the store's folder has them. */
  | { readonly path: string; readonly link: string }

export interface Manifest {
  readonly format: typeof FORMAT
  /** Version of tollgate that wrote it. */
  readonly version: string
  /** The moment that the copy stands for, ISO 8601. */
  readonly at: string
  readonly dataDir: string
  readonly wasRunning: boolean
  /** False: the service gets its master key from `MASTER_KEY`; the copy cannot be used without it. */
  readonly hasMasterKey: boolean
  /** Address of the ClickHouse server that holds the bill, which is not part of the copy; null: the store is in the copy. */
  readonly server: string | null
  readonly checkpoint: {
    readonly instance: string
    /** Flushes that were committed. */
    readonly flushes: number
    readonly position: SpoolPosition
    /** A flush was cut off by a kill; the restored service finishes it. */
    readonly isFlushPending: boolean
  }
  /** Where the spool ends in the copy. */
  readonly spoolEnd: SpoolPosition
  /** Without those of the platform's own API: their sum is the bill of the restored service. */
  readonly calls: {
    /** In the line items of the store; null: it is elsewhere, and was not asked. */
    readonly stored: number | null
    /** In the spool, after the checkpoint: the restored service bills them when it starts. */
    readonly inSpool: number
  }
  readonly files: readonly BackupFile[]
}

/** Throws `StartRefused` if the folder is no backup, one of a later version, or one that names what is not in it. */
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

/** A manifest is not signed: whoever made it must not get at files outside of the folder that is restored. */
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

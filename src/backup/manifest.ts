/**
 * `backup.json`: what a backup holds, so that a changed, missing or additional file is found before anything is restored.
 *
 * It is written last; a folder without it is no backup.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { StartRefused, toStartRefused } from '../runtime/start-refused.ts'
import type { SpoolPosition } from '../store/checkpoint.ts'

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

/** Throws `StartRefused` if the folder is no backup, or one of a later version. */
export function readManifest(folder: string): Manifest {
  const path = join(folder, MANIFEST_NAME)
  const manifest = parse(path)
  const { format } = manifest
  if (format === FORMAT && Array.isArray(manifest.files)) return manifest
  if (typeof format === 'number' && format > FORMAT) {
    throw new StartRefused(`${path} was written by a later version of tollgate; restore it with that one`)
  }
  throw new StartRefused(`${path} is not the manifest of a backup; use another backup`)
}

function parse(path: string): Manifest {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') {
      throw new StartRefused(`${path} does not exist: the folder is no backup, or one that was not finished`, { cause })
    }
    throw toStartRefused(path, cause)
  }
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value as Manifest
  } catch (cause) {
    throw new StartRefused(`${path} is damaged (not JSON); use another backup`, { cause })
  }
  throw new StartRefused(`${path} is damaged (no object); use another backup`)
}

/**
 * `folder.json`: marks a data folder as complete and names the checkpoint that belongs to it.
 *
 * The first start writes it after it has created every part. A folder without a manifest was created by an earlier version, or its
 * first start was interrupted. An unreadable manifest counts as missing.
 */

import { createHash } from 'node:crypto'
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { LOSS_PARTS, type LossPart } from '../../foundation/runtime/accept-loss.ts'

export interface FolderManifest {
  /** Instance of the checkpoint. */
  readonly instance: string
  /** True if the store is embedded, in `clickhouse/`. */
  readonly isEmbedded: boolean
  /** Parts whose loss `tollgate recover` accepted since the last start. */
  readonly accepted: readonly LossPart[]
}

const MANIFEST_FILE = 'folder.json'
const VERSION = 1

/** Null: missing or unreadable. */
export function readManifest(dataDir: string): FolderManifest | null {
  try {
    const { checksum, ...fields } = JSON.parse(readFileSync(join(dataDir, MANIFEST_FILE), 'utf8')) as Record<
      string,
      unknown
    >
    const { version, instance, embedded, accepted } = fields
    if (checksum !== checksumOf(fields) || version !== VERSION || typeof instance !== 'string') return null
    const parts = Array.isArray(accepted) ? accepted : []
    return { instance, isEmbedded: embedded === true, accepted: LOSS_PARTS.filter((part) => parts.includes(part)) }
  } catch {
    return null
  }
}

/** Replaces the manifest atomically: after a crash the file is either the old one or the new one. */
export function writeManifest(dataDir: string, { instance, isEmbedded, accepted }: FolderManifest): void {
  const fields = { version: VERSION, instance, embedded: isEmbedded, accepted }
  const path = join(dataDir, MANIFEST_FILE)
  const draft = `${path}.new`
  writeFileSync(draft, `${JSON.stringify({ ...fields, checksum: checksumOf(fields) })}\n`, { mode: 0o600, flush: true })
  renameSync(draft, path)
  const folder = openSync(dataDir, 'r')
  fsyncSync(folder)
  closeSync(folder)
}

function checksumOf(fields: object): string {
  return createHash('sha256').update(JSON.stringify(fields)).digest('hex').slice(0, 16)
}

/**
 * Detects parts of a data folder that were lost.
 *
 * A first start creates the parts in a fixed order, so an interrupted first start leaves a prefix of them and no manifest; the next
 * start continues. A part that is missing although a later one exists was lost. In a folder with a manifest, every part must exist.
 */

import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { acceptLossCommand, type LossPart } from '../../foundation/runtime/accept-loss.ts'
import { StartRefused } from '../../foundation/runtime/start-refused.ts'
import { readManifest, writeManifest, type FolderManifest } from './folder-manifest.ts'

export interface FolderOptions {
  readonly dataDir: string
  /** True if the `MASTER_KEY` setting provides the master key. */
  readonly hasMasterKey: boolean
  readonly isEmbedded: boolean
  /** True if the registry is in PostgreSQL. */
  readonly isRegistryShared?: boolean
  /** Parts whose loss this command accepts. */
  readonly accepts?: ReadonlySet<LossPart>
}

export interface DataFolder {
  /** True if no part exists. */
  readonly isEmpty: boolean
  readonly manifest: FolderManifest | null
  isAccepted(part: LossPart): boolean
  /** Writes the manifest after all parts were opened and compared. */
  complete(instance: string): void
}

interface Part {
  readonly name: string
  readonly isThere: boolean
  readonly loses: string
  readonly lossPart: LossPart
}

/** Throws `StartRefused`. */
export function inspectFolder(options: FolderOptions): DataFolder {
  const { dataDir, isEmbedded, accepts } = options
  const manifest = readManifest(dataDir)
  const isAccepted = (part: LossPart): boolean =>
    accepts?.has(part) === true || (manifest?.accepted.includes(part) ?? false)
  const parts = partsOf(options)
  const last = parts.findLastIndex(({ isThere }) => isThere)
  const lost = parts.find(
    ({ isThere, lossPart }, index) => !isThere && !isAccepted(lossPart) && (manifest !== null || index < last),
  )
  if (lost !== undefined) throw new StartRefused(sentenceOf(lost, dataDir))
  return {
    isEmpty: last < 0,
    manifest,
    isAccepted,
    complete(instance) {
      const isSame =
        manifest?.instance === instance && manifest.isEmbedded === isEmbedded && manifest.accepted.length === 0
      if (!isSame) writeManifest(dataDir, { instance, isEmbedded, accepted: [] })
    },
  }
}

/** Lists the parts in the order in which a first start creates them. */
function partsOf({ dataDir, hasMasterKey, isEmbedded, isRegistryShared = false }: FolderOptions): readonly Part[] {
  const file = (name: string): boolean => sizeOf(join(dataDir, name)) > 0
  const parts: Part[] = [
    {
      name: 'master.key',
      isThere: file('master.key'),
      loses: 'the secrets in registry.db cannot be read',
      lossPart: 'registry',
    },
    {
      name: 'registry.db',
      isThere: file('registry.db'),
      loses: 'it holds all configuration',
      lossPart: 'registry',
    },
    {
      name: 'clickhouse/',
      isThere: isFilled(join(dataDir, 'clickhouse')),
      loses: 'it holds the bill',
      lossPart: 'store',
    },
    {
      name: 'checkpoint.db',
      isThere: file('checkpoint.db'),
      loses: 'it records which calls in the spool were billed',
      lossPart: 'checkpoint',
    },
    {
      name: 'spool/',
      isThere: existsSync(join(dataDir, 'spool')),
      loses: 'it holds calls that were not billed yet',
      lossPart: 'spool',
    },
  ]
  const elsewhere = new Map([
    ['master.key', hasMasterKey],
    ['registry.db', isRegistryShared],
    ['clickhouse/', !isEmbedded],
  ])
  return parts.filter(({ name }) => elsewhere.get(name) !== true)
}

function sentenceOf({ name, loses, lossPart }: Part, dataDir: string): string {
  const remedy = name === 'master.key' ? 'put it back, set MASTER_KEY' : 'put it back from a backup'
  return `${name} is missing or empty in DATA_DIR ${dataDir}, but other parts exist: ${loses}; ${remedy}, or ${acceptLossCommand(lossPart, dataDir)}`
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

function isFilled(folder: string): boolean {
  return existsSync(folder) && statSync(folder).isDirectory() && readdirSync(folder).length > 0
}

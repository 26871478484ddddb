/** One fault of the files of a data folder, chosen by a seed and applied to a copy. */

import {
  cpSync,
  existsSync,
  lstatSync,
  openSync,
  closeSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import type { Random } from '../../random.ts'

/** Targets of a fault. Each is equally likely, whatever its number of files. */
const GROUPS: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['spool', /^spool\//],
  ['checkpoint', /^checkpoint\./],
  ['registry', /^registry\./],
  ['idempotency', /^idempotency\./],
  ['store data', /^clickhouse\/store\/.*\/(?!format_version|detached)[^/]*_[^/]*\//],
  ['store metadata', /^clickhouse\/(?:metadata\/|.*\.sql$)/],
  ['store rest', /^clickhouse\//],
  ['other files', /^(?:lock|master\.key|running|[^/]+\.mark|[^/]+\.json)/],
]
/** Small files of the embedded store that describe its data. Each name is equally likely. */
const STORE_METADATA = /^clickhouse\/.*(?:\.sql|\.txt|\.json|\.dat|minmax_\w+\.idx)$/
/** Files that an operator restores or loses together. */
const SETS: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['checkpoint with its log', /^checkpoint\./],
  ['checkpoint without its log', /^checkpoint\.db$/],
  ['log of the checkpoint', /^checkpoint\.db-wal$/],
  ['registry with its log', /^registry\./],
  ['registry without its log', /^registry\.db$/],
  ['log of the registry', /^registry\.db-wal$/],
  ['all logs of SQLite', /\.db-(?:wal|shm)$/],
  ['spool', /^spool\//],
  ['store', /^clickhouse\//],
  ['marks', /\.mark$/],
]
/** Parts of which an operator may put back the earlier state. */
const PARTS: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['checkpoint', /^checkpoint\.db/],
  ['mark of the checkpoint', /^checkpoint\.mark$/],
  ['registry', /^registry\.db/],
  ['mark of the registry', /^registry\.mark$/],
  ['spool', /^spool\//],
  ['store', /^clickhouse\//],
]
/** Mixtures of parts of two states: neither the whole newer state nor the whole earlier one. */
export const MIXTURES: readonly number[] = Array.from({ length: 2 ** PARTS.length - 2 }, (_, index) => index + 1)
const KINDS = ['truncate', 'cut the end', 'flip bits', 'remove', 'empty', 'garbage', 'zeros', 'old version'] as const

export type DamageTarget = 'any' | 'store-metadata'

/** Applies a fault to `dataDir`. Returns its description, or null if the fault changes nothing in this folder. */
export function applyDamage(random: Random, dataDir: string, oldDir: string, target: DamageTarget): string | null {
  if (target === 'store-metadata') return damageMetadata(random, dataDir, oldDir)
  return random.next() < 0.3 ? damageSet(random, dataDir, oldDir) : damageFile(random, dataDir, oldDir)
}

/** Puts back the earlier state of the parts whose bits are set. Returns their names. */
export function mix(mixture: number, dataDir: string, oldDir: string): string {
  const old = PARTS.filter((_, index) => (mixture & (1 << index)) !== 0)
  for (const [, pattern] of old) putBack(pattern, dataDir, oldDir)
  return `old: ${old.map(([name]) => name).join(', ')}`
}

function putBack(pattern: RegExp, dataDir: string, oldDir: string): void {
  for (const path of filesOf(dataDir)) if (pattern.test(path)) rmSync(join(dataDir, path))
  for (const path of filesOf(oldDir)) if (pattern.test(path)) restore(path, dataDir, oldDir)
}

function damageSet(random: Random, dataDir: string, oldDir: string): string | null {
  const [name, pattern] = SETS[random.below(SETS.length)]!
  const files = filesOf(dataDir).filter((path) => pattern.test(path))
  if (files.length === 0) return null
  const way = (['remove', 'empty', 'old version'] as const)[random.below(3)]!
  if (way === 'empty') for (const path of files) truncateSync(join(dataDir, path))
  else {
    for (const path of files) rmSync(join(dataDir, path))
    if (way === 'remove' && random.below(2) === 0) removeFolders(dataDir, name)
    const old = filesOf(oldDir).filter((path) => pattern.test(path))
    if (way === 'old version') for (const path of old) restore(path, dataDir, oldDir)
  }
  return `${way}: ${name}`
}

function removeFolders(dataDir: string, name: string): void {
  const folder = { spool: 'spool', store: 'clickhouse' }[name]
  if (folder !== undefined) rmSync(join(dataDir, folder), { recursive: true, force: true })
}

function damageMetadata(random: Random, dataDir: string, oldDir: string): string | null {
  const files = filesOf(dataDir).filter((path) => STORE_METADATA.test(path))
  const names = [...new Set(files.map((path) => basename(path)))].sort()
  const name = names[random.below(names.length)]!
  return damageOneOf(
    files.filter((path) => basename(path) === name),
    random,
    dataDir,
    oldDir,
  )
}

function damageFile(random: Random, dataDir: string, oldDir: string): string | null {
  const [, pattern] = GROUPS[random.below(GROUPS.length)]!
  const files = filesOf(dataDir).filter((path) => pattern.test(path))
  return damageOneOf(files, random, dataDir, oldDir)
}

function damageOneOf(files: readonly string[], random: Random, dataDir: string, oldDir: string): string | null {
  const path = files[random.below(files.length)]
  if (path === undefined) return null
  const kind = KINDS[random.below(KINDS.length)]!
  const file = join(dataDir, path)
  const { size } = statSync(file)
  const at = size === 0 ? 0 : random.below(size)
  switch (kind) {
    case 'remove':
      rmSync(file)
      break
    case 'old version':
      rmSync(file)
      if (existsSync(join(oldDir, path))) restore(path, dataDir, oldDir)
      break
    case 'empty':
      if (size === 0) return null
      truncateSync(file)
      break
    case 'truncate':
      if (size === 0) return null
      truncateSync(file, at)
      break
    case 'cut the end':
      if (size === 0) return null
      truncateSync(file, size - 1 - random.below(Math.min(size, 64)))
      break
    case 'flip bits':
      if (size === 0) return null
      for (let flips = 1 + random.below(3); flips > 0; flips--) flip(file, random.below(size), random.below(8))
      break
    case 'garbage':
    case 'zeros':
      overwrite(file, at, 1 + random.below(8_192), kind === 'zeros' ? () => 0 : () => random.below(256))
  }
  return `${kind}: ${path} at ${at} of ${size}`
}

function restore(path: string, dataDir: string, oldDir: string): void {
  cpSync(join(oldDir, path), join(dataDir, path), { preserveTimestamps: true })
}

function flip(path: string, at: number, bit: number): void {
  const file = openSync(path, 'r+')
  const byte = Buffer.alloc(1)
  readSync(file, byte, 0, 1, at)
  byte[0]! ^= 1 << bit
  writeSync(file, byte, 0, 1, at)
  closeSync(file)
}

function overwrite(path: string, at: number, length: number, byte: () => number): void {
  if (lstatSync(path).size === 0) return writeFileSync(path, Buffer.from(Array.from({ length }, byte)))
  const file = openSync(path, 'r+')
  writeSync(file, Buffer.from(Array.from({ length }, byte)), 0, length, at)
  closeSync(file)
}

/** Regular files below `folder`, by path relative to it, in a stable order. Does not follow links, which ClickHouse creates. */
function filesOf(folder: string, within = ''): string[] {
  const entries = readdirSync(join(folder, within), { withFileTypes: true })
  return entries
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(within, entry.name)
      if (entry.isDirectory()) return filesOf(folder, path)
      return entry.isFile() ? [path] : []
    })
}

/** Copies a folder including the links of ClickHouse. */
export function copyFolder(from: string, to: string): void {
  rmSync(to, { recursive: true, force: true })
  cpSync(from, to, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true })
}

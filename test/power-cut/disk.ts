/**
 * A simulated disk that loses and reorders unsynced writes, over a recording of a process.
 *
 * `advance` moves the moment of the power cut forward; `cut` draws one possible state of the disk after it. Everything that a
 * completed `fsync` or `fdatasync` covers is on disk; any part of the rest may be, in any order, with torn sectors. A rename is atomic.
 * Two kinds of file system:
 *
 * - `ordered`, like ext4 with `data=ordered`: changes of folders reach the disk in order, and a sync that includes a change of a
 *   folder or of a file size includes all earlier ones. A file grows only over data that is on disk.
 * - `strict`, the minimum of POSIX: the entries of a folder are safe only after an `fsync` of that folder, and unsynced ones survive
 *   in any combination. A file may have grown with zeros in place of its data.
 */

import type { Random } from '../random.ts'
import { ROOT, type Recording, type Step } from './recording.ts'

export const FILE_SYSTEMS = ['ordered', 'strict'] as const
export type FileSystem = (typeof FILE_SYSTEMS)[number]

/** Files by their path below the recorded folder; a folder is `null`. */
export type Tree = ReadonlyMap<string, Buffer | null>

export interface Disk {
  /** Advances to the moment before `step`. Never goes back. */
  advance(step: number): void
  cut(kind: FileSystem, random: Random): Tree
}

type Change = Extract<Step, { kind: 'write' | 'truncate' }>
type Entry = Extract<Step, { kind: 'link' | 'unlink' | 'rename' }>
type Folders = Map<number, Map<string, number>>

interface File {
  /** Changes that are certainly on disk. */
  bytes: Buffer
  size: number
  unsynced: { readonly at: number; readonly change: Change }[]
}

/** Chooses which unsynced changes of a file are on disk. */
const SURVIVALS = ['none', 'all', 'prefix', 'subset', 'sectors'] as const
type Survival = (typeof SURVIVALS)[number]

export function createDisk({ steps, initial }: Recording): Disk {
  const files = new Map<number, File>()
  const folders: Record<FileSystem, Folders> = { ordered: new Map(), strict: new Map() }
  const pending: Record<FileSystem, { readonly at: number; readonly entry: Entry }[]> = { ordered: [], strict: [] }
  const isFolder = new Set(folderInodes(steps, initial))
  let now = 0

  for (const [inode, node] of initial) {
    if ('bytes' in node) files.set(inode, { bytes: Buffer.from(node.bytes), size: node.bytes.length, unsynced: [] })
    else for (const kind of FILE_SYSTEMS) folders[kind].set(inode, new Map(node.entries))
  }

  function fileOf(inode: number): File {
    let file = files.get(inode)
    if (file === undefined) files.set(inode, (file = { bytes: Buffer.alloc(0), size: 0, unsynced: [] }))
    return file
  }

  function advance(to: number): void {
    for (; now < to; now++) {
      const step = steps[now]!
      if (step.kind === 'write' || step.kind === 'truncate') {
        fileOf(step.inode).unsynced.push({ at: now, change: step })
      } else if (step.kind === 'synced') sync(step)
      else if (step.kind !== 'printed') {
        pending.ordered.push({ at: now, entry: step })
        pending.strict.push({ at: now, entry: step })
      }
    }
  }

  function sync({ inode, since, isDataOnly }: Extract<Step, { kind: 'synced' }>): void {
    const file = files.get(inode)
    let isJournalled = !isDataOnly
    if (file !== undefined) {
      const before = file.size
      const covered = file.unsynced.filter(({ at }) => at < since)
      for (const { change } of covered) applyChange(file, change)
      file.unsynced = file.unsynced.filter(({ at }) => at >= since)
      isJournalled ||= file.size !== before
    }
    if (isJournalled || pending.ordered.some(({ entry }) => entry.kind === 'link' && entry.inode === inode)) {
      settle('ordered', ({ at }) => at < since)
    }
    settle('strict', ({ at, entry }) => at < since && isIn(entry, inode))
  }

  function settle(kind: FileSystem, isSettled: (one: { at: number; entry: Entry }) => boolean): void {
    for (const one of pending[kind]) if (isSettled(one)) applyEntry(folders[kind], one.entry)
    pending[kind] = pending[kind].filter((one) => !isSettled(one))
  }

  function cut(kind: FileSystem, random: Random): Tree {
    const entries: Folders = new Map([...folders[kind]].map(([dir, names]) => [dir, new Map(names)]))
    for (const { entry } of surviving(pending[kind], kind, random)) applyEntry(entries, entry)
    const sector = random.below(2) === 0 ? 512 : 4096
    // Usually one behaviour for the whole disk, sometimes one per file.
    const common = random.below(3) > 0 ? SURVIVALS[random.below(SURVIVALS.length)]! : null
    const tree = new Map<string, Buffer | null>()
    const visit = (dir: number, path: string): void => {
      for (const [name, inode] of [...(entries.get(dir) ?? [])].sort(([a], [b]) => (a < b ? -1 : 1))) {
        const below = `${path}${name}`
        const file = files.get(inode)
        if (file === undefined) {
          tree.set(below, isFolder.has(inode) ? null : Buffer.alloc(0))
          visit(inode, `${below}/`)
        } else {
          const survival = common ?? SURVIVALS[random.below(SURVIVALS.length)]!
          tree.set(below, contentOf(file, { survival, sector, mayGrow: kind === 'strict', random }))
        }
      }
    }
    visit(ROOT, '')
    return tree
  }

  return { advance, cut }
}

function* folderInodes(steps: readonly Step[], initial: Recording['initial']): Iterable<number> {
  for (const [inode, node] of initial) if ('entries' in node) yield inode
  for (const step of steps) if (step.kind === 'link' && step.isFolder) yield step.inode
}

function surviving<T>(pending: readonly T[], kind: FileSystem, random: Random): readonly T[] {
  const prefix = pending.slice(0, random.below(pending.length + 1))
  if (kind === 'ordered') return prefix
  switch (random.below(4)) {
    case 0:
      return []
    case 1:
      return pending
    case 2:
      return prefix
    default:
      return pending.filter(() => random.below(2) === 0)
  }
}

const isIn = (entry: Entry, dir: number): boolean =>
  entry.dir === dir || (entry.kind === 'rename' && entry.toDir === dir)

function applyEntry(folders: Folders, entry: Entry): void {
  const names = namesIn(folders, entry.dir)
  if (entry.kind === 'link') names.set(entry.name, entry.inode)
  else if (entry.kind === 'unlink') names.delete(entry.name)
  else {
    names.delete(entry.from)
    namesIn(folders, entry.toDir).set(entry.to, entry.inode)
  }
}

function namesIn(folders: Folders, dir: number): Map<string, number> {
  let names = folders.get(dir)
  if (names === undefined) folders.set(dir, (names = new Map()))
  return names
}

interface Loss {
  readonly survival: Survival
  readonly sector: number
  readonly mayGrow: boolean
  readonly random: Random
}

function contentOf(file: File, { survival, sector, mayGrow, random }: Loss): Buffer {
  const result = { bytes: Buffer.from(file.bytes.subarray(0, file.size)), size: file.size }
  const changes = file.unsynced.map(({ change }) => change)
  for (const change of chosen(changes, survival, sector, random)) applyChange(result, change)
  const content = result.bytes.subarray(0, result.size)
  if (!mayGrow || random.below(3) > 0) return content
  const seen = sizeAfter(file.size, changes)
  if (seen <= content.length) return content
  return Buffer.concat([
    content,
    Buffer.alloc(random.below(2) === 0 ? seen - content.length : random.below(seen - content.length + 1)),
  ])
}

/** Returns the part of `changes` that reached the disk, possibly in pieces. */
function chosen(changes: readonly Change[], survival: Survival, sector: number, random: Random): readonly Change[] {
  switch (survival) {
    case 'none':
      return []
    case 'all':
      return changes
    case 'prefix': {
      const whole = random.below(changes.length + 1)
      const next = changes[whole]
      return next?.kind === 'write'
        ? [...changes.slice(0, whole), ...firstSectors(next, sector, random)]
        : changes.slice(0, whole)
    }
    case 'subset':
      return changes.filter(() => random.below(2) === 0)
    case 'sectors':
      return sectorVersions(changes, sector, random)
  }
}

type Write = Extract<Change, { kind: 'write' }>

function firstSectors(write: Write, sector: number, random: Random): readonly Write[] {
  const pieces = piecesOf(write, sector)
  return pieces.slice(0, random.below(pieces.length + 1))
}

/** Each sector is on disk with its content at a different moment. */
function sectorVersions(changes: readonly Change[], sector: number, random: Random): readonly Change[] {
  const versions = new Map<number, number>()
  const versionOf = (number: number): number => {
    let version = versions.get(number)
    if (version === undefined) {
      version = [0, changes.length, random.below(changes.length + 1)][random.below(3)]!
      versions.set(number, version)
    }
    return version
  }
  return changes.flatMap((change, index): readonly Change[] => {
    if (change.kind === 'truncate') return random.below(2) === 0 ? [change] : []
    return piecesOf(change, sector).filter(({ offset }) => index < versionOf(Math.floor(offset / sector)))
  })
}

function piecesOf(write: Write, sector: number): Write[] {
  const pieces: Write[] = []
  const end = write.offset + write.data.length
  for (let from = write.offset; from < end;) {
    const to = Math.min(end, (Math.floor(from / sector) + 1) * sector)
    pieces.push({ ...write, offset: from, data: write.data.subarray(from - write.offset, to - write.offset) })
    from = to
  }
  return pieces
}

function sizeAfter(size: number, changes: readonly Change[]): number {
  return changes.reduce(
    (now, change) => (change.kind === 'truncate' ? change.size : Math.max(now, change.offset + change.data.length)),
    size,
  )
}

/** Bytes between the old end and a write, or up to a larger size, are zeros. */
function applyChange(file: { bytes: Buffer; size: number }, change: Change): void {
  const size = change.kind === 'truncate' ? change.size : Math.max(file.size, change.offset + change.data.length)
  if (size > file.bytes.length) {
    const larger = Buffer.alloc(Math.max(size, file.bytes.length * 2))
    file.bytes.copy(larger, 0, 0, file.size)
    file.bytes = larger
  }
  if (change.kind === 'write') change.data.copy(file.bytes, change.offset)
  else if (change.size < file.size) file.bytes.fill(0, change.size, file.size)
  file.size = size
}

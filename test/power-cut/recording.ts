/**
 * The changes that a process made to the files in one folder, in order, parsed from the output of strace.
 *
 * A trace contains one process, because threads share one table of descriptors. Several traces of the same folder form one
 * recording: `createRecording` keeps the tree between them. A system call that changes files and is not modelled here throws, so
 * that a recording is always complete.
 */

import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

export type Step =
  | { readonly kind: 'write'; readonly inode: number; readonly offset: number; readonly data: Buffer }
  | { readonly kind: 'truncate'; readonly inode: number; readonly size: number }
  | {
      readonly kind: 'link'
      readonly dir: number
      readonly name: string
      readonly inode: number
      readonly isFolder: boolean
    }
  | { readonly kind: 'unlink'; readonly dir: number; readonly name: string }
  | {
      readonly kind: 'rename'
      readonly dir: number
      readonly toDir: number
      readonly from: string
      readonly to: string
      readonly inode: number
    }
  /** `since`: steps before this one are now on disk. */
  | { readonly kind: 'synced'; readonly inode: number; readonly since: number; readonly isDataOnly: boolean }
  /** A line that the process printed: a promise from this step on. */
  | { readonly kind: 'printed'; readonly line: string }

export interface Recording {
  readonly steps: readonly Step[]
  /** The tree before the first step, all of it on disk. */
  readonly initial: ReadonlyMap<number, Node>
  /** Adds the trace of the next process. */
  addTrace(text: string): void
}

/** A file's bytes, or a folder's entries. */
export type Node = { readonly bytes: Buffer } | { readonly entries: ReadonlyMap<string, number> }

export const ROOT = 0

/** System calls to trace; `?` because not every architecture has all of them. */
export const TRACED = [
  ...['open', 'openat', 'creat', 'close', 'dup', 'dup2', 'dup3', 'lseek'],
  ...['write', 'pwrite64', 'writev', 'pwritev', 'pwritev2', 'ftruncate', 'truncate', 'fallocate'],
  ...['fsync', 'fdatasync', 'sync_file_range', 'syncfs', 'sync', 'copy_file_range', 'sendfile'],
  ...['rename', 'renameat', 'renameat2', 'link', 'linkat', 'symlink', 'symlinkat'],
  ...['unlink', 'unlinkat', 'rmdir', 'mkdir', 'mkdirat'],
].map((name) => `?${name}`)

interface Descriptor {
  readonly inode: number
  position: number
}

/** Reads the current content of `folder`, before the recorded processes start. */
export function createRecording(folder: string): Recording {
  const steps: Step[] = []
  const initial = new Map<number, Node>()
  /** Entries of each folder as the processes see them. */
  const live = new Map<number, Map<string, number>>()
  const sizes = new Map<number, number>()
  let inodes = ROOT
  load(folder, inodes++)

  function load(path: string, inode: number): void {
    const entries = new Map<string, number>()
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      const below = inodes++
      entries.set(entry.name, below)
      if (entry.isDirectory()) load(join(path, entry.name), below)
      else {
        const bytes = readFileSync(join(path, entry.name))
        initial.set(below, { bytes })
        sizes.set(below, bytes.length)
      }
    }
    initial.set(inode, { entries: new Map(entries) })
    live.set(inode, entries)
  }

  /** Returns the inode of a path in the folder; null if there is none, undefined if the path is outside. */
  function find(path: string): number | null | undefined {
    if (path === folder) return ROOT
    if (!path.startsWith(`${folder}/`)) return undefined
    let inode: number | undefined = ROOT
    for (const name of path.slice(folder.length + 1).split('/')) {
      inode = live.get(inode)?.get(name)
      if (inode === undefined) return null
    }
    return inode
  }

  function placeOf(path: string): { dir: number; name: string; entries: Map<string, number> } {
    const dir = find(dirname(path))
    const entries = typeof dir === 'number' ? live.get(dir) : undefined
    if (typeof dir !== 'number' || entries === undefined) throw new Error(`the trace names no known folder: ${path}`)
    return { dir, name: basename(path), entries }
  }

  function make(path: string, isFolder: boolean): number {
    const { dir, name, entries } = placeOf(path)
    const inode = inodes++
    entries.set(name, inode)
    if (isFolder) live.set(inode, new Map())
    else sizes.set(inode, 0)
    steps.push({ kind: 'link', dir, name, inode, isFolder })
    return inode
  }

  function link(from: string, to: string): void {
    const { dir, name, entries } = placeOf(to)
    const inode = find(from)
    if (typeof inode !== 'number') throw new Error(`the trace links an unknown file: ${from}`)
    entries.set(name, inode)
    steps.push({ kind: 'link', dir, name, inode, isFolder: false })
  }

  function remove(path: string): void {
    const { dir, name, entries } = placeOf(path)
    entries.delete(name)
    steps.push({ kind: 'unlink', dir, name })
  }

  function rename(from: string, to: string): void {
    const [source, target] = [placeOf(from), placeOf(to)]
    const inode = source.entries.get(source.name)
    if (inode === undefined) throw new Error(`the trace renames an unknown file: ${from}`)
    source.entries.delete(source.name)
    source.entries.set(target.name, inode)
    steps.push({
      kind: 'rename',
      dir: source.dir,
      toDir: target.dir,
      from: source.name,
      to: target.name,
      inode,
    })
  }

  function write(inode: number, offset: number, data: Buffer): void {
    if (data.length === 0) return
    sizes.set(inode, Math.max(sizes.get(inode) ?? 0, offset + data.length))
    steps.push({ kind: 'write', inode, offset, data })
  }

  function truncate(inode: number, size: number): void {
    if (sizes.get(inode) === size) return
    sizes.set(inode, size)
    steps.push({ kind: 'truncate', inode, size })
  }

  function addTrace(text: string): void {
    const descriptors = new Map<number, Descriptor>()
    const unfinished = new Map<string, { text: string; since: number }>()
    let printed = ''

    for (const line of text.split('\n')) {
      const [, thread, rest] = /^(\d+) +(.*)$/.exec(line) ?? []
      if (thread === undefined || rest === undefined) continue
      if (rest.endsWith(' <unfinished ...>')) {
        unfinished.set(thread, { text: rest.slice(0, -' <unfinished ...>'.length), since: steps.length })
        continue
      }
      const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest)
      const begun = resumed === null ? undefined : unfinished.get(thread)
      if (resumed !== null) unfinished.delete(thread)
      const call = parseCall(begun === undefined ? rest : begun.text + resumed![1])
      if (call !== null) apply(call, begun?.since ?? steps.length)
    }

    function apply({ name, strings, numbers, text: args, result }: Call, since: number): void {
      if (result < 0) return
      const [path = '', to = ''] = strings
      const file = descriptors.get(numbers[0] ?? -1)
      switch (name) {
        case 'open':
        case 'openat':
        case 'creat':
          return open(path, args, result)
        case 'close':
          return void descriptors.delete(numbers[0] ?? -1)
        case 'lseek':
          if (file !== undefined) file.position = result
          return
        case 'write':
        case 'writev': {
          const data = bytesOf(args).subarray(0, result)
          if (numbers[0] === 1) return print(data.toString('utf8'))
          if (file === undefined) return
          write(file.inode, file.position, data)
          file.position += result
          return
        }
        case 'pwrite64':
        case 'pwritev':
          if (file !== undefined) write(file.inode, numbers.at(-1)!, bytesOf(args).subarray(0, result))
          return
        case 'ftruncate':
          return file === undefined ? undefined : truncate(file.inode, numbers[1]!)
        case 'truncate': {
          const inode = find(path)
          return typeof inode === 'number' ? truncate(inode, numbers.at(-1)!) : undefined
        }
        case 'fsync':
        case 'fdatasync':
          if (file === undefined) return
          return void steps.push({ kind: 'synced', inode: file.inode, since, isDataOnly: name === 'fdatasync' })
        case 'rename':
        case 'renameat':
        case 'renameat2':
          return find(path) === undefined && find(to) === undefined ? undefined : rename(path, to)
        case 'link':
        case 'linkat':
          return find(path) === undefined && find(to) === undefined ? undefined : link(path, to)
        case 'unlink':
        case 'unlinkat':
        case 'rmdir':
          return find(path) === undefined ? undefined : remove(path)
        case 'mkdir':
        case 'mkdirat':
          return find(path) === undefined ? undefined : void make(path, true)
        default:
          if (strings.some((each) => find(each) !== undefined) || numbers.some((each) => descriptors.has(each))) {
            throw new Error(`${name} is not modelled`)
          }
      }
    }

    function open(path: string, args: string, descriptor: number): void {
      descriptors.delete(descriptor)
      const found = find(path)
      if (found === undefined) return
      if (args.includes('O_APPEND')) throw new Error(`O_APPEND is not modelled: ${path}`)
      const inode = found ?? make(path, false)
      if (found !== null && args.includes('O_TRUNC')) truncate(inode, 0)
      descriptors.set(descriptor, { inode, position: 0 })
    }

    function print(text: string): void {
      const lines = (printed + text).split('\n')
      printed = lines.pop()!
      for (const line of lines) steps.push({ kind: 'printed', line })
    }
  }

  return { steps, initial, addTrace }
}

interface Call {
  readonly name: string
  /** Arguments as strace prints them. */
  readonly text: string
  readonly strings: readonly string[]
  /** Numbers among the arguments, without those in strings. */
  readonly numbers: readonly number[]
  readonly result: number
}

const STRING = /"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?/g

function parseCall(text: string): Call | null {
  const open = text.indexOf('(')
  const end = text.lastIndexOf(') ')
  if (open < 0 || end < open) return null
  const name = text.slice(0, open)
  const result = /^\) += (-?\d+)/.exec(text.slice(end))
  if (result === null) return null
  const args = text.slice(open + 1, end)
  const isData = name.includes('write')
  const strings = isData ? [] : [...args.matchAll(STRING)].map(([, hex]) => toBytes(hex!).toString('utf8'))
  const numbers = args
    .replace(STRING, '')
    .split(/[,\s]+/)
    .filter((each) => /^\d+$/.test(each))
    .map(Number)
  return { name, text: args, strings, numbers, result: Number(result[1]) }
}

function bytesOf(args: string): Buffer {
  return Buffer.concat(
    [...args.matchAll(STRING)].map(([, hex, more]) => {
      if (more !== undefined) throw new Error('strace cut off what was written')
      return toBytes(hex!)
    }),
  )
}

function toBytes(text: string): Buffer {
  return Buffer.from(text.replaceAll('\\x', ''), 'hex')
}

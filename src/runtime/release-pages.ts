/**
 * Unmaps the pages of Node and of the embedded engine that only the start needed.
 *
 * The dynamic linker and static constructors read some 250 MB of the two files, which stay resident. The pages are unchanged copies
 * of the files, so the kernel maps each one again on its next use, from its cache. Node has no function for that; its foreign
 * function interface, which is experimental, calls `madvise`. Without it nothing happens, and the service works the same.
 */

import { readFileSync, readlinkSync } from 'node:fs'

type ForeignFunctions = typeof import('node:ffi')

/** A range of addresses whose resident pages are all unchanged pages of a file. */
export interface CleanRange {
  readonly start: bigint
  readonly bytes: bigint
  readonly residentBytes: number
}

const MADVISE = { arguments: ['uint64', 'uint64', 'int32'], return: 'int32' } as const
const MADV_DONTNEED = 4
const KIB = 1_024
/** Smaller ranges are those of helper libraries. */
const RESIDENT_BYTES_MIN = KIB * KIB
const RANGE = /^([0-9a-f]+)-([0-9a-f]+) (\S{4}) \S+ \S+ \d+ +(\/.*)$/

/** Returns the number of bytes that were resident in the unmapped ranges; null if this Node or system cannot unmap them. */
export function releasePages(load = loadForeignFunctions): number | null {
  try {
    const library = load()?.dlopen(null, { madvise: MADVISE })
    if (library === undefined) return null
    const { madvise } = library.functions
    const ranges = cleanRanges(readFileSync('/proc/self/smaps', 'utf8'), readlinkSync('/proc/self/exe'))
    const released = ranges.filter(({ start, bytes }) => madvise(start, bytes, MADV_DONTNEED) === 0)
    return released.reduce((sum, { residentBytes }) => sum + residentBytes, 0)
  } catch {
    // Another version of the interface, or a permission that is missing.
    return null
  }
}

/**
 * Returns the ranges of `smaps` that can be unmapped without a loss: private, not writable, and without a changed page. A changed
 * page, like that of a relocated address, exists only in memory.
 *
 * Only files that stay mapped until the process ends are considered: the address of another one could belong to other memory by now.
 */
export function cleanRanges(smaps: string, executable: string): readonly CleanRange[] {
  return toMappings(smaps)
    .filter(({ path }) => path === executable || path.endsWith('/libchdb.so'))
    .filter(({ permissions }) => permissions === 'r--p' || permissions === 'r-xp')
    .filter(({ changedBytes, residentBytes }) => changedBytes === 0 && residentBytes >= RESIDENT_BYTES_MIN)
    .map(({ start, bytes, residentBytes }) => ({ start, bytes, residentBytes }))
}

interface Mapping extends CleanRange {
  readonly path: string
  readonly permissions: string
  readonly changedBytes: number
}

function toMappings(smaps: string): readonly Mapping[] {
  const mappings: Mapping[] = []
  for (const lines of smaps.split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m)) {
    const [, from, to, permissions, path] = RANGE.exec(lines.slice(0, lines.indexOf('\n'))) ?? []
    if (from === undefined || to === undefined || permissions === undefined || path === undefined) continue
    const start = BigInt(`0x${from}`)
    const bytes = BigInt(`0x${to}`) - start
    const changedBytes = sizeIn(lines, 'Anonymous')
    mappings.push({ path, permissions, start, bytes, residentBytes: sizeIn(lines, 'Rss'), changedBytes })
  }
  return mappings
}

/** Infinity if the field is missing. */
function sizeIn(lines: string, field: string): number {
  const kib = new RegExp(`^${field}: +(\\d+) kB$`, 'm').exec(lines)?.[1]
  return kib === undefined ? Infinity : Number(kib) * KIB
}

/** Without the warning that the interface is experimental: nobody who starts the service can act on it. */
function loadForeignFunctions(): ForeignFunctions | undefined {
  if (process.platform !== 'linux') return undefined
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return process.getBuiltinModule('node:ffi')
  } finally {
    process.emitWarning = emitWarning
  }
}

/**
 * Unmaps the pages of Node and of the embedded engine that only the start needed.
 *
 * The dynamic linker and static constructors read some 250 MB of the two files, which stay resident. The pages are unchanged copies
 * of the files, so the kernel maps each one again on its next use, from its cache. Node has no function for that; its foreign
 * function interface, which is experimental, calls `madvise`. Without it nothing happens, and the service works the same.
 */

import { readFileSync, readlinkSync } from 'node:fs'
import { loadForeignFunctions } from './foreign-functions.ts'

/** A range of addresses whose resident pages are all unchanged pages of a file. */
export interface CleanRange {
  readonly start: bigint
  readonly bytes: bigint
  readonly residentBytes: number
}

const MADVISE = { arguments: ['uint64', 'uint64', 'int32'], return: 'int32' } as const
const MADV_DONTNEED = 4
const KIB = 1_024
/** Smaller ranges are not worth a system call. */
const RESIDENT_BYTES_MIN = KIB * KIB
const MAPPING = /^([0-9a-f]+)-([0-9a-f]+) (\S{4}) (\S+) \S+ \d+ +(\/.*)$/m

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
 * Only the executable and the engine are considered, as the linker has loaded them, because they stay where they are until the process
 * ends. The address of any other mapping could belong to other memory by now; V8 maps a part of the executable again for each thread.
 */
export function cleanRanges(smaps: string, executable: string): readonly CleanRange[] {
  return toImages(toMappings(smaps))
    .filter(({ path }) => path === executable || path.endsWith('/libchdb.so'))
    .filter(({ permissions }) => permissions === 'r--p' || permissions === 'r-xp')
    .filter(({ changedBytes, residentBytes }) => changedBytes === 0 && residentBytes >= RESIDENT_BYTES_MIN)
    .map(({ start, end, residentBytes }) => ({ start, bytes: end - start, residentBytes }))
}

interface Mapping {
  readonly path: string
  readonly permissions: string
  readonly start: bigint
  readonly end: bigint
  readonly isBeginOfFile: boolean
  readonly residentBytes: number
  readonly changedBytes: number
}

/** Keeps the mappings that continue, without a gap, one that begins with the first byte of the same file. */
function toImages(mappings: readonly Mapping[]): readonly Mapping[] {
  const images: Mapping[] = []
  for (const mapping of mappings) {
    const last = images.at(-1)
    if (mapping.isBeginOfFile || (last?.end === mapping.start && last.path === mapping.path)) images.push(mapping)
  }
  return images
}

/** Returns the mappings of files, by address. */
function toMappings(smaps: string): readonly Mapping[] {
  return smaps.split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m).flatMap((lines) => {
    const [, start, end, permissions, offset, path] = MAPPING.exec(lines) ?? []
    if (start === undefined || end === undefined || permissions === undefined || path === undefined) return []
    return {
      path,
      permissions,
      start: BigInt(`0x${start}`),
      end: BigInt(`0x${end}`),
      isBeginOfFile: Number(offset) === 0,
      residentBytes: sizeIn(lines, 'Rss'),
      changedBytes: sizeIn(lines, 'Anonymous'),
    }
  })
}

/** Infinity if the field is missing. */
function sizeIn(lines: string, field: string): number {
  const kib = new RegExp(`^${field}: +(\\d+) kB$`, 'm').exec(lines)?.[1]
  return kib === undefined ? Infinity : Number(kib) * KIB
}

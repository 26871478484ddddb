/**
 * The first 64 bytes of a spool segment.
 *
 *   header  = "TGSPOOL2", made at (f64, ms), prefix of request ids (16 ASCII), first record (f64), segment that this one
 *             continues (f64), flags (u32), place (u32), data folder (u32), crc32 of the 60 bytes before it (u32)
 *   format 1 = "TGSPOOL1", made at (f64, ms), prefix of request ids (16 ASCII), zeros
 *
 * Records are numbered per source, over all segments and restarts; `firstRecord` is the number of the segment's first record.
 * `continues` is the number of the previous segment if the same writer created it: the record numbers then prove whether records
 * between the two are missing. A writer that starts after a restart continues no segment, because it only knows the files that
 * it found.
 *
 * The place is a hash of the names of the file and its folder, and the data folder one of its instance: a segment that was renamed, moved
 * or brought from elsewhere is found before its calls are billed. 0: not known.
 */

import { closeSync, existsSync, fdatasyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { crc32 } from 'node:zlib'
import { syncFolder } from '../../foundation/runtime/sync-folder.ts'

export const HEADER_BYTES = 64
export const REQUEST_PREFIX_LENGTH = 16
export const TEMPORARY_SUFFIX = '.tmp'

const MAGIC = 'TGSPOOL2'
const OLD_MAGIC = 'TGSPOOL1'
const OLD_ZEROS_FROM = 32
const CRC_AT = 60
const FLAG_RELEASED = 1

export interface SegmentHeader {
  readonly madeMs: number
  /** First 16 characters of the request ids of its records. */
  readonly requestPrefix: string
  /** Number of the first record; null in format 1. */
  readonly firstRecord: number | null
  /** Number of the segment that the same writer wrote before; 0: none, or format 1. */
  readonly continues: number
  /** All records were read and their space was released; `firstRecord` is the number after the last record. */
  readonly isReleased: boolean
  readonly place: number
  readonly folder: number
}

export type NewSegmentHeader = Pick<SegmentHeader, 'madeMs' | 'requestPrefix'> & Partial<SegmentHeader>

export function encodeHeader(header: NewSegmentHeader): Buffer {
  const { madeMs, requestPrefix, firstRecord, continues = 0, isReleased = false, place = 0, folder = 0 } = header
  const bytes = Buffer.alloc(HEADER_BYTES)
  bytes.write(MAGIC, 0, 'latin1')
  bytes.writeDoubleLE(madeMs, 8)
  bytes.write(requestPrefix, 16, REQUEST_PREFIX_LENGTH, 'latin1')
  bytes.writeDoubleLE(firstRecord ?? 0, 32)
  bytes.writeDoubleLE(continues, 40)
  bytes.writeUInt32LE(isReleased ? FLAG_RELEASED : 0, 48)
  bytes.writeUInt32LE(place, 52)
  bytes.writeUInt32LE(folder, 56)
  bytes.writeUInt32LE(crc32(bytes.subarray(0, CRC_AT)), CRC_AT)
  return bytes
}

/** Returns null if `bytes` are not the header of a segment, or a damaged one. */
export function decodeHeader(bytes: Buffer): SegmentHeader | null {
  if (bytes.length < HEADER_BYTES) return null
  const magic = bytes.toString('latin1', 0, MAGIC.length)
  const common = {
    madeMs: bytes.readDoubleLE(8),
    requestPrefix: bytes.toString('latin1', 16, 16 + REQUEST_PREFIX_LENGTH),
  }
  if (magic === OLD_MAGIC) {
    // The magic number of this format has no checksum. It may be the damaged one of format 2.
    if (bytes.subarray(OLD_ZEROS_FROM, HEADER_BYTES).some((byte) => byte !== 0)) return null
    return { ...common, firstRecord: null, continues: 0, isReleased: false, place: 0, folder: 0 }
  }
  if (magic !== MAGIC || crc32(bytes.subarray(0, CRC_AT)) !== bytes.readUInt32LE(CRC_AT)) return null
  return {
    ...common,
    firstRecord: bytes.readDoubleLE(32),
    continues: bytes.readDoubleLE(40),
    isReleased: (bytes.readUInt32LE(48) & FLAG_RELEASED) !== 0,
    place: bytes.readUInt32LE(52),
    folder: bytes.readUInt32LE(56),
  }
}

/** The place of a segment with this path, whose source is the name of its folder. */
export function placeOf(path: string): number {
  return crc32(`${basename(dirname(path))}/${basename(path)}`)
}

/** The data folder with this instance. */
export function folderOf(instance = ''): number {
  return instance === '' ? 0 : crc32(instance)
}

/**
 * Creates a segment and returns its descriptor. The rename follows the write of the header: a crash leaves no segment with a
 * truncated header, and a power cut leaves none if `isSynced`. Throws if a segment of this name exists.
 */
export function createSegment(path: string, header: NewSegmentHeader, isSynced = false): number {
  const temporary = path + TEMPORARY_SUFFIX
  const file = openSync(temporary, 'w', 0o600)
  let isNamed = false
  try {
    const bytes = encodeHeader({ ...header, place: placeOf(path) })
    if (writeSync(file, bytes, 0, bytes.length, 0) < bytes.length) throw new Error('no space for a segment header')
    if (isSynced) fdatasyncSync(file)
    if (existsSync(path)) throw new Error(`${path} exists already`)
    renameSync(temporary, path)
    isNamed = true
    if (isSynced) syncFolder(dirname(path))
    return file
  } catch (cause) {
    closeSync(file)
    rmSync(isNamed ? path : temporary, { force: true })
    throw cause
  }
}

/**
 * Replaces a segment by its header. The file name stays, so that later segments get higher numbers and the record numbers
 * continue.
 */
export function replaceByReleased(path: string, header: NewSegmentHeader): void {
  const temporary = path + TEMPORARY_SUFFIX
  const file = openSync(temporary, 'w', 0o600)
  try {
    const bytes = encodeHeader({ ...header, isReleased: true, place: placeOf(path) })
    if (writeSync(file, bytes, 0, bytes.length, 0) < bytes.length) throw new Error('no space for a segment header')
  } finally {
    closeSync(file)
  }
  renameSync(temporary, path)
}

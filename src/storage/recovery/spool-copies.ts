/**
 * Detects segments that were put into the spool by hand, or moved in it: their calls would be billed twice, or to no consumer.
 *
 * A header names the data folder and the place of its segment. Headers are unique: each contains the random prefix of its writer, the
 * number of its first record and the segment that it continues. Two equal headers therefore belong to copies, and so do two equal first
 * batches, which tell copies whose headers are damaged.
 */

import { closeSync, fdatasyncSync, openSync, readSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { BATCH_HEADER_BYTES, decodeBatchHeader } from '../spool/codec.ts'
import {
  decodeHeader,
  encodeHeader,
  folderOf,
  HEADER_BYTES,
  placeOf,
  type SegmentHeader,
} from '../spool/segment-header.ts'
import { segmentName, SEGMENT_MAX } from '../spool/segment-name.ts'
import { foldersIn, segmentsIn } from '../spool/spool-folder.ts'
import { StartRefused } from '../../foundation/runtime/start-refused.ts'

const SOURCE = /^(platform|gateway-\d+)$/

/**
 * Throws `StartRefused` for the first segment that is a copy, stands in another place or belongs to another data folder, or that has the
 * highest possible number. `instances` are those of this data folder.
 */
export function refuseSpoolCopies(folder: string, instances: readonly string[]): void {
  const own = new Set([0, ...instances.map(folderOf)])
  const seen = new Map<string, string>()
  for (const source of foldersIn(folder)) {
    const segments = segmentsIn(join(folder, source))
    if (segments.length > 0 && !SOURCE.test(source)) {
      throw new StartRefused(
        `${join(folder, source)} was not created by this service, and its calls may already be billed; move it out of the spool`,
      )
    }
    for (const segment of segments) {
      const path = join(folder, source, segmentName(segment))
      if (segment === SEGMENT_MAX) {
        throw new StartRefused(
          `${path} has the highest possible segment number, so no segment can follow it; move it out of the spool`,
        )
      }
      const { header, keys } = readStart(path)
      for (const key of keys) {
        const other = seen.get(key)
        if (other !== undefined) {
          throw new StartRefused(
            `${path} and ${other} are copies of the same segment, so its calls would be billed twice; move one of them out of the spool`,
          )
        }
        seen.set(key, path)
      }
      if (header === null || header.isReleased) continue
      if (!own.has(header.folder)) {
        throw new StartRefused(
          `${path} was written in another data folder, whose consumers this one does not know; move it out of the spool`,
        )
      }
      if (header.place !== 0 && header.place !== placeOf(path)) {
        throw new StartRefused(
          `${path} was renamed or moved, so its calls may be billed already; give it back its name and folder, or move it out of the spool`,
        )
      }
    }
  }
}

/** Makes the segments of the former instance, whose checkpoint was lost, those of this one. Null: the former one is unknown. */
export function adoptSegments(folder: string, former: string | null, instance: string): void {
  for (const source of foldersIn(folder)) {
    for (const segment of segmentsIn(join(folder, source))) {
      const path = join(folder, source, segmentName(segment))
      const { header } = readStart(path)
      if (header === null || header.folder === 0 || header.folder === folderOf(instance)) continue
      if (former !== null && header.folder !== folderOf(former)) continue
      const file = openSync(path, 'r+')
      try {
        writeSync(file, encodeHeader({ ...header, folder: folderOf(instance) }), 0, HEADER_BYTES, 0)
        fdatasyncSync(file)
      } finally {
        closeSync(file)
      }
    }
  }
}

interface Start {
  /** Null: unreadable. */
  readonly header: SegmentHeader | null
  /** Equal for copies. A segment without records has none. */
  readonly keys: readonly string[]
}

const NOTHING: Start = { header: null, keys: [] }

function readStart(path: string): Start {
  const bytes = Buffer.alloc(HEADER_BYTES + BATCH_HEADER_BYTES)
  let count: number
  try {
    // Opening a named pipe would block.
    if (!statSync(path).isFile()) return NOTHING
    const file = openSync(path, 'r')
    try {
      count = readSync(file, bytes, 0, bytes.length, 0)
    } finally {
      closeSync(file)
    }
  } catch {
    return NOTHING
  }
  if (count < HEADER_BYTES) return NOTHING
  const header = decodeHeader(bytes)
  if (header?.isReleased === true) return { header, keys: [] }
  const isBatch = decodeBatchHeader(new DataView(bytes.buffer, bytes.byteOffset, count), HEADER_BYTES) !== null
  const batch = isBatch ? [`batch ${bytes.toString('latin1', HEADER_BYTES)}`] : []
  return { header, keys: header === null ? batch : [bytes.toString('latin1', 0, HEADER_BYTES), ...batch] }
}

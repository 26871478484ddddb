/**
 * Detects segments that were copied into the spool by hand: their calls would be billed twice.
 *
 * Headers are unique: each contains the random prefix of its writer, the number of its first record and the segment that it
 * continues. Two equal headers therefore belong to copies.
 */

import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { decodeHeader, HEADER_BYTES } from '../record/segment-header.ts'
import { segmentName, SEGMENT_MAX } from '../record/segment-name.ts'
import { foldersIn, segmentsIn } from '../record/spool-folder.ts'
import { StartRefused } from '../runtime/start-refused.ts'

const SOURCE = /^(platform|gateway-\d+)$/

/** Throws `StartRefused` for the first copy, or for a segment with the highest possible number. */
export function refuseSpoolCopies(folder: string): void {
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
      const header = readHeader(path)
      if (header === null) continue
      const other = seen.get(header)
      if (other !== undefined) {
        throw new StartRefused(
          `${path} and ${other} are copies of the same segment, so its calls would be billed twice; move one of them out of the spool`,
        )
      }
      seen.set(header, path)
    }
  }
}

/** Null: the header is unreadable, or the segment was released and has no records. */
function readHeader(path: string): string | null {
  const bytes = Buffer.alloc(HEADER_BYTES)
  try {
    // Opening a named pipe would block.
    if (!statSync(path).isFile()) return null
    const file = openSync(path, 'r')
    try {
      if (readSync(file, bytes, 0, HEADER_BYTES, 0) < HEADER_BYTES) return null
    } finally {
      closeSync(file)
    }
  } catch {
    return null
  }
  const header = decodeHeader(bytes)
  return header === null || header.isReleased ? null : bytes.toString('latin1')
}

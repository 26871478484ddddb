/**
 * Names of spool segments: ten digits, so that they sort as they were made.
 *
 * Numbers follow the time in seconds. More digits are read as well: a file that does not belong there, or a clock that is far
 * ahead, must not lead a writer to names that no reader sees.
 */

const NAME = /^(\d{10,15})\.spool$/
export const SEGMENT_MAX = 999_999_999_999_999

/** Throws if no reader would find it. */
export function segmentName(segment: number): string {
  if (segment > SEGMENT_MAX)
    throw new Error('a spool segment has the highest possible number; move it out of the spool')
  return `${String(segment).padStart(10, '0')}.spool`
}

/** The number in `name`, or null where it is not the name of a segment. */
export function segmentNumber(name: string): number | null {
  const match = NAME.exec(name)
  if (match === null) return null
  const segment = Number(match[1])
  return segmentName(segment) === name ? segment : null
}

/**
 * Names of spool segments: ten digits, so that they sort in order of creation.
 *
 * Numbers follow the time in seconds. Names with more digits are accepted too: a file of another program, or a clock far in the future, must
 * not make a writer choose names that no reader finds.
 */

const NAME = /^(\d{10,15})\.spool$/
export const SEGMENT_MAX = 999_999_999_999_999

/** Throws if the number is above the range that readers accept. */
export function segmentName(segment: number): string {
  if (segment > SEGMENT_MAX)
    throw new Error('a spool segment has the highest possible number; move it out of the spool')
  return `${String(segment).padStart(10, '0')}.spool`
}

/** Returns the number in `name`, or null if it is not the name of a segment. */
export function segmentNumber(name: string): number | null {
  const match = NAME.exec(name)
  if (match === null) return null
  const segment = Number(match[1])
  return segmentName(segment) === name ? segment : null
}

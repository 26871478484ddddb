/** Names of spool segments: ten digits, so that they sort as they were made. */

const NAME = /^(\d{10})\.spool$/

export function segmentName(segment: number): string {
  return `${String(segment).padStart(10, '0')}.spool`
}

/** The number in `name`, or null where it is not the name of a segment. */
export function segmentNumber(name: string): number | null {
  const match = NAME.exec(name)
  return match === null ? null : Number(match[1])
}

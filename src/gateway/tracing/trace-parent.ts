/**
 * Reads `traceparent` and `tracestate` of a client (W3C Trace Context).
 *
 * The readings are strict: a value that is not valid counts as missing, so that a backend never gets what only some parsers accept.
 */

export interface TraceParent {
  readonly traceId: string
  readonly spanId: string
  readonly flags: number
}

const VERSION_0 = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/
/** A later version may add fields at the end (3.2.4 of the recommendation). */
const LATER_VERSION = /^(?!00|ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-[\x21-\x7e]*)?$/
const PARENT_MAX = 256
const NO_TRACE = '0'.repeat(32)
const NO_SPAN = '0'.repeat(16)
/** Sampled, and random trace id: flags of later versions mean nothing to us and are not passed on. */
const KNOWN_FLAGS = 3

const STATE_MAX = 512
const MEMBERS_MAX = 32
const MEMBER = /^([a-z0-9][a-z0-9_\-*/@]{0,255})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/

/** Returns null if the value is missing or not valid. */
export function readTraceParent(value: string): TraceParent | null {
  if (value === '' || value.length > PARENT_MAX) return null
  const match = VERSION_0.exec(value) ?? LATER_VERSION.exec(value)
  if (match === null) return null
  const [, traceId = '', spanId = '', flags = ''] = match
  if (traceId === NO_TRACE || spanId === NO_SPAN) return null
  return { traceId, spanId, flags: Number.parseInt(flags, 16) & KNOWN_FLAGS }
}

/** Returns the list without empty members and spaces around members; `''` if it is missing, too long or not valid. */
export function readTraceState(value: string): string {
  if (value === '' || value.length > STATE_MAX) return ''
  const members = value
    .split(',')
    .map((member) => member.replace(/^[ \t]+|[ \t]+$/g, ''))
    .filter((member) => member !== '')
  if (members.length > MEMBERS_MAX) return ''
  const keys = new Set<string>()
  for (const member of members) {
    const key = MEMBER.exec(member)?.[1]
    if (key === undefined || keys.has(key)) return ''
    keys.add(key)
  }
  return members.join(',')
}

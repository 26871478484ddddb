/**
 * TypeIDs: `<prefix>_<26 characters>`, a UUIDv7 in Crockford's base 32, sortable by time.
 *
 * Ids of one process sort in order of creation even within a millisecond (RFC 9562, section 6.2, method 1: a counter that starts at
 * a random number).
 */

import { randomBytes } from 'node:crypto'

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const COUNTER_MAX = 0xfff
/** The two bits before the last 62 of a UUID. */
const UUID_VARIANT = 1n << 63n

export type CreateId = (prefix: string) => string

/** Returns a function that creates a new id on each call. */
export function createIdFactory(nowMs: () => number): CreateId {
  let lastMs = 0
  let counter = 0

  return (prefix) => {
    const timeMs = nowMs()
    if (timeMs > lastMs) {
      lastMs = timeMs
      counter = randomBytes(1)[0]!
    } else if (++counter > COUNTER_MAX) {
      lastMs++
      counter = 0
    }
    return `${prefix}_${toBase32(uuidV7(lastMs, counter))}`
  }
}

/** Returns the id of an entry in a log: ids sort by time, and then by position. */
export function idAt(prefix: string, timeMs: number, position: number): string {
  const bytes = Buffer.alloc(16)
  bytes.writeUIntBE(timeMs, 0, 6)
  bytes.writeUInt16BE(0x7000, 6)
  bytes.writeBigUInt64BE(UUID_VARIANT | BigInt(position), 8)
  return `${prefix}_${toBase32(bytes)}`
}

function uuidV7(timeMs: number, counter: number): Buffer {
  const bytes = randomBytes(16)
  bytes.writeUIntBE(timeMs, 0, 6)
  bytes.writeUInt16BE(0x7000 | counter, 6)
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  return bytes
}

function toBase32(bytes: Buffer): string {
  let value = BigInt(`0x${bytes.toString('hex')}`)
  let text = ''
  for (let index = 0; index < 26; index++) {
    text = ALPHABET[Number(value & 31n)]! + text
    value >>= 5n
  }
  return text
}

const ID = /^[a-z]{2,16}_[0-7][0-9a-hjkmnp-tv-z]{25}$/

/** Whether `text` has the form of an id with this prefix. */
export function isId(prefix: string, text: string): boolean {
  return text.length === prefix.length + 27 && text.startsWith(`${prefix}_`) && ID.test(text)
}

/** Returns the creation time of an id in milliseconds since the epoch; 0 if `id` is malformed. */
export function timeOfId(id: string): number {
  const text = id.slice(id.indexOf('_') + 1)
  if (text.length !== 26) return 0
  let timeMs = 0
  // The first ten characters hold two zeros and the 48 bits of the time.
  for (const character of text.slice(0, 10)) timeMs = timeMs * 32 + Math.max(0, ALPHABET.indexOf(character))
  return timeMs
}

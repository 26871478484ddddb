/**
 * Reads the header blocks of one connection (RFC 7541).
 *
 * Every block is read to its end, whatever becomes of its request: the blocks that follow refer to what it has added to the table.
 * Each field is checked once (RFC 9113, 8.2.1), when it arrives as text.
 */

import { decodeHuffman } from './hpack-huffman.ts'
import { sizeOfField, STATIC_FIELDS, TABLE_BYTES } from './hpack-static-table.ts'

interface Field {
  readonly name: string
  readonly value: string
  readonly size: number
  readonly isValid: boolean
}

/** The fields of a block. */
export interface DecodedBlock {
  /** Name, value, …; those within the bounds only. */
  readonly received: readonly string[]
  /** A name or a value has bytes that none may have. */
  readonly isMalformed: boolean
  /** There are more fields, or larger ones, than a head may have. */
  readonly isTooLarge: boolean
}

export interface DecoderBounds {
  /** Upper bound for all fields of a block, as `sizeOfField` counts. */
  readonly bytesMax: number
  readonly fieldsMax: number
}

/** Lower case only; a pseudo-header is such a name behind a colon. */
const NAME = /^:?[!#$%&'*+\-.^_`|~0-9a-z]+$/
/** As over HTTP/1.1. Spaces around a value are left to `request-head.ts`. */
const NOT_IN_VALUE = /[^\t\x20-\x7e\x80-\xff]/

const toField = (name: string, value: string): Field => ({
  name,
  value,
  size: sizeOfField(name, value),
  isValid: NAME.test(name) && !NOT_IN_VALUE.test(value),
})

const STATIC: readonly Field[] = STATIC_FIELDS.map(([name, value]) => toField(name, value))

/** A length or an index above this is none that a frame can hold. */
const INTEGER_MAX = 0xff_ffff
const SHIFT_MAX = 21
/** Removed fields that are kept in front of the others until they are many. */
const REMOVED_MAX = 256
/** In the place of a field that was removed, which may be large. */
const REMOVED = toField(':', '')
const NOTHING = Buffer.alloc(0)

export class HpackDecoder {
  /** Fields that were added or removed, since the beginning. Equal blocks mean the same while this does not change. */
  changes = 0
  readonly #bounds: DecoderBounds
  /** In the order in which they were added, from `#first` on. */
  #table: Field[] = []
  #first = 0
  #tableBytes = 0
  #tableBytesMax = TABLE_BYTES
  #block: Buffer = NOTHING
  #at = 0
  #hasFailed = false

  constructor(bounds: DecoderBounds) {
    this.#bounds = bounds
  }

  /** Returns null for a block that cannot be read: the table is unknown then, and the connection has to end. */
  decode(block: Buffer): DecodedBlock | null {
    this.#block = block
    this.#at = 0
    this.#hasFailed = false
    const { bytesMax, fieldsMax } = this.#bounds
    const received: string[] = []
    let bytes = 0
    let isMalformed = false
    let isTooLarge = false
    let mayResize = true
    while (this.#at < block.length) {
      const first = block[this.#at]!
      if ((first & 0xe0) === 0x20) {
        if (!mayResize || !this.#resize()) return null
        continue
      }
      mayResize = false
      const field = this.#readField(first)
      if (field === null) return null
      bytes += field.size
      if (!field.isValid) isMalformed = true
      if (bytes > bytesMax || received.length >= fieldsMax * 2) isTooLarge = true
      else received.push(field.name, field.value)
    }
    return { received, isMalformed, isTooLarge }
  }

  #readField(first: number): Field | null {
    if (first >= 0x80) return this.#find(this.#readInteger(0x7f))
    const isAdded = first >= 0x40
    const index = this.#readInteger(isAdded ? 0x3f : 0x0f)
    const name = index === 0 ? this.#readText() : this.#find(index)?.name
    const value = this.#readText()
    if (name === undefined || this.#hasFailed) return null
    const field = toField(name, value)
    if (isAdded) this.#add(field)
    return field
  }

  #find(index: number): Field | null {
    if (index <= 0) return null
    if (index <= STATIC.length) return STATIC[index - 1]!
    const at = this.#table.length - (index - STATIC.length)
    return at < this.#first ? null : this.#table[at]!
  }

  #add(field: Field): void {
    this.changes++
    this.#tableBytes += field.size
    this.#table.push(field)
    this.#shrink()
  }

  /** Removes the oldest fields until the table is within its size. A field larger than the table empties it (4.4). */
  #shrink(): void {
    while (this.#tableBytes > this.#tableBytesMax) {
      this.#tableBytes -= this.#table[this.#first]!.size
      this.#table[this.#first++] = REMOVED
    }
    if (this.#first < REMOVED_MAX) return
    this.#table = this.#table.slice(this.#first)
    this.#first = 0
  }

  #resize(): boolean {
    const size = this.#readInteger(0x1f)
    if (size < 0 || size > TABLE_BYTES) return false
    this.changes++
    this.#tableBytesMax = size
    this.#shrink()
    return true
  }

  /** Reads an integer whose first bits are those of `mask` (5.1). Returns -1 if it is incomplete or too large. */
  #readInteger(mask: number): number {
    const block = this.#block
    let value = block[this.#at++]! & mask
    if (value < mask) return value
    for (let shift = 0; shift <= SHIFT_MAX && this.#at < block.length; shift += 7) {
      const byte = block[this.#at++]!
      value += (byte & 0x7f) << shift
      if (byte < 0x80) return value > INTEGER_MAX ? this.#fail() : value
    }
    return this.#fail()
  }

  #fail(): number {
    this.#hasFailed = true
    return -1
  }

  #readText(): string {
    const block = this.#block
    if (this.#at >= block.length) {
      this.#fail()
      return ''
    }
    const isHuffman = block[this.#at]! >= 0x80
    const length = this.#readInteger(0x7f)
    const start = this.#at
    const end = start + length
    if (this.#hasFailed || end > block.length) {
      this.#fail()
      return ''
    }
    this.#at = end
    if (!isHuffman) return block.toString('latin1', start, end)
    const text = scratchFor(length * 2)
    const decoded = decodeHuffman(block, start, end, text)
    if (decoded >= 0) return text.toString('latin1', 0, decoded)
    this.#fail()
    return ''
  }
}

let scratch = Buffer.allocUnsafeSlow(16_384)

/** A code has five bits at least, so that a text has less than twice as many bytes. */
function scratchFor(bytes: number): Buffer {
  if (scratch.length < bytes) scratch = Buffer.allocUnsafeSlow(bytes)
  return scratch
}

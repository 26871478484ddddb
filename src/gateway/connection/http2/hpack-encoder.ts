/**
 * Writes the heads of the responses on one connection (RFC 7541).
 *
 * Lines that several responses have are added to the table of the connection, and cost a byte or two from then on. All others are
 * written as they are: to write them in the Huffman code would cost more CPU than their bytes do.
 */

import { sizeOfField, STATIC_FIELDS, TABLE_BYTES } from './hpack-static-table.ts'

/** Headers of a connection, which make a message over HTTP/2 malformed (RFC 9113, 8.2.2). */
const CONNECTION_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
])
/** Their values are for one client, so that no table behind the gateway should hold them (RFC 7541, 7.1). */
const SECRET_HEADERS: ReadonlySet<string> = new Set(['set-cookie', 'authorization', 'location', 'www-authenticate'])

/** Other white space, as `trim` removes it, may be a part of a character in UTF-8. */
const OUTER_SPACE = /^[ \t]+|[ \t]+$/g

/** First bits of a field (6.1 to 6.3), and the bits of the integer behind them. */
const [INDEXED, INDEXED_BITS] = [0x80, 0x7f]
const [ADDED, ADDED_BITS] = [0x40, 0x3f]
const [PLAIN, NEVER_ADDED, PLAIN_BITS] = [0x00, 0x10, 0x0f]
const [RESIZED, RESIZED_BITS] = [0x20, 0x1f]
const TEXT_BITS = 0x7f

/** A larger field would take too much of the table. */
const ADDED_BYTES_MAX = 512
/** Lines that the thread remembers, in each of two generations. */
const LINES_MAX = 512

/** A line of a head: `Name: value`. */
interface Line {
  readonly name: string
  readonly value: string
  /** Index of the name in the static table; 0 if it has none. */
  readonly nameIndex: number
  readonly size: number
  /** Whether the line belongs to the connection. */
  readonly isDropped: boolean
  readonly isSecret: boolean
  /** Whether another response had it. */
  isRepeated: boolean
}

const NAME_INDEX = new Map(STATIC_FIELDS.map(([name], index) => [name, index + 1] as const).toReversed())
const STATUS_INDEX = new Map(
  STATIC_FIELDS.flatMap(([name, value], index) => (name === ':status' ? [[Number(value), index + 1] as const] : [])),
)

let lines = new Map<string, Line>()
let olderLines = new Map<string, Line>()

function findLine(text: string): Line {
  const recent = lines.get(text)
  const known = recent ?? olderLines.get(text)
  if (known !== undefined) known.isRepeated = true
  if (recent !== undefined) return recent
  if (lines.size >= LINES_MAX) {
    olderLines = lines
    lines = new Map()
  }
  const line = known ?? readLine(text)
  lines.set(text, line)
  return line
}

function readLine(text: string): Line {
  const end = text.indexOf(':')
  const name = text.slice(0, end).toLowerCase()
  const value = text.slice(end + 1).replace(OUTER_SPACE, '')
  return {
    name,
    value,
    nameIndex: NAME_INDEX.get(name) ?? 0,
    size: sizeOfField(name, value),
    isDropped: CONNECTION_HEADERS.has(name),
    isSecret: SECRET_HEADERS.has(name),
    isRepeated: false,
  }
}

export class HpackEncoder {
  /** How many fields had been added when a line was, by the line. */
  readonly #added = new Map<string, number>()
  /** In the order in which they were added. */
  readonly #sizes = new Map<string, number>()
  #count = 0
  #bytes = 0
  #bytesMax = TABLE_BYTES
  /** Smallest size of the table since the last head; -1 if it has not changed. */
  #resizedTo = -1
  #out = Buffer.allocUnsafe(0)
  #at = 0

  /** The client has set the size of the table. */
  resize(bytes: number): void {
    const bytesMax = Math.min(bytes, TABLE_BYTES)
    if (bytesMax === this.#bytesMax) return
    this.#resizedTo = this.#resizedTo < 0 ? bytesMax : Math.min(this.#resizedTo, bytesMax)
    this.#bytesMax = bytesMax
    this.#shrink(bytesMax)
  }

  /** Returns a header block. `head` consists of lines `Name: value`, each with its line break. */
  encode(status: number, head: string): Buffer {
    // A line has four characters besides its name and value, which is room for an index and two lengths below 127. The lengths of
    // a longer line need three bytes more.
    this.#out = Buffer.allocUnsafe(head.length + (head.length >> 4) + 64)
    this.#at = 0
    this.#writeSize()
    const index = STATUS_INDEX.get(status)
    if (index !== undefined) this.#writeInteger(INDEXED, INDEXED_BITS, index)
    else {
      this.#writeInteger(PLAIN, PLAIN_BITS, NAME_INDEX.get(':status')!)
      this.#writeText(String(status))
    }
    for (let start = 0; start < head.length;) {
      const end = head.indexOf('\r\n', start)
      this.#writeLine(head.slice(start, end))
      start = end + 2
    }
    return this.#out.subarray(0, this.#at)
  }

  /** A size below the present one must be said before it is used, and so the smallest one (4.2). */
  #writeSize(): void {
    if (this.#resizedTo < 0) return
    if (this.#resizedTo < this.#bytesMax) this.#writeInteger(RESIZED, RESIZED_BITS, this.#resizedTo)
    this.#writeInteger(RESIZED, RESIZED_BITS, this.#bytesMax)
    this.#resizedTo = -1
  }

  #writeLine(text: string): void {
    const added = this.#added.get(text)
    if (added !== undefined) {
      this.#writeInteger(INDEXED, INDEXED_BITS, STATIC_FIELDS.length + 1 + this.#count - added)
      return
    }
    const line = findLine(text)
    if (line.isDropped) return
    const isAdded = line.isRepeated && !line.isSecret && line.size <= Math.min(ADDED_BYTES_MAX, this.#bytesMax)
    if (isAdded) this.#writeInteger(ADDED, ADDED_BITS, line.nameIndex)
    else this.#writeInteger(line.isSecret ? NEVER_ADDED : PLAIN, PLAIN_BITS, line.nameIndex)
    if (line.nameIndex === 0) this.#writeText(line.name)
    this.#writeText(line.value)
    if (isAdded) this.#add(text, line.size)
  }

  #add(text: string, size: number): void {
    this.#shrink(this.#bytesMax - size)
    this.#bytes += size
    this.#added.set(text, ++this.#count)
    this.#sizes.set(text, size)
  }

  #shrink(bytesMax: number): void {
    for (const [text, size] of this.#sizes) {
      if (this.#bytes <= bytesMax) return
      this.#bytes -= size
      this.#sizes.delete(text)
      this.#added.delete(text)
    }
  }

  #writeInteger(bits: number, mask: number, value: number): void {
    const out = this.#out
    if (value < mask) {
      out[this.#at++] = bits | value
      return
    }
    out[this.#at++] = bits | mask
    let rest = value - mask
    for (; rest >= 0x80; rest >>= 7) out[this.#at++] = (rest & 0x7f) | 0x80
    out[this.#at++] = rest
  }

  #writeText(text: string): void {
    this.#writeInteger(0, TEXT_BITS, text.length)
    this.#at += this.#out.write(text, this.#at, 'latin1')
  }
}

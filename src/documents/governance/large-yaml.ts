/**
 * Parses large YAML documents in one pass: block style with plain, quoted and block scalars, and flow collections.
 *
 * The YAML parser needs several seconds and hundreds of megabytes for ten megabytes of text. Here it reads flow collections and
 * rare scalars only. Anchors, aliases, tags, complex keys and directives are refused: large documents are written by programs,
 * which do not use them.
 */

import { parseDocument } from 'yaml'
import { escapePointer } from '../../foundation/json/references.ts'
import { readBlockScalar, toDoubleQuoted, toFlowValue, toPlainValue, toSingleQuoted } from './yaml-scalars.ts'

/** Text that is invalid, or that this parser does not support. */
export class YamlFault extends Error {
  readonly offset: number

  constructor(message: string, offset: number) {
    super(message)
    this.offset = offset
  }
}

export interface LargeYamlOptions {
  readonly depthMax: number
  /** Pointers whose offsets are wanted. */
  readonly wanted?: ReadonlySet<string>
}

export interface LargeYaml {
  readonly value: unknown
  /** By wanted pointer. */
  readonly offsets: ReadonlyMap<string, number>
}

/** Throws `YamlFault`. */
export function parseLargeYaml(text: string, options: LargeYamlOptions): LargeYaml {
  const reader = new BlockReader(text, options)
  return { value: reader.readDocument(), offsets: reader.offsets }
}

const NONE: ReadonlySet<string> = new Set()
const [NEWLINE, SPACE, TAB, HASH, COLON, DASH] = [10, 32, 9, 35, 58, 45]
/** The YAML parser needs about a second for this much. */
const DELEGATED_MAX = 20_000
const CHUNK_LENGTH = 100
const UNSUPPORTED =
  'Above 2 MiB, YAML must be in block style without anchors, aliases, tags, complex keys and tabs; send the document as JSON'

class BlockReader {
  readonly offsets = new Map<string, number>()
  readonly #text: string
  readonly #wanted: ReadonlySet<string>
  readonly #depthMax: number
  /** Start of the line to read next. */
  #at = 0
  #depth = 0
  /** Work of the YAML parser, in chunks. */
  #delegated = 0

  constructor(text: string, { depthMax, wanted = NONE }: LargeYamlOptions) {
    this.#text = text.includes('\r') ? fault(text.indexOf('\r')) : text
    this.#wanted = wanted
    this.#depthMax = depthMax
  }

  readDocument(): unknown {
    this.#skipBlank()
    if (/^---[ ]*(?:#[^\n]*)?$/.test(this.#line())) this.#at = this.#next(this.#at)
    this.#skipBlank()
    const value = this.#readNode(this.#indent(), '')
    this.#skipBlank()
    if (this.#at < this.#text.length) fault(this.#at)
    return value
  }

  /** Reads the map, list or scalar whose first line begins at `#at`, indented by `indent`. */
  #readNode(indent: number, pointer: string | null): unknown {
    return this.#readAt(this.#at + indent, indent, indent - 1, pointer)
  }

  /** Reads the node at `from`, in the given column; `parent` is the column of the key or dash that it belongs to. */
  #readAt(from: number, column: number, parent: number, pointer: string | null): unknown {
    if (++this.#depth > this.#depthMax)
      throw new YamlFault(`The document is nested more than ${this.#depthMax} levels deep`, from)
    const value = this.#isDash(from)
      ? this.#readList(from, column, pointer)
      : this.#keyEnd(from) >= 0
        ? this.#readMap(from, column, pointer)
        : this.#readScalar(from, parent)
    this.#depth--
    return value
  }

  #readList(first: number, column: number, pointer: string | null): unknown[] {
    const items: unknown[] = []
    for (let from: number | null = first; from !== null; from = this.#entryAt(column, true)) {
      const content = this.#skipSpaces(from + 1)
      const inner = this.#record(pointer, String(items.length), this.#isEnd(content) ? from : content)
      if (this.#isEnd(content)) {
        this.#at = this.#next(from)
        items.push(this.#readBelow(column, false, inner))
      } else items.push(this.#readAt(content, column + content - from, column, inner))
    }
    return items
  }

  #readMap(first: number, column: number, pointer: string | null): Record<string, unknown> {
    const members: Record<string, unknown> = {}
    for (let from: number | null = first; from !== null; from = this.#entryAt(column, false)) {
      const end = this.#keyEnd(from)
      if (end < 0) fault(from)
      const name = this.#keyOf(this.#text.slice(from, end).trimEnd(), from)
      if (Object.hasOwn(members, name))
        throw new YamlFault(`The key ${name.slice(0, 80)} occurs twice in one map`, from)
      const inner = this.#record(pointer, name, from)
      const content = this.#skipSpaces(end + 1)
      let value: unknown
      if (this.#isEnd(content)) {
        this.#at = this.#next(from)
        value = this.#readBelow(column, true, inner)
      } else value = this.#readScalar(content, column)
      Object.defineProperty(members, name, { value, enumerable: true, configurable: true, writable: true })
    }
    return members
  }

  /** Reads the value on the lines below a key or a dash; null if there is none. */
  #readBelow(column: number, isMember: boolean, pointer: string | null): unknown {
    this.#skipBlank()
    const indent = this.#indent()
    const isBelow = indent > column || (isMember && indent === column && this.#isDash(this.#at + indent))
    if (this.#at >= this.#text.length || !isBelow) return null
    return this.#readAt(this.#at + indent, indent, column, pointer)
  }

  /** Returns the start of the next entry in this column; null if the map or list has ended. */
  #entryAt(column: number, isList: boolean): number | null {
    this.#skipBlank()
    const indent = this.#indent()
    const from = this.#at + indent
    if (this.#at >= this.#text.length || indent < column) return null
    if (indent > column) fault(from)
    return this.#isDash(from) === isList ? from : isList ? null : fault(from)
  }

  /** Reads a scalar or a flow collection; its further lines are indented by more than `parent`. */
  #readScalar(from: number, parent: number): unknown {
    const end = this.#blockEnd(from, parent)
    const chunk = this.#text.slice(from, end)
    this.#at = end
    const sign = chunk[0] ?? ''
    if ('&*!@`%,]}#'.includes(sign) || this.#isDash(from) || (sign === '?' && chunk[1] === ' ')) fault(from)
    if (sign === '|' || sign === '>') return readBlockScalar(chunk, parent) ?? fault(from)
    if (sign === '"') return toDoubleQuoted(chunk) ?? this.#delegate(chunk, from)
    if (sign === "'") return toSingleQuoted(chunk) ?? this.#delegate(chunk, from)
    if (sign === '[' || sign === '{') return toFlowValue(chunk) ?? this.#delegate(chunk, from)
    const plain = toPlainValue(chunk)
    return plain === undefined ? this.#delegate(chunk, from) : plain
  }

  /** Has the YAML parser read a flow collection or a scalar of unusual form. */
  #delegate(chunk: string, from: number): unknown {
    this.#delegated += 1 + Math.floor(chunk.length / CHUNK_LENGTH)
    if (this.#delegated > DELEGATED_MAX) fault(from)
    const document = parseDocument(`v: ${chunk}`, { version: '1.2', uniqueKeys: false, stringKeys: true })
    if (document.errors.length > 0) fault(from)
    try {
      return (document.toJS({ maxAliasCount: 0 }) as { readonly v: unknown }).v
    } catch {
      return fault(from)
    }
  }

  /** Returns the end of the lines that belong to the node at `from`. */
  #blockEnd(from: number, parent: number): number {
    let end = this.#next(from)
    for (let at = end; at < this.#text.length;) {
      const content = this.#skipSpaces(at)
      const next = this.#next(at)
      const isBlank = content >= this.#text.length || this.#text.charCodeAt(content) === NEWLINE
      if (!isBlank && content - at <= parent) break
      at = next
      if (!isBlank || this.#text[from] === '|' || this.#text[from] === '>') end = next
    }
    return end
  }

  #record(pointer: string | null, name: string, offset: number): string | null {
    if (pointer === null || this.#wanted.size === 0) return null
    const inner = `${pointer}/${escapePointer(name)}`
    if (!this.#wanted.has(inner)) return null
    this.offsets.set(inner, offset)
    return inner
  }

  /** Returns the index of the colon after a key on this line; -1 if there is none. */
  #keyEnd(from: number): number {
    const text = this.#text
    const sign = text.charAt(from)
    let at = from
    if (sign === '"' || sign === "'") at = closingQuote(text, from, sign)
    else if ('[]{},#&*!|>@`%'.includes(sign) || (sign === '?' && text.charCodeAt(from + 1) === SPACE)) return -1
    if (at < 0) return -1
    for (at += sign === '"' || sign === "'" ? 1 : 0; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (code === NEWLINE || (code === HASH && text.charCodeAt(at - 1) === SPACE)) return -1
      if (code === COLON && this.#isBreak(at + 1)) return at
      if ((sign === '"' || sign === "'") && code !== SPACE) return -1
    }
    return -1
  }

  #keyOf(key: string, from: number): string {
    if (key.startsWith('"')) return toDoubleQuoted(key) ?? fault(from)
    return key.startsWith("'") ? (toSingleQuoted(key) ?? fault(from)) : key
  }

  #isDash(at: number): boolean {
    return this.#text.charCodeAt(at) === DASH && this.#isBreak(at + 1)
  }

  #isBreak(at: number): boolean {
    const code = this.#text.charCodeAt(at)
    if (code === TAB) fault(at)
    return at >= this.#text.length || code === SPACE || code === NEWLINE
  }

  /** Whether only a comment follows on the line. */
  #isEnd(at: number): boolean {
    const code = this.#text.charCodeAt(at)
    return at >= this.#text.length || code === NEWLINE || code === HASH
  }

  #skipSpaces(from: number): number {
    let at = from
    while (this.#text.charCodeAt(at) === SPACE) at++
    return this.#text.charCodeAt(at) === TAB ? fault(at) : at
  }

  #skipBlank(): void {
    while (this.#at < this.#text.length && this.#isEnd(this.#skipSpaces(this.#at))) this.#at = this.#next(this.#at)
  }

  #indent(): number {
    return this.#skipSpaces(this.#at) - this.#at
  }

  #line(): string {
    return this.#text.slice(this.#at, this.#next(this.#at)).trimEnd()
  }

  #next(at: number): number {
    const end = this.#text.indexOf('\n', at)
    return end < 0 ? this.#text.length : end + 1
  }
}

function fault(offset: number): never {
  throw new YamlFault(UNSUPPORTED, offset)
}

/** Returns the index of the quote that ends a quoted text on this line; -1 if there is none. */
function closingQuote(text: string, from: number, quote: string): number {
  for (let at = from + 1; at < text.length && text.charCodeAt(at) !== NEWLINE; at++) {
    if (quote === '"' && text[at] === '\\') at++
    else if (text[at] === quote) {
      if (quote === '"' || text[at + 1] !== "'") return at
      at++
    }
  }
  return -1
}

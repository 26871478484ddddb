/**
 * Takes the documents out of a JSON body while it arrives: the texts in base64 of given members of its root.
 *
 * The rest of the body is small enough to be parsed at once. It contains the digest of each document in place of the document, so
 * that it identifies the whole body.
 */

import { Problem } from '../../foundation/domain/problem.ts'
import { Base64Decoder } from './base64-decoder.ts'

export interface ScannerOptions {
  /** Maximum number of characters by member. */
  readonly members: ReadonlyMap<string, number>
  readonly bytesExpected: number
}

export interface ScannedBody {
  /** JSON, with the placeholder of each document. */
  readonly rest: Buffer
  /** By member. */
  readonly documents: ReadonlyMap<string, ScannedDocument>
}

export interface ScannedDocument {
  readonly placeholder: string
  readonly bytes: Uint8Array
}

/** As much as other operations accept. */
const REST_BYTES_MAX = 1024 * 1024
const NAME_LENGTH_MAX = 64
const [QUOTE, BACKSLASH, COLON, COMMA] = [34, 92, 58, 44]
const OPENING = new Set([...'{['].map((sign) => sign.charCodeAt(0)))
const CLOSING = new Set([...'}]'].map((sign) => sign.charCodeAt(0)))
const ESCAPE_LENGTH_MAX = 6

export class DocumentScanner {
  readonly #options: ScannerOptions
  readonly #rest: Buffer[] = []
  readonly #documents = new Map<string, ScannedDocument>()
  readonly #names = new Set<string>()
  #restBytes = 0
  #depth = 0
  #isInText = false
  /** Whether the next character of the text follows a backslash. */
  #isEscaped = false
  /** Whether the next value is that of the member `#name`. */
  #isValue = false
  #name = ''
  #decoder: Base64Decoder | null = null
  /** The start of an escape at the end of a chunk. */
  #escape = ''

  constructor(options: ScannerOptions) {
    this.#options = options
  }

  /** Throws a problem if the body cannot be accepted. */
  write(chunk: Buffer): void {
    let from = 0
    for (let at = 0; at < chunk.length; at++) {
      if (this.#decoder !== null) {
        at = this.#readDocument(chunk, at, this.#decoder)
        from = at
      } else if (this.#isInText) this.#readText(chunk[at]!)
      else if (this.#readSign(chunk[at]!)) {
        this.#keep(chunk.subarray(from, at + 1))
        from = chunk.length
      }
    }
    if (from < chunk.length) this.#keep(chunk.subarray(from))
  }

  end(): ScannedBody {
    return { rest: Buffer.concat(this.#rest), documents: this.#documents }
  }

  /** Returns whether a document begins. */
  #readSign(sign: number): boolean {
    if (sign === QUOTE) {
      this.#isInText = true
      const charactersMax = this.#isValue && this.#depth === 1 ? this.#options.members.get(this.#name) : undefined
      if (!this.#isValue) this.#name = ''
      if (charactersMax === undefined) return false
      if (this.#names.has(this.#name)) throw this.#invalid('must NOT occur twice')
      this.#names.add(this.#name)
      this.#decoder = new Base64Decoder({ charactersMax, bytesExpected: this.#options.bytesExpected })
      return true
    }
    if (OPENING.has(sign)) this.#depth++
    else if (CLOSING.has(sign)) this.#depth--
    else if (this.#depth === 1 && sign === COLON) this.#isValue = true
    else if (this.#depth === 1 && sign === COMMA) this.#isValue = false
    return false
  }

  #readText(sign: number): void {
    if (this.#isEscaped) this.#isEscaped = false
    else if (sign === BACKSLASH) this.#isEscaped = true
    else if (sign === QUOTE) this.#isInText = false
    if (this.#isInText && !this.#isValue && this.#depth === 1 && this.#name.length < NAME_LENGTH_MAX)
      this.#name += String.fromCharCode(sign)
  }

  /** Reads the text of a document; returns the place of the quote that ends it, or the end of the chunk. */
  #readDocument(chunk: Buffer, from: number, decoder: Base64Decoder): number {
    const end = this.#endOfText(chunk, from)
    const isLast = end < chunk.length
    decoder.write(this.#unescape(chunk.toString('latin1', from, end), isLast))
    if (decoder.isTooLong)
      throw this.#invalid(`must NOT have more than ${this.#options.members.get(this.#name)} characters`)
    if (!isLast) return end
    const document = decoder.end()
    if (document === null) throw this.#invalid('The value must be base64.')
    const placeholder = `sha256:${document.digest}`
    this.#documents.set(this.#name, { placeholder, bytes: document.bytes })
    this.#keep(Buffer.from(placeholder))
    this.#decoder = null
    this.#isInText = false
    return end
  }

  #endOfText(chunk: Buffer, from: number): number {
    let start = from
    for (;;) {
      const found = chunk.indexOf(QUOTE, start)
      const end = found < 0 ? chunk.length : found
      let backslashes = 0
      while (end - backslashes > start && chunk[end - backslashes - 1] === BACKSLASH) backslashes++
      const isCarried = this.#isEscaped && end - backslashes === start
      const isEscaped = (backslashes + Number(isCarried)) % 2 === 1
      this.#isEscaped = found < 0 && isEscaped
      if (found < 0 || !isEscaped) return end
      start = found + 1
    }
  }

  #unescape(piece: string, isLast: boolean): string {
    const text = this.#escape + piece
    this.#escape = ''
    if (!text.includes('\\')) return text
    const open = isLast ? -1 : openEscape(text)
    if (open >= 0) this.#escape = text.slice(open)
    try {
      return String(JSON.parse(`"${open < 0 ? text : text.slice(0, open)}"`))
    } catch {
      throw new Problem('payload_invalid', 'The body is not valid JSON.')
    }
  }

  #keep(bytes: Buffer): void {
    this.#restBytes += bytes.length
    if (this.#restBytes > REST_BYTES_MAX)
      throw new Problem('payload_too_large', 'The body is larger than this operation accepts.')
    this.#rest.push(bytes)
  }

  #invalid(detail: string): Problem {
    return new Problem('payload_invalid', 'The body does not match its schema.', {
      errors: [{ pointer: `/${this.#name}`, detail }],
    })
  }
}

/** Returns the start of the escape at the end of the text that may be incomplete; -1 if there is none. */
function openEscape(text: string): number {
  const last = text.lastIndexOf('\\')
  if (last < text.length - ESCAPE_LENGTH_MAX) return -1
  let start = last
  while (start > 0 && text[start - 1] === '\\') start--
  const isStart = (last - start) % 2 === 0
  const needed = text[last + 1] === 'u' ? ESCAPE_LENGTH_MAX : 2
  return isStart && text.length - last < needed ? last : -1
}

/**
 * The headers of the last message of a connection, with what was read from them: most messages of a connection have the same headers,
 * and comparing them costs less than reading them again.
 */

/** As many characters are kept per connection; tokens have about 1,000. */
const KEPT_CHARACTERS_MAX = 4_096

export class HeaderMemo {
  readonly raw: readonly string[]
  /** Written by the code that reads the headers; the same object for all messages with these headers, so it must not be changed. */
  reading: object | null = null
  /** Written by the connection: see `bodyBytesOf`. */
  bodyBytes: number | null = null

  constructor(raw: readonly string[]) {
    this.raw = raw
  }
}

/** The memo of one connection. */
export class LastHeaders {
  #memo: HeaderMemo | null = null
  /** The version or the status, on which the reading depends as well. */
  #key = 0
  /** Whether the last headers were those before. */
  isRepeated = false
  /** Where the last headers differed from those before; they often differ there again. */
  #differsAt = 0

  /** Returns the memo of equal headers, or a new one. */
  find(raw: readonly string[], key: number): HeaderMemo {
    const memo = this.#memo
    this.isRepeated = memo !== null && key === this.#key && (memo.raw === raw || this.#equals(memo.raw, raw))
    if (memo !== null && this.isRepeated) return memo
    const found = new HeaderMemo(raw)
    this.#memo = lengthOf(raw) > KEPT_CHARACTERS_MAX ? null : found
    this.#key = key
    return found
  }

  evict(): void {
    this.#memo = null
  }

  #equals(known: readonly string[], raw: readonly string[]): boolean {
    if (known.length !== raw.length || known[this.#differsAt] !== raw[this.#differsAt]) return false
    for (let index = 0; index < raw.length; index++) {
      if (known[index] === raw[index]) continue
      this.#differsAt = index
      return false
    }
    return true
  }
}

function lengthOf(raw: readonly string[]): number {
  let length = 0
  for (const part of raw) length += part.length
  return length
}

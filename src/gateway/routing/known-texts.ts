/**
 * Returns parts of request targets as strings that were used before. A part that was just cut out must be hashed and looked up among
 * all strings before it can be the key of a map, which costs more than to compare it with the last part like it.
 */

/** A power of two. */
const TEXTS_MAX = 256
/** Names of APIs and of paths. A longer part would also keep its whole target in memory. */
const LENGTH_MAX = 64

export class KnownTexts {
  readonly #texts: string[] = Array<string>(TEXTS_MAX).fill('')

  /** As `text.slice(from, to)`. */
  slice(text: string, from: number, to: number): string {
    const length = to - from
    if (length <= 0 || length > LENGTH_MAX) return text.slice(from, to)
    const slot = (length * 61 + text.charCodeAt(from) * 7 + text.charCodeAt(to - 1)) % TEXTS_MAX
    const known = this.#texts[slot]!
    if (known.length === length && text.startsWith(known, from)) return known
    return (this.#texts[slot] = text.slice(from, to))
  }
}

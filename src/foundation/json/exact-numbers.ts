/**
 * Numbers that a double does not hold, such as ids of 64 bits: parsed, they keep their text, with which `JSON.stringify` writes them.
 *
 * For messages whose values are passed on and not computed with. Other numbers are plain ones, and so are all numbers of a text with
 * more than 10,000 values: a reviver takes about a microsecond for each, which a stranger could make a second.
 */

/** A number that `JSON.parse` would otherwise change. */
export interface ExactNumber {
  readonly rawJSON: string
}

declare global {
  // The proposal "JSON.parse source text access", which is in Node since 22 and not in the types of TypeScript.
  interface JSON {
    parse(
      text: string,
      reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
    ): unknown
    rawJSON(text: string): ExactNumber
    isRawJSON(value: unknown): value is ExactNumber
  }
}

/** Only texts with long numbers need a reviver, which is slow. Ids in strings, with digits and an `e`, do not match. */
const MAY_BE_INEXACT = /(?:^|[:,[\s])-?(?:[\d.]{16}|[\d.]{1,15}[eE])/
const VALUES_MAX = 10_000
const [COMMA, BRACKET, BRACE] = [44, 91, 123]
/** A double holds every decimal number of so many digits. */
const DIGITS_MAX = 15

export function parseExactly(text: string): unknown {
  if (!MAY_BE_INEXACT.test(text) || hasMoreValues(text)) return JSON.parse(text)
  return JSON.parse(text, (_, value, { source }) =>
    typeof value !== 'number' || source === undefined || isExact(value, source) ? value : JSON.rawJSON(source),
  )
}

/** Counts every value, and the commas and brackets in strings. */
function hasMoreValues(text: string): boolean {
  let count = 1
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if ((code === COMMA || code === BRACKET || code === BRACE) && ++count > VALUES_MAX) return true
  }
  return false
}

function isExact(value: number, source: string): boolean {
  if (Number.isSafeInteger(value) && String(value) === source) return true
  const [mantissa = ''] = source.split(/[eE]/)
  const digits = mantissa.replace(/[-.]/g, '').replace(/^0+/, '')
  return Number.isFinite(value) && digits.length <= DIGITS_MAX && (value !== 0 || digits === '')
}

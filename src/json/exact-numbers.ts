/**
 * Numbers that a double does not hold, such as ids of 64 bits: parsed, they keep their text, with which `JSON.stringify` writes them.
 *
 * For messages whose values are passed on and not computed with. Other numbers are plain ones.
 */

/** What `JSON.parse` makes of a number that it could only keep with another value. */
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

/** Only texts with such numbers need a reviver, which is slow. */
const MAY_BE_INEXACT = /[\d.]{16}|\d[eE]/
/** A double holds every decimal number of so many digits. */
const DIGITS_MAX = 15

export function parseExactly(text: string): unknown {
  if (!MAY_BE_INEXACT.test(text)) return JSON.parse(text)
  return JSON.parse(text, (_, value, { source }) =>
    typeof value !== 'number' || source === undefined || isExact(value, source) ? value : JSON.rawJSON(source),
  )
}

function isExact(value: number, source: string): boolean {
  if (Number.isSafeInteger(value) && String(value) === source) return true
  const [mantissa = ''] = source.split(/[eE]/)
  const digits = mantissa.replace(/[-.]/g, '').replace(/^0+/, '')
  return Number.isFinite(value) && digits.length <= DIGITS_MAX && (value !== 0 || digits === '')
}

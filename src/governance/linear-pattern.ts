/**
 * Regular expressions of strangers, on an engine without backtracking (RE2): in a thread that serves,
 * nothing could interrupt one that takes for ever.
 *
 * Linear is not yet short: a large pattern over a large text still adds up, so the product of both is
 * bounded, and a text beyond it does not match.
 */

import { RE2JS } from 're2js'

export interface LinearPattern {
  /** Whether the pattern occurs in the text. */
  test(text: string): boolean
  /** The pattern: the compiler of schemas tells patterns apart by it, and would take one for all without. */
  toString(): string
}

/** Steps of the slowest way that the engine may fall back on; about a second in all. */
const WORK_MAX = 50_000_000

/** Null where the pattern needs backtracking (look-around, back-references) or is not one. */
export function compileLinear(pattern: string): LinearPattern | null {
  try {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern))
    const lengthMax = WORK_MAX / compiled.programSize()
    return { test: (text) => text.length <= lengthMax && compiled.test(text), toString: () => pattern }
  } catch {
    return null
  }
}

/**
 * Regular expressions from outside, on an engine without backtracking (RE2), since a serving thread cannot interrupt a pattern that
 * does not terminate.
 *
 * A large pattern over a large text still adds up, so the product of both is bounded, and a text above the bound does not match.
 *
 * Patterns have the syntax of ECMA-262, as JSON Schema requires (2020-12, 6.4). Syntax that RE2 reads differently (`.`, `\s`, `\A`,
 * `[[:alpha:]]`) is translated or refused, so that the gateway and the backend agree on it.
 */

import { RE2JS } from 're2js'
import { createUnicodeProperties } from './unicode-property.ts'

export interface LinearPattern {
  /** Whether the pattern occurs in the text. */
  test(text: string): boolean
  /** The pattern. ajv distinguishes patterns by this text. */
  toString(): string
}

/** Upper bound of steps in the slowest mode of the engine; about a second in total. */
const WORK_MAX = 50_000_000
/** Bounds for patterns on the engine of JavaScript: a few million steps at most. */
const PLAIN_LENGTH_MAX = 10_000
const PLAIN_FIXED_MAX = 500
/** ECMA-262, 12.2 and 12.3: WhiteSpace and LineTerminator. */
const SPACE =
  '\\t\\n\\v\\f\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}'
const NOT_SPACE =
  '\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}' +
  '\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}'
const NOT_END_OF_LINE = '[^\\n\\r\\x{2028}\\x{2029}]'
const ANYTHING = '[\\x{0}-\\x{10ffff}]'
const NOTHING = '[^\\x{0}-\\x{10ffff}]'
/** ECMA-262, 22.2.1: CharacterClassEscape with a Unicode property. */
const PROPERTY = /^\\([pP])\{([A-Za-z0-9_=]+)\}/
const PROPERTY_LENGTH_MAX = 80
/** Upper bound of the ranges of all properties of a pattern, in characters. One property expands to up to 20,000. */
const PROPERTIES_LENGTH_MAX = 250_000
/** Shared by all patterns of the thread, since it caches constants only. */
const unicode = createUnicodeProperties()
/** Letters with a meaning after a backslash. */
const LETTERS: ReadonlySet<string> = new Set('bBdDwWsSfnrtvcxupP')

/** Returns null if the pattern is invalid or needs backtracking (look-around, back-references). */
export function compileLinear(pattern: string): LinearPattern | null {
  const text = isPattern(pattern) ? toRe2(pattern) : null
  if (text === null) return null
  try {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(text))
    const lengthMax = WORK_MAX / compiled.programSize()
    const plain = isPlain(pattern) ? new RegExp(pattern, 'u') : null
    return {
      test: (value) =>
        plain !== null && value.length <= PLAIN_LENGTH_MAX
          ? plain.test(value)
          : value.length <= lengthMax && compiled.test(value),
      toString: () => pattern,
    }
  } catch {
    return null
  }
}

/**
 * Whether the engine of JavaScript matches the pattern in linear time: it is anchored at the start, without groups and alternatives,
 * and at most one part repeats without an upper bound. That engine is then about twenty times as fast as RE2.
 */
function isPlain(pattern: string): boolean {
  if (!pattern.startsWith('^') || !isOf(pattern, 'u')) return false
  const bare = pattern.replace(/\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|.)/gu, 'x')
  const shape = bare.replace(/\[[^\]]*\]/g, 'x')
  const fixed = [...shape.matchAll(/\{(\d+)/g)].reduce((sum, [, count]) => sum + Number(count), shape.length)
  const repeats = shape.match(/[*+?]|\{\d+,\d*\}/g) ?? []
  return !/[()|]/.test(shape) && repeats.length <= 1 && fixed <= PLAIN_FIXED_MAX
}

/** By the letter, else as it is read without the flag `u`: authors escape more than they need. */
function isPattern(pattern: string): boolean {
  return isOf(pattern, 'u') || (isOf(pattern, '') && !/\\[pP]/.test(pattern))
}

function isOf(pattern: string, flags: string): boolean {
  try {
    // Read, never run.
    new RegExp(pattern, flags)
    return true
  } catch {
    return false
  }
}

function toRe2(pattern: string): string | null {
  let text = ''
  let isInClass = false
  let propertiesLength = 0
  for (let at = 0; at < pattern.length; at++) {
    const sign = pattern[at]!
    const property = sign === '\\' ? PROPERTY.exec(pattern.slice(at, at + PROPERTY_LENGTH_MAX)) : null
    if (property !== null) {
      const written = unicode.toRe2(property[1] === 'p' ? 'p' : 'P', property[2] ?? '', isInClass)
      if (written === null || (propertiesLength += written.length) > PROPERTIES_LENGTH_MAX) return null
      text += written
      at += property[0].length - 1
    } else if (sign === '\\') {
      const escaped = escapeToRe2(pattern[++at] ?? '', isInClass)
      if (escaped === null) return null
      text += escaped
    } else if (isInClass) {
      if (sign === '[' && pattern[at + 1] === ':') return null
      isInClass = sign !== ']'
      text += sign
    } else if (sign === '[') {
      const empty = /^\[(\^?)\]/.exec(pattern.slice(at, at + 3))
      if (empty !== null) at += empty[0].length - 1
      else isInClass = true
      text += empty === null ? sign : empty[1] === '' ? NOTHING : ANYTHING
    } else text += sign === '.' ? NOT_END_OF_LINE : sign
  }
  return text
}

function escapeToRe2(sign: string, isInClass: boolean): string | null {
  if (sign === 's') return isInClass ? SPACE : `[${SPACE}]`
  if (sign === 'S') return isInClass ? NOT_SPACE : `[^${SPACE}]`
  // `\b` in a class is the backspace.
  if (sign === 'b' && isInClass) return '\\x{8}'
  return /[A-Za-z]/.test(sign) && !LETTERS.has(sign) ? null : `\\${sign}`
}

/**
 * Translates the Unicode properties of ECMA-262 patterns (`\p{Letter}`, `\p{Script=Greek}`) for RE2.
 *
 * RE2 supports general categories by abbreviation, scripts by long name, and some binary properties. The ranges of
 * the other binary properties are computed with the engine of JavaScript, once per property and thread
 * (measured: 10 ms). `Script_Extensions` has too many values for that and is not supported.
 */

import { BINARY_NAMES, CATEGORY_NAMES, SCRIPT_NAMES } from './unicode-names.ts'

/** Binary properties that RE2 supports under the same name. */
const BINARY: ReadonlySet<string> = new Set(
  (
    'ASCII_Hex_Digit Alphabetic Any Assigned Dash Emoji Emoji_Component Emoji_Modifier Emoji_Modifier_Base ' +
    'Emoji_Presentation Extended_Pictographic Hex_Digit Lowercase Math Quotation_Mark Terminal_Punctuation Uppercase ' +
    'White_Space'
  ).split(' '),
)
const CATEGORIES: ReadonlySet<string> = new Set(CATEGORY_NAMES.values())
const CODE_POINT_MAX = 0x10ffff

export interface UnicodeProperties {
  /** Returns the ranges of `\p{text}` or `\P{text}` for RE2, inside or outside a class; null if RE2 cannot express them. */
  toRe2(sign: 'p' | 'P', text: string, isInClass: boolean): string | null
}

export function createUnicodeProperties(): UnicodeProperties {
  const computed = new Map<string, readonly Range[]>()

  function rangesOf(name: string): readonly Range[] {
    let ranges = computed.get(name)
    if (ranges === undefined) computed.set(name, (ranges = computeRanges(name)))
    return ranges
  }

  return {
    toRe2(sign, text, isInClass) {
      const [name = '', value] = text.split('=')
      if (name === 'Script_Extensions' || name === 'scx') return null
      if (name === 'Script' || name === 'sc') return `\\${sign}{${SCRIPT_NAMES.get(value ?? '') ?? value}}`
      const category = value ?? name
      if (CATEGORIES.has(category)) return `\\${sign}{${category}}`
      if (CATEGORY_NAMES.has(category)) return `\\${sign}{${CATEGORY_NAMES.get(category)}}`
      const binary = BINARY_NAMES.get(name) ?? name
      if (BINARY.has(binary)) return `\\${sign}{${binary}}`
      const ranges = sign === 'p' ? rangesOf(name) : complement(rangesOf(name))
      const list = ranges.map(([from, to]) => `\\x{${from.toString(16)}}-\\x{${to.toString(16)}}`).join('')
      return isInClass ? list : `[${list}]`
    },
  }
}

/** First and last code point. */
type Range = readonly [from: number, to: number]

/** Ranges that are assigned, or may be assigned soon. */
const ASSIGNED: readonly Range[] = [
  [0, 0xd7ff],
  [0xe000, 0x33fff],
  [0xe0000, 0xe0fff],
]
/**
 * Ranges with one kind of code point: surrogates, unassigned, private use, and noncharacters at the end of
 * each plane.
 */
const EVEN: readonly Range[] = [
  [0xd800, 0xdfff],
  [0x34000, 0x3fffd],
  [0xe1000, 0xefffd],
  ...[4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16].map((plane) => [plane << 16, (plane << 16) + 0xfffd] as const),
  ...[3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16].map(
    (plane) => [(plane << 16) + 0xfffe, (plane << 16) + 0xffff] as const,
  ),
]

/** `name` must be a property that the engine of JavaScript accepts. */
function computeRanges(name: string): readonly Range[] {
  const one = new RegExp(`\\p{${name}}`, 'u')
  const run = new RegExp(`\\p{${name}}+`, 'gu')
  const ranges = [
    ...ASSIGNED.flatMap((range) => findRuns(run, range)),
    ...EVEN.filter(([first]) => one.test(String.fromCodePoint(first))),
  ]
  return ranges.sort(([one], [other]) => one - other)
}

function findRuns(run: RegExp, [first, last]: Range): Range[] {
  const text = textOf(first, last)
  const ranges: Range[] = []
  for (const { 0: found, index } of text.matchAll(run)) {
    const from = text.codePointAt(index) ?? 0
    // The last code point has two units above the first plane.
    const end = index + found.length
    const to = text.codePointAt(end - 2) ?? 0
    ranges.push([from, to > 0xffff ? to : (text.codePointAt(end - 1) ?? 0)])
  }
  return ranges
}

/** In UTF-16, since a string from code units is ten times as fast as one from code points. */
function textOf(first: number, last: number): string {
  const units: number[] = []
  for (let at = first; at <= last; at++) {
    if (at <= 0xffff) units.push(at)
    else units.push(0xd7c0 + (at >> 10), 0xdc00 + (at & 0x3ff))
  }
  return Buffer.from(Uint16Array.from(units).buffer).toString('utf16le')
}

function complement(ranges: readonly Range[]): readonly Range[] {
  const gaps: Range[] = []
  let next = 0
  for (const [from, to] of ranges) {
    if (from > next) gaps.push([next, from - 1])
    next = to + 1
  }
  if (next <= CODE_POINT_MAX) gaps.push([next, CODE_POINT_MAX])
  return gaps
}

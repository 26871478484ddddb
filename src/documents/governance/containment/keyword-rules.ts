/** Keywords of one value without its members: whether each follows from the facts of the earlier schema. */

import { toCanonicalText } from '../../../foundation/json/canonical-value.ts'
import { listOf, type Fields } from '../../../foundation/json/fields.ts'
import { textsOf, typesOfKeyword, type Bound, type Facts, type Type } from './facts.ts'
import { largestCount } from './member-rules.ts'
import type { KeywordRule, Prover } from './proof.ts'
import type { SchemaSet } from './schema-set.ts'

type FactRule = (facts: Facts, value: unknown, prover: Prover) => boolean

/** Formats that the gateway asserts. It accepts every value of another one. */
const NUMBER_FORMATS: ReadonlySet<string> = new Set(['int32', 'int64'])
const TEXT_FORMATS: ReadonlySet<string> = new Set(
  (
    'date time date-time iso-time iso-date-time duration uri uri-reference uri-template url email hostname ipv4 ipv6 regex ' +
    'uuid json-pointer json-pointer-uri-fragment relative-json-pointer byte'
  ).split(' '),
)

export const KEYWORD_RULES: Readonly<Record<string, KeywordRule>> = {
  type: (prover, inner, part) => hasTypes(prover.facts(inner), typesOfKeyword(part['type'])),
  enum: isListed,
  const: isListed,
  minimum: ofNumbers(({ from }, value) => isAbove(from, { value: Number(value), isOpen: false })),
  exclusiveMinimum: ofNumbers(({ from }, value) => isAbove(from, { value: Number(value), isOpen: true })),
  maximum: ofNumbers(({ to }, value) => isBelow(to, { value: Number(value), isOpen: false })),
  exclusiveMaximum: ofNumbers(({ to }, value) => isBelow(to, { value: Number(value), isOpen: true })),
  multipleOf: ofNumbers(({ multiples }, value, prover) =>
    multiples.some((each) => prover.accepts(prover.sets.of(prover.own({ multipleOf: Number(value) })), each)),
  ),
  minLength: ofType('string', ({ length }, value) => length.min >= Number(value)),
  maxLength: ofType('string', ({ length }, value) => length.max <= Number(value)),
  pattern: ofType('string', ({ patterns }, value) => patterns.has(String(value))),
  format: (prover, inner, part) => {
    const { types, formats } = prover.facts(inner)
    const format = String(part['format'])
    if (formats.has(format)) return true
    return !(NUMBER_FORMATS.has(format) && types.has('number')) && !(TEXT_FORMATS.has(format) && types.has('string'))
  },
  minItems: ofType('array', ({ items }, value) => items.min >= Number(value)),
  maxItems: ofType('array', ({ items }, value) => items.max <= Number(value)),
  uniqueItems: ofType('array', ({ isUnique, items }, value) => value !== true || isUnique || items.max <= 1),
  minProperties: ofType('object', ({ properties }, value) => properties.min >= Number(value)),
  maxProperties: (prover, inner, part) => {
    const { types, properties } = prover.facts(inner)
    const most = Number(part['maxProperties'])
    return !types.has('object') || properties.max <= most || largestCount(prover, inner) <= most
  },
  required: ofType('object', ({ required }, value) => textsOf(value).every((name) => required.has(name))),
}

/** The validator, which goes through the list for each value, is not needed if every value is listed. */
function isListed(prover: Prover, inner: SchemaSet, part: Fields, keyword: string): boolean {
  const { values } = prover.facts(inner)
  if (values === null) return false
  const listed = listedIn(part, keyword)
  return values.every((value) => listed.has(toCanonicalText(value)))
}

const lists = new WeakMap<Fields, ReadonlySet<string>>()

/** Canonical texts of the values that `enum` or `const` of a part lists. */
export function listedIn(part: Fields, keyword: string): ReadonlySet<string> {
  if (keyword === 'const') return new Set([toCanonicalText(part['const'])])
  let listed = lists.get(part)
  if (listed === undefined) lists.set(part, (listed = new Set(listOf(part['enum']).map(toCanonicalText))))
  return listed
}

function ofType(type: Type, follows: FactRule): KeywordRule {
  return (prover, inner, part, keyword) => {
    const facts = prover.facts(inner)
    return !facts.types.has(type) || follows(facts, part[keyword], prover)
  }
}

function ofNumbers(follows: FactRule): KeywordRule {
  return ofType('number', follows)
}

function hasTypes({ types, multiples }: Facts, wanted: ReadonlySet<string>): boolean {
  return [...types].every(
    (type) => wanted.has(type) || (type === 'number' && wanted.has('integer') && multiples.some(Number.isInteger)),
  )
}

function isAbove(bound: Bound, least: Bound): boolean {
  return bound.value > least.value || (bound.value === least.value && (bound.isOpen || !least.isOpen))
}

function isBelow(bound: Bound, most: Bound): boolean {
  return bound.value < most.value || (bound.value === most.value && (bound.isOpen || !most.isOpen))
}

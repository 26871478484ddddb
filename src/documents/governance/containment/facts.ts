/**
 * The limits that the parts of a schema set together place on each type of value: bounds, patterns, required members.
 *
 * Facts are an upper bound: a value that the set accepts satisfies all of them. Keywords that combine schemas are not among them.
 */

import { toCanonicalText } from '../../../foundation/json/canonical-value.ts'
import type { Fields } from '../../../foundation/json/fields.ts'
import type { SchemaSet } from './schema-set.ts'

export const TYPES = ['null', 'boolean', 'number', 'string', 'array', 'object'] as const
export type Type = (typeof TYPES)[number]

export interface Bound {
  readonly value: number
  /** True: the value itself is excluded. */
  readonly isOpen: boolean
}

export interface Facts {
  readonly types: ReadonlySet<Type>
  readonly from: Bound
  readonly to: Bound
  readonly multiples: readonly number[]
  readonly length: Span
  readonly patterns: ReadonlySet<string>
  readonly formats: ReadonlySet<string>
  readonly items: Span
  readonly isUnique: boolean
  readonly properties: Span
  readonly required: ReadonlySet<string>
  /** Every value that may be accepted, if there are few; null: unknown or many. */
  readonly values: readonly unknown[] | null
}

export interface Span {
  readonly min: number
  readonly max: number
}

/** Bounds up to here have exact quotients. */
const EXACT_MAX = 2 ** 40

export function factsOf({ parts, isFalse }: SchemaSet): Facts {
  const types = isFalse ? new Set<Type>() : typesOf(parts)
  const multiples = multiplesOf(parts)
  const required = new Set(parts.flatMap((part) => textsOf(part['required'])))
  return {
    types,
    from: multiples.reduce(nextMultiple, highest(parts.flatMap((part) => bounds(part, 'minimum', 'exclusiveMinimum')))),
    to: negated(
      multiples.reduce(
        nextMultiple,
        negated(lowest(parts.flatMap((part) => bounds(part, 'maximum', 'exclusiveMaximum')))),
      ),
    ),
    multiples,
    length: spanOf(parts, 'minLength', 'maxLength'),
    patterns: new Set(parts.flatMap(({ pattern }) => (typeof pattern === 'string' ? [pattern] : []))),
    formats: new Set(parts.flatMap(({ format }) => (typeof format === 'string' ? [format] : []))),
    items: spanOf(parts, 'minItems', 'maxItems'),
    isUnique: parts.some((part) => part['uniqueItems'] === true),
    properties: atLeast(spanOf(parts, 'minProperties', 'maxProperties'), required.size),
    required,
    values: valuesOf(parts, types),
  }
}

export function typesOfKeyword(value: unknown): ReadonlySet<string> {
  return new Set(typeof value === 'string' ? [value] : textsOf(value))
}

function typesOf(parts: readonly Fields[]): Set<Type> {
  let types = new Set<Type>(TYPES)
  for (const { type } of parts) {
    if (type === undefined) continue
    const named = typesOfKeyword(type)
    types = new Set([...types].filter((each) => named.has(each) || (each === 'number' && named.has('integer'))))
  }
  return types
}

/** `integer` is a number that is a multiple of one. */
function multiplesOf(parts: readonly Fields[]): readonly number[] {
  return parts.flatMap(({ type, multipleOf }) => {
    const named = type === undefined ? null : typesOfKeyword(type)
    const isInteger = named !== null && named.has('integer') && !named.has('number')
    return [...(isInteger ? [1] : []), ...(typeof multipleOf === 'number' ? [multipleOf] : [])]
  })
}

function bounds(part: Fields, closed: string, open: string): readonly Bound[] {
  const [inclusive, exclusive] = [part[closed], part[open]]
  return [
    ...(typeof inclusive === 'number' ? [{ value: inclusive, isOpen: false }] : []),
    ...(typeof exclusive === 'number' ? [{ value: exclusive, isOpen: true }] : []),
  ]
}

/** The least multiple from a bound on; the bound itself unless it can be computed exactly. */
function nextMultiple(bound: Bound, step: number): Bound {
  if (!Number.isSafeInteger(step) || step <= 0 || Math.abs(bound.value) > EXACT_MAX) return bound
  const next = Math.ceil(bound.value / step) * step
  if (!Number.isSafeInteger(next)) return bound
  return { value: next === bound.value && bound.isOpen ? next + step : next, isOpen: false }
}

export function negated({ value, isOpen }: Bound): Bound {
  return { value: -value, isOpen }
}

function highest(found: readonly Bound[]): Bound {
  return found.reduce(
    (best, each) => (each.value > best.value || (each.value === best.value && each.isOpen) ? each : best),
    { value: -Infinity, isOpen: false },
  )
}

function lowest(found: readonly Bound[]): Bound {
  return found.reduce(
    (best, each) => (each.value < best.value || (each.value === best.value && each.isOpen) ? each : best),
    { value: Infinity, isOpen: false },
  )
}

function spanOf(parts: readonly Fields[], min: string, max: string): Span {
  return {
    min: Math.max(0, ...numbersOf(parts, min)),
    max: Math.min(Infinity, ...numbersOf(parts, max)),
  }
}

function atLeast({ min, max }: Span, least: number): Span {
  return { min: Math.max(min, least), max }
}

function numbersOf(parts: readonly Fields[], keyword: string): readonly number[] {
  return parts.flatMap((part) => (typeof part[keyword] === 'number' ? [part[keyword]] : []))
}

function valuesOf(parts: readonly Fields[], types: ReadonlySet<Type>): readonly unknown[] | null {
  const lists = parts.flatMap((part) => [
    ...(Array.isArray(part['enum']) ? [part['enum'] as readonly unknown[]] : []),
    ...(part['const'] === undefined ? [] : [[part['const']]]),
  ])
  if (lists.length === 0) {
    const few = [...types].every((type) => type === 'null' || type === 'boolean')
    return few ? [...(types.has('null') ? [null] : []), ...(types.has('boolean') ? [false, true] : [])] : null
  }
  const [first = [], ...others] = lists
  const texts = others.map((list) => new Set(list.map(toCanonicalText)))
  return first.filter((value) => types.has(typeOf(value)) && texts.every((list) => list.has(toCanonicalText(value))))
}

function typeOf(value: unknown): Type {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value as Exclude<Type, 'null' | 'array'>
}

export function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []
}

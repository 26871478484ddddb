/**
 * Two versions of a schema: what a client sends may only widen, what it receives may only narrow.
 *
 * References are followed on both sides; a pair that has been compared in one direction is not compared
 * again, so that recursion ends and shared schemas cost once.
 */

import { fieldsOf, type Fields } from '../../json/fields.ts'
import { escapePointer, resolvePointer } from '../../json/references.ts'
import type { Report } from './change.ts'

export type Direction = 'request' | 'response'

export type CompareSchemas = (previous: unknown, next: unknown, direction: Direction, pointer: string) => void

interface Sides {
  readonly previous: Fields
  readonly next: Fields
  readonly direction: Direction
  readonly pointer: string
}

const DEPTH_MAX = 100
const ALL = ['null', 'boolean', 'object', 'array', 'number', 'string'] as const
/** Bounds by what makes them tighter. */
const LOWER = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'] as const
const UPPER = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'] as const

// oxlint-disable-next-line max-lines-per-function -- its parts share the report, and the pairs that were compared before
export function createSchemaComparison(documents: { previous: Fields; next: Fields }, report: Report): CompareSchemas {
  const seen = new WeakMap<object, Map<object, Set<Direction>>>()
  let depth = 0

  function isKnown(previous: object, next: object, direction: Direction): boolean {
    const ofPrevious = seen.get(previous) ?? new Map<object, Set<Direction>>()
    seen.set(previous, ofPrevious)
    const directions = ofPrevious.get(next) ?? new Set<Direction>()
    ofPrevious.set(next, directions)
    if (directions.has(direction)) return true
    directions.add(direction)
    return false
  }

  function compare(before: unknown, after: unknown, direction: Direction, pointer: string): void {
    const [one, other] = [resolve(documents.previous, before), resolve(documents.next, after)]
    if (depth > DEPTH_MAX || isKnown(one, other, direction)) return
    depth++
    const sides = { previous: merged(documents.previous, one), next: merged(documents.next, other), direction, pointer }
    compareTypes(sides)
    compareEnums(sides)
    compareBounds(sides)
    compareMeanings(sides)
    compareProperties(sides)
    compareAlternatives(sides)
    const [items, nextItems] = [sides.previous['items'], sides.next['items']]
    if (isSchema(items) && isSchema(nextItems)) compare(items, nextItems, direction, `${pointer}/items`)
    depth--
  }

  function compareTypes({ previous, next, direction, pointer }: Sides): void {
    const [before, after] = [typesOf(previous), typesOf(next)]
    const [given, taken] = direction === 'request' ? [before, after] : [after, before]
    const strange = [...given].filter((type) => !taken.has(type) && !(type === 'integer' && taken.has('number')))
    if (strange.length === 0) return
    report(direction === 'request' ? 'request.type' : 'response.type', pointer, strange.join(', '))
  }

  function compareEnums({ previous, next, direction, pointer }: Sides): void {
    const [before, after] = [valuesOf(previous), valuesOf(next)]
    if (direction === 'request' && after !== null) {
      if (before === null) report('request.enum.removed', pointer, 'any other value')
      for (const value of before ?? []) if (!after.has(value)) report('request.enum.removed', pointer, value)
    }
    if (direction === 'response' && before !== null) {
      if (after === null) report('response.enum.added', pointer, 'any other value')
      for (const value of after ?? []) if (!before.has(value)) report('response.enum.added', pointer, value)
    }
  }

  function compareBounds({ previous, next, direction, pointer }: Sides): void {
    if (direction === 'response') return
    for (const name of LOWER) if (isTighter(next[name], previous[name])) report('request.bound', pointer, name)
    for (const name of UPPER) if (isTighter(previous[name], next[name], true)) report('request.bound', pointer, name)
    if (next['pattern'] !== undefined && next['pattern'] !== previous['pattern']) report('request.pattern', pointer)
  }

  /**
   * Compares keywords that change the meaning of a value but not its shape. A format restricts the side that
   * sends the value.
   */
  function compareMeanings({ previous, next, direction, pointer }: Sides): void {
    const [before, after] = direction === 'request' ? [previous, next] : [next, previous]
    if (after['format'] !== undefined && before['format'] !== after['format']) {
      report(direction === 'request' ? 'request.format' : 'response.format', pointer, String(after['format']))
    }
    const isOther = JSON.stringify(previous['default']) !== JSON.stringify(next['default'])
    if (direction === 'request' && previous['default'] !== undefined && isOther) report('request.default', pointer)
    const [discriminator, nextDiscriminator] = [discriminatorOf(previous), discriminatorOf(next)]
    if (discriminator !== nextDiscriminator && discriminator !== null)
      report('discriminator.changed', pointer, `${discriminator} to ${nextDiscriminator ?? 'nothing'}`)
  }

  function compareProperties({ previous, next, direction, pointer }: Sides): void {
    const [before, after] = [fieldsOf(previous['properties']), fieldsOf(next['properties'])]
    const [requiredBefore, requiredAfter] = [textsOf(previous['required']), textsOf(next['required'])]
    const isClosed = next['additionalProperties'] === false
    for (const [name, schema] of Object.entries(before)) {
      const at = `${pointer}/properties/${escapePointer(name)}`
      if (Object.hasOwn(after, name)) compare(schema, after[name], direction, at)
      else if (direction === 'response') report('response.property.removed', at)
      else report(isClosed ? 'request.property.refused' : 'request.property.removed', at)
    }
    if (direction === 'request') {
      for (const name of requiredAfter) {
        if (!requiredBefore.has(name)) report('request.property.required', `${pointer}/required`, name)
      }
      if (isClosed && previous['additionalProperties'] !== false && isObject(previous))
        report('request.closed', pointer)
      return
    }
    for (const name of requiredBefore) {
      const isGone = Object.hasOwn(before, name) && !Object.hasOwn(after, name)
      if (!requiredAfter.has(name) && !isGone) report('response.property.optional', `${pointer}/required`, name)
    }
  }

  function compareAlternatives({ previous, next, direction, pointer }: Sides): void {
    for (const name of ['oneOf', 'anyOf'] as const) {
      const [before, after] = [listOf(previous[name]), listOf(next[name])]
      if (before.length === 0 || after.length === 0) continue
      if (direction === 'request' && after.length < before.length) report('request.alternative.removed', pointer, name)
      if (direction === 'response' && after.length > before.length) report('response.alternative.added', pointer, name)
      if (before.length !== after.length) continue
      before.forEach((schema, index) => compare(schema, after[index], direction, `${pointer}/${name}/${index}`))
    }
  }

  return compare
}

/** Follows references; a cycle of references ends at a bound. */
export function resolve(document: Fields, value: unknown): Fields {
  let fields = fieldsOf(value)
  for (let step = 0; step < DEPTH_MAX; step++) {
    const reference = fields['$ref']
    if (typeof reference !== 'string' || !reference.startsWith('#/')) return fields
    fields = fieldsOf(resolvePointer(document, reference))
  }
  return fields
}

/** The schema with what `allOf` adds to it. */
function merged(document: Fields, schema: Fields, depth = 0): Fields {
  const parts = listOf(schema['allOf'])
  if (parts.length === 0 || depth > 10) return schema
  const all = [schema, ...parts.map((part) => merged(document, resolve(document, part), depth + 1))]
  // Not `Object.assign`, which would set the prototype for a property named `__proto__`.
  const properties = Object.fromEntries(all.flatMap((part) => Object.entries(fieldsOf(part['properties']))))
  const required = [...new Set(all.flatMap((part) => [...textsOf(part['required'])]))]
  return {
    ...Object.assign({}, ...all.toReversed()),
    ...(Object.keys(properties).length > 0 && { properties }),
    required,
  }
}

function typesOf(schema: Fields): ReadonlySet<string> {
  const { type, nullable } = schema
  const named = typeof type === 'string' ? [type] : textsOf(type)
  const types = new Set<string>(type === undefined ? ALL : named)
  if (nullable === true) types.add('null')
  return types
}

function valuesOf({ enum: values, const: value }: Fields): ReadonlySet<string> | null {
  if (Array.isArray(values)) return new Set(values.map((each) => JSON.stringify(each)))
  return value === undefined ? null : new Set([JSON.stringify(value)])
}

/** Whether `one` is given and lies above `other`; with `isUpper`, whether `other` is given and lies below `one`. */
function isTighter(one: unknown, other: unknown, isUpper = false): boolean {
  if (isUpper) return typeof other === 'number' && (typeof one !== 'number' || other < one)
  return typeof one === 'number' && one !== 0 && (typeof other !== 'number' || one > other)
}

function discriminatorOf({ discriminator }: Fields): string | null {
  const { propertyName } = fieldsOf(discriminator)
  return typeof propertyName === 'string' ? propertyName : null
}

function isObject(schema: Fields): boolean {
  return typesOf(schema).has('object')
}

function isSchema(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : []
}

function textsOf(value: unknown): ReadonlySet<string> {
  return new Set(listOf(value).filter((each) => typeof each === 'string'))
}

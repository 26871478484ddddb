/** Parameters of two versions of an operation, by location and name. */

import { fieldsOf, listOf, type Fields } from '../../../foundation/json/fields.ts'
import type { DeclaredOperation } from '../operations.ts'
import { typeOf, valueOf } from './media-types.ts'
import { follow, type Sides } from './sides.ts'

interface Parameter {
  readonly fields: Fields
  readonly pointer: string
}

/** Headers that OpenAPI excludes from the parameters. */
const NOT_PARAMETERS: ReadonlySet<string> = new Set(['header accept', 'header content-type', 'header authorization'])
const SCHEMAS_DEEP_MAX = 8
const STYLES: Readonly<Record<string, string>> = { path: 'simple', header: 'simple', query: 'form', cookie: 'form' }
/** Styles that the gateway does not read. */
const UNREADABLE: ReadonlySet<string> = new Set(['label', 'matrix'])
/** Styles that differ in how they separate the items of a list. */
const DELIMITED: ReadonlySet<string> = new Set(['form', 'spaceDelimited', 'pipeDelimited'])

export function compareParameters(sides: Sides, before: DeclaredOperation, after: DeclaredOperation): void {
  const [one, other] = [parametersOf(sides.previous, before), parametersOf(sides.next, after)]
  sides.budget.spend(one.size + other.size)
  const moves = movesBetween(one, other)
  for (const [key, parameter] of one) {
    const same = other.get(key)
    if (same !== undefined) compareParameter(sides, key, parameter, same)
    else {
      const at = { pointer: after.pointer, previousPointer: parameter.pointer, detail: key }
      const elsewhere = moves.get(key)
      if (elsewhere === undefined) sides.report('parameter.removed', at)
      else {
        const { pointer = after.pointer, fields = {} } = other.get(elsewhere) ?? {}
        const id = fields['required'] === true ? 'parameter.moved.required' : 'parameter.moved'
        sides.report(id, { ...at, pointer, detail: `${key} to ${elsewhere}` })
      }
    }
  }
  const moved = new Set(moves.values())
  for (const [key, { fields, pointer }] of other) {
    if (one.has(key) || moved.has(key)) continue
    const at = { pointer, previousPointer: before.pointer, detail: key }
    sides.report(fields['required'] === true ? 'parameter.added.required' : 'parameter.added', at)
  }
}

/** Parameters that are gone, and the one parameter of the same name that is new at another location. */
function movesBetween(
  before: ReadonlyMap<string, Parameter>,
  after: ReadonlyMap<string, Parameter>,
): ReadonlyMap<string, string> {
  const added = Map.groupBy(
    [...after].filter(([key]) => !before.has(key)),
    ([, parameter]) => nameOf(parameter),
  )
  return new Map(
    [...before].flatMap(([key, parameter]) => {
      const found = after.has(key) ? [] : (added.get(nameOf(parameter)) ?? [])
      return found.length === 1 ? found.map(([elsewhere]) => [key, elsewhere] as const) : []
    }),
  )
}

function nameOf({ fields }: Parameter): string {
  return String(fields['name']).toLowerCase()
}

function compareParameter(sides: Sides, key: string, before: Parameter, after: Parameter): void {
  const { report, requests, unvalidated, operation } = sides
  const at = { pointer: after.pointer, previousPointer: before.pointer }
  // A parameter of the path is in every request.
  const isNewlyRequired = after.fields['required'] === true && before.fields['required'] !== true
  if (isNewlyRequired && after.fields['in'] !== 'path') report('parameter.made.required', { ...at, detail: key })
  const spelling = spellingChange(spellingOf(sides.previous, before.fields), spellingOf(sides.next, after.fields))
  if (spelling !== null) report('parameter.serialization', { ...at, detail: `${key}: ${spelling}` })
  const reserved = [before, after].map(({ fields }) => fields['allowReserved'] === true)
  if (reserved[0] !== reserved[1]) report('parameter.reserved', { ...at, detail: key })
  const [was, is] = [valueOf(before.fields, before.pointer), valueOf(after.fields, after.pointer)]
  // The values of one media type are no values of another.
  if (was.kind !== is.kind) return
  if (is.kind === 'other' || UNREADABLE.has(String(after.fields['style']))) unvalidated.add(was, is, operation)
  else requests.add(was, is, operation, is.kind)
}

interface Spelling {
  /** The style, or the media type. */
  readonly style: string
  readonly isExploded: boolean
  /** Lists and objects alone depend on `explode` and on the delimiter. */
  readonly isStructured: boolean
}

/** Returns how the value is written in the request. */
function spellingOf(document: Fields, fields: Fields): Spelling {
  const [mediaType] = Object.keys(fieldsOf(fields['content']))
  if (mediaType !== undefined) return { style: typeOf(mediaType), isExploded: false, isStructured: false }
  const { style = STYLES[String(fields['in'])], explode, schema } = fields
  return {
    style: String(style),
    isExploded: explode === undefined ? style === 'form' : explode === true,
    isStructured: isStructured(document, schema, 0),
  }
}

function isStructured(document: Fields, schema: unknown, depth: number): boolean {
  if (depth > SCHEMAS_DEEP_MAX) return true
  const { type, properties, items, allOf, anyOf, oneOf } = follow(document, schema, '').fields
  const types = typeof type === 'string' ? [type] : listOf(type)
  if (types.includes('array') || types.includes('object')) return true
  if (types.length === 0 && (properties !== undefined || items !== undefined)) return true
  return [allOf, anyOf, oneOf].some((list) => listOf(list).some((each) => isStructured(document, each, depth + 1)))
}

/** Returns the two spellings in words; null if they are the same for every value. */
function spellingChange(one: Spelling, other: Spelling): string | null {
  const isDelimited = [one, other].every(({ style, isStructured }) => DELIMITED.has(style) && !isStructured)
  if (one.style !== other.style) return isDelimited ? null : `${one.style} to ${other.style}`
  if (one.isExploded === other.isExploded || !(one.isStructured || other.isStructured)) return null
  return `explode: ${one.isExploded} to ${other.isExploded}`
}

/** By location and name. A parameter of the path is known by its position, because its name is the document's own. */
function parametersOf(document: Fields, operation: DeclaredOperation): ReadonlyMap<string, Parameter> {
  const { shared, fields, path, pointer, itemPointer } = operation
  const positions = new Map([...path.matchAll(/\{([^{}]*)\}/g)].map(([, name], index) => [name ?? '', index]))
  const all = [
    ...shared.map((each, index) => follow(document, each, `${itemPointer}/parameters/${index}`)),
    ...listOf(fields['parameters']).map((each, index) => follow(document, each, `${pointer}/parameters/${index}`)),
  ]
  const named = all.map((parameter) => {
    const [place, name] = [String(parameter.fields['in']), String(parameter.fields['name'])]
    if (place === 'path') return [`path ${positions.get(name) ?? name}`, parameter] as const
    return [`${place} ${place === 'header' ? name.toLowerCase() : name}`, parameter] as const
  })
  return new Map(named.filter(([key]) => !NOT_PARAMETERS.has(key)))
}

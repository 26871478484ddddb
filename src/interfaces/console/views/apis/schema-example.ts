/**
 * An example of a schema, for a body that the document gives none for.
 *
 * Schemas may contain themselves, many times at each level, so that the depth and the number of parts are bounded.
 */

import { fieldsOf, listOf, textOf, type ApiDocument, type Fields } from './document.ts'

type Resolve = ApiDocument['resolve']

interface Reader {
  readonly resolve: Resolve
  /** Number of parts that may still be read. */
  left: number
}

const DEPTH_MAX = 6
const PARTS_MAX = 500
const SHOWN_LENGTH_MAX = 20_000

const TEXTS: ReadonlyMap<string, string> = new Map([
  ['date', '2026-01-31'],
  ['date-time', '2026-01-31T12:00:00Z'],
  ['email', 'person@example.com'],
  ['uri', 'https://example.com'],
  ['uuid', '00000000-0000-4000-8000-000000000000'],
])

/** Returns the example as it is shown. */
export function toText(example: unknown): string {
  const text = typeof example === 'string' ? example : JSON.stringify(example, null, 2)
  return text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX)}…` : text
}

export function exampleOf(schema: unknown, resolve: Resolve): unknown {
  return read(schema, { resolve, left: PARTS_MAX }, 0)
}

function read(schema: unknown, reader: Reader, depth: number): unknown {
  const fields = reader.resolve(schema)
  reader.left--
  for (const known of [fields['example'], listOf(fields['examples'])[0], fields['default'], fields['const']])
    if (known !== undefined) return known
  if (listOf(fields['enum']).length > 0) return listOf(fields['enum'])[0]
  if (depth >= DEPTH_MAX || reader.left <= 0) return null
  const [choice] = [...listOf(fields['oneOf']), ...listOf(fields['anyOf'])]
  return choice === undefined ? readType(fields, reader, depth) : read(choice, reader, depth + 1)
}

function readType(fields: Fields, reader: Reader, depth: number): unknown {
  switch (typeOf(fields)) {
    case 'object':
      return readObject(fields, reader, depth)
    case 'array':
      return [read(fields['items'], reader, depth + 1)]
    case 'integer':
    case 'number':
      return typeof fields['minimum'] === 'number' ? fields['minimum'] : 0
    case 'boolean':
      return true
    case 'string':
      return TEXTS.get(textOf(fields['format'])) ?? 'text'
    default:
      return null
  }
}

function readObject(fields: Fields, reader: Reader, depth: number): Fields {
  const members = new Map<string, unknown>()
  for (const part of listOf(fields['allOf'])) {
    if (reader.left <= 0) break
    for (const [name, value] of Object.entries(fieldsOf(read(part, reader, depth + 1)))) members.set(name, value)
  }
  for (const [name, schema] of Object.entries(fieldsOf(fields['properties']))) {
    if (reader.left <= 0) break
    if (reader.resolve(schema)['readOnly'] !== true) members.set(name, read(schema, reader, depth + 1))
  }
  return Object.fromEntries(members)
}

/** The first type that is not null. */
export function typeOf(fields: Fields): string {
  const { type } = fields
  const [first = ''] = (Array.isArray(type) ? type : [type]).filter(
    (each) => typeof each === 'string' && each !== 'null',
  )
  if (first !== '') return String(first)
  if (fields['properties'] !== undefined || fields['allOf'] !== undefined) return 'object'
  return fields['items'] === undefined ? '' : 'array'
}

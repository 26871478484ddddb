/** An example of a schema, for a body that the document gives none for. */

import { fieldsOf, listOf, textOf, type ApiDocument, type Fields } from './document.ts'

type Resolve = ApiDocument['resolve']

const DEPTH_MAX = 6
const PROPERTIES_MAX = 50

const TEXTS: Readonly<Record<string, string>> = {
  date: '2026-01-31',
  'date-time': '2026-01-31T12:00:00Z',
  email: 'person@example.com',
  uri: 'https://example.com',
  uuid: '00000000-0000-4000-8000-000000000000',
}

export function exampleOf(schema: unknown, resolve: Resolve, depth = 0): unknown {
  const fields = resolve(schema)
  for (const known of [fields['example'], listOf(fields['examples'])[0], fields['default'], fields['const']])
    if (known !== undefined) return known
  if (listOf(fields['enum']).length > 0) return listOf(fields['enum'])[0]
  if (depth >= DEPTH_MAX) return null
  const [choice] = [...listOf(fields['oneOf']), ...listOf(fields['anyOf'])]
  if (choice !== undefined) return exampleOf(choice, resolve, depth + 1)
  return exampleOfType(fields, resolve, depth)
}

function exampleOfType(fields: Fields, resolve: Resolve, depth: number): unknown {
  switch (typeOf(fields)) {
    case 'object':
      return exampleOfObject(fields, resolve, depth)
    case 'array':
      return [exampleOf(fields['items'], resolve, depth + 1)]
    case 'integer':
    case 'number':
      return typeof fields['minimum'] === 'number' ? fields['minimum'] : 0
    case 'boolean':
      return true
    case 'string':
      return TEXTS[textOf(fields['format'])] ?? 'text'
    default:
      return null
  }
}

function exampleOfObject(fields: Fields, resolve: Resolve, depth: number): Fields {
  const parts = listOf(fields['allOf']).map((part) => fieldsOf(exampleOf(part, resolve, depth + 1)))
  const properties = Object.entries(fieldsOf(fields['properties']))
    .filter(([, schema]) => resolve(schema)['readOnly'] !== true)
    .slice(0, PROPERTIES_MAX)
    .map(([name, schema]) => [name, exampleOf(schema, resolve, depth + 1)] as const)
  return Object.assign({}, ...parts, Object.fromEntries(properties)) as Fields
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

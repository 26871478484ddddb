/** Random edits of schemas. */

import type { Random } from '../../../../random.ts'
import {
  keywordOf,
  pick,
  PROPERTIES,
  randomSchema,
  some,
  TEXTS,
  type Json,
  type RandomDocument,
} from './random-schemas.ts'

const NESTED = ['items', 'additionalProperties', 'contains', 'not', 'if', 'then', 'else', 'propertyNames']
const NESTED_LISTS = ['anyOf', 'oneOf', 'allOf', 'prefixItems']
const NESTED_NAMED = ['properties', 'patternProperties', 'dependentSchemas']

/** Every schema within a schema, those that it refers to included. */
function schemasIn(schema: unknown, components: Json): readonly Json[] {
  const found = new Set<Json>()
  const open = [schema]
  while (open.length > 0) {
    const next = open.pop()
    if (typeof next !== 'object' || next === null || found.has(next as Json)) continue
    const fields = next as Json
    found.add(fields)
    const reference = fields['$ref']
    if (typeof reference === 'string') open.push(components[reference.slice('#/components/schemas/'.length)])
    for (const name of NESTED) open.push(fields[name])
    for (const name of NESTED_LISTS) open.push(...((fields[name] ?? []) as unknown[]))
    for (const name of NESTED_NAMED) open.push(...Object.values((fields[name] ?? {}) as Json))
  }
  return [...found]
}

/** A copy with one to three changes. */
export function edit(random: Random, document: RandomDocument): RandomDocument {
  const copy = JSON.parse(JSON.stringify(document)) as RandomDocument
  for (let count = 1 + random.below(3); count > 0; count--) {
    const all = schemasIn(copy.schema, copy.components.schemas)
    // References of 3.0 have no siblings.
    const found = copy.dialect === '3.0' ? all.filter(({ $ref }) => $ref === undefined) : all
    editSchema(random, pick(random, found))
  }
  return copy
}

function editSchema(random: Random, schema: Json): void {
  const keywords = Object.keys(schema).filter((keyword) => keyword !== '$ref')
  const keyword = keywords.length === 0 ? '' : pick(random, keywords)
  const type = [schema['type']].flat().find((each) => each !== 'null')
  const kinds: readonly (() => void)[] = [
    () => void delete schema[keyword],
    () => Object.assign(schema, keywordOf(random, String(type ?? 'object'), 1)),
    () => editValue(random, schema, keyword),
    () => void (schema['type'] = pick(random, [['string', 'null'], 'integer', 'number', 'string', 'object'])),
    // Changes of the form alone, and one that adds null.
    () => wrap(schema, (inner) => ({ allOf: [inner] })),
    () => wrap(schema, (inner) => ({ anyOf: some(random, 0.5) ? [inner] : [inner, { type: 'null' }] })),
    () => editRequired(random, schema),
  ]
  kinds[[0, 0, 1, 1, 2, 2, 3, 4, 4, 5, 6][random.below(11)]!]!()
}

function wrap(schema: Json, around: (inner: Json) => Json): void {
  const inner = { ...schema }
  for (const name of Object.keys(schema)) delete schema[name]
  Object.assign(schema, around(inner))
}

function editValue(random: Random, schema: Json, keyword: string): void {
  const value = schema[keyword]
  if (typeof value === 'number')
    schema[keyword] = Math.max(keyword === 'multipleOf' ? 1 : 0, value + pick(random, [1, -1]))
  else if (Array.isArray(value) && keyword !== 'type') schema[keyword] = editList(random, keyword, value)
  else if (keyword === 'properties') editProperties(random, value as Json)
}

/** Makes a declared property required or optional, or sent in one direction only. */
function editRequired(random: Random, schema: Json): void {
  const properties = (schema['properties'] ?? {}) as Json
  const names = Object.keys(properties)
  if (names.length === 0) return
  const name = pick(random, names)
  const required = (schema['required'] ?? []) as readonly string[]
  const inner = properties[name]
  const marker = some(random, 0.5) ? 'readOnly' : 'writeOnly'
  if (some(random, 0.2) && typeof inner === 'object') (inner as Json)[marker] = (inner as Json)[marker] !== true
  else if (required.includes(name)) schema['required'] = required.filter((each) => each !== name)
  else schema['required'] = [...required, name]
}

function editList(random: Random, keyword: string, list: readonly unknown[]): readonly unknown[] {
  const least = ['enum', 'anyOf', 'oneOf', 'allOf', 'prefixItems'].includes(keyword) ? 1 : 0
  if (some(random, 0.3)) return list.toReversed()
  if (some(random, 0.5) && list.length > least) return list.toSpliced(random.below(list.length), 1)
  if (keyword === 'enum') return [...new Set([...list, pick(random, TEXTS)])]
  return keyword === 'required' ? [...new Set([...list, pick(random, PROPERTIES)])] : [...list, randomSchema(random, 1)]
}

function editProperties(random: Random, properties: Json): void {
  const names = Object.keys(properties)
  if (some(random, 0.5) && names.length > 0) delete properties[pick(random, names)]
  else
    Object.defineProperty(properties, pick(random, PROPERTIES), {
      value: some(random, 0.1) ? some(random, 0.5) : randomSchema(random, 1),
      enumerable: true,
      configurable: true,
      writable: true,
    })
}

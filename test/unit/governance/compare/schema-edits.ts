/** Random edits of schemas. */

import type { Random } from '../../../random.ts'
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

const NESTED = ['items', 'additionalProperties', 'contains', 'not', 'if', 'then', 'propertyNames']
const NESTED_LISTS = ['anyOf', 'oneOf', 'allOf', 'prefixItems']
const NESTED_NAMED = ['properties', 'patternProperties', 'dependentSchemas', 'schemas']

/** Every schema within a schema, or within the components. */
function schemasIn(value: unknown, found: Json[] = []): Json[] {
  if (typeof value !== 'object' || value === null) return found
  const schema = value as Json
  if (schema['schemas'] === undefined) found.push(schema)
  for (const name of NESTED) schemasIn(schema[name], found)
  for (const name of NESTED_LISTS) for (const each of (schema[name] ?? []) as unknown[]) schemasIn(each, found)
  for (const name of NESTED_NAMED)
    for (const each of Object.values((schema[name] ?? {}) as Json)) schemasIn(each, found)
  return found
}

/** A copy with one to three changes. */
export function edit(random: Random, document: RandomDocument): RandomDocument {
  const copy = JSON.parse(JSON.stringify(document)) as RandomDocument
  for (let count = 1 + random.below(3); count > 0; count--) {
    const all = [...schemasIn(copy.schema), ...schemasIn(copy.schema), ...schemasIn(copy.components)]
    editSchema(random, pick(random, all))
  }
  return copy
}

function editSchema(random: Random, schema: Json): void {
  const keywords = Object.keys(schema).filter((keyword) => keyword !== '$ref')
  const keyword = keywords.length === 0 ? '' : pick(random, keywords)
  const value = schema[keyword]
  const type = [schema['type']].flat().find((each) => each !== 'null')
  switch (random.below(5)) {
    case 0:
      delete schema[keyword]
      return
    case 1:
      Object.assign(schema, keywordOf(random, String(type ?? 'object'), 1))
      return
    case 2:
      if (typeof value === 'number')
        schema[keyword] = Math.max(keyword === 'multipleOf' ? 1 : 0, value + pick(random, [1, -1]))
      else if (Array.isArray(value) && keyword !== 'type') schema[keyword] = editList(random, keyword, value)
      else if (keyword === 'properties') editProperties(random, value as Json)
      return
    case 3:
      schema['type'] = pick(random, [['string', 'null'], 'integer', 'number', 'string', 'object'])
      return
    default: {
      // A change of the form alone.
      const inner = { ...schema }
      for (const name of Object.keys(schema)) delete schema[name]
      schema['allOf'] = [inner]
    }
  }
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
      value: randomSchema(random, 1),
      enumerable: true,
      configurable: true,
      writable: true,
    })
}

/** Random values near the limits of two schemas. */

import type { Random } from '../../../random.ts'
import { NUMBERS, pick, some, TEXTS, type Json, type RandomDocument } from './random-schemas.ts'

/** A value near the limits of one of the two schemas; the schema is chosen anew for each member. */
export function valueNear(random: Random, documents: readonly RandomDocument[]): unknown {
  const sides = documents.map(({ components, schema }) => ({
    schema: schema as unknown,
    components: components.schemas,
  }))
  return valueAt(random, sides, 0)
}

interface Sided {
  readonly schema: unknown
  readonly components: Json
}

function valueAt(random: Random, sides: readonly Sided[], depth: number): unknown {
  const flat = sides.map((side) => ({ ...side, schema: flatten(random, side.schema, side.components, 0) }))
  const first = pick(random, flat)
  const schema = first.schema as Json
  if (depth > 4 || some(random, 0.04)) return pick(random, [...TEXTS, ...NUMBERS, null, true, [], {}])
  if (schema['const'] !== undefined && some(random, 0.8)) return schema['const']
  if (Array.isArray(schema['enum']) && some(random, 0.8)) return pick(random, schema['enum'])
  const all = flat.map((side) => side.schema as Json)
  switch (pick(random, [schema['type'] ?? guess(schema)].flat())) {
    case 'string':
      return textNear(random, all)
    case 'integer':
    case 'number':
      return numberNear(random, all)
    case 'boolean':
      return some(random, 0.5)
    case 'null':
      return null
    case 'array':
      return listNear(random, flat, depth)
    default:
      return objectNear(random, flat, depth)
  }
}

function guess(schema: Json): string {
  return schema['items'] !== undefined || schema['prefixItems'] !== undefined ? 'array' : 'object'
}

/** The schema with its references, `allOf` and one branch of its alternatives. */
function flatten(random: Random, schema: unknown, components: Json, depth: number): Json {
  if (typeof schema !== 'object' || schema === null || depth > 6) return { properties: {}, required: [] }
  const fields = schema as Json
  const reference = fields['$ref']
  const parts: unknown[] = [
    ...(typeof reference === 'string' ? [components[reference.slice('#/components/schemas/'.length)]] : []),
    ...((fields['allOf'] ?? []) as unknown[]),
    ...['anyOf', 'oneOf'].flatMap((name) =>
      fields[name] === undefined ? [] : [pick(random, fields[name] as unknown[])],
    ),
    ...(some(random, 0.3) && fields['then'] !== undefined ? [fields['then']] : []),
    ...(some(random, 0.2) && fields['not'] !== undefined ? [fields['not']] : []),
  ]
  const flat = parts.map((part) => flatten(random, part, components, depth + 1))
  const properties = Object.fromEntries(
    [...flat, fields].flatMap((part) => Object.entries((part['properties'] ?? {}) as Json)),
  )
  const required = [...flat, fields].flatMap((part) => (part['required'] ?? []) as string[])
  return { ...Object.assign({}, ...flat), ...fields, properties, required }
}

function textNear(random: Random, schemas: readonly Json[]): string {
  const schema = pick(random, schemas)
  const lengths = schemas
    .flatMap(({ minLength, maxLength }) => [minLength, maxLength])
    .filter((each) => typeof each === 'number')
  const samples: Json = {
    date: '2026-01-02',
    uuid: '123e4567-e89b-42d3-a456-426614174000',
    email: 'a@example.com',
    ipv4: '192.0.2.1',
    '^a': 'abc',
    b$: 'aab',
    '^[ab]+$': 'abab',
    '^.{2}$': 'zz',
    '^\\d*$': '12',
    '^[A-Z][0-9]{1,3}$': 'A12',
  }
  const sample = samples[String(schema['format'])] ?? samples[String(schema['pattern'])]
  if (sample !== undefined && some(random, 0.6)) return String(sample)
  if (lengths.length > 0 && some(random, 0.7)) {
    return pick(random, ['a', 'b', '1', 'Z']).repeat(Math.max(0, pick(random, lengths) + random.below(3) - 1))
  }
  return pick(random, TEXTS)
}

function numberNear(random: Random, schemas: readonly Json[]): number {
  const bounds = schemas
    .flatMap((schema) =>
      ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'].map((name) => schema[name]),
    )
    .filter((each) => typeof each === 'number')
  const from = pick(random, [...bounds, ...NUMBERS])
  return some(random, 0.3) ? from * (1 + random.below(4)) : from + pick(random, [0, 0, 1, -1, 0.5, -0.5])
}

function listNear(random: Random, sides: readonly Sided[], depth: number): unknown[] {
  const limits = sides
    .flatMap(({ schema }) =>
      ['minItems', 'maxItems', 'minContains', 'maxContains'].map((name) => (schema as Json)[name]),
    )
    .filter((each) => typeof each === 'number')
  const length = Math.max(0, pick(random, [...limits, 0, 1, 2]) + pick(random, [0, 0, 1, -1]))
  const list = Array.from({ length }, (_, index) => {
    const inner = sides.map(({ schema, components }) => {
      const { prefixItems, items, contains } = schema as Json
      const own = (prefixItems as unknown[] | undefined)?.[index] ?? items
      return { schema: contains !== undefined && some(random, 0.5) ? contains : own, components }
    })
    return valueAt(random, inner, depth + 1)
  })
  return some(random, 0.1) && list.length > 1 ? list.with(0, list[1]) : list
}

function objectNear(random: Random, sides: readonly Sided[], depth: number): unknown {
  const schemas = sides.map(({ schema }) => schema as Json)
  const first = pick(random, schemas)
  const names = new Set<string>()
  const density = pick(random, [0, 0.3, 0.6, 0.95])
  for (const schema of schemas) {
    for (const name of Object.keys(schema['properties'] as Json)) if (some(random, density)) names.add(name)
  }
  for (const name of first['required'] as string[]) if (some(random, 0.95)) names.add(name)
  for (const name of ['a', 'b', 'zz', 'A1', 'long-name']) if (some(random, 0.06)) names.add(name)
  const members = [...names].map((name) => {
    const inner = sides.map(({ schema, components }) => {
      const { properties, patternProperties, additionalProperties } = schema as Json
      const own = Object.hasOwn(properties as Json, name) ? (properties as Json)[name] : undefined
      return { schema: own ?? Object.values((patternProperties ?? {}) as Json)[0] ?? additionalProperties, components }
    })
    return [name, valueAt(random, inner, depth + 1)] as const
  })
  return Object.fromEntries(members)
}

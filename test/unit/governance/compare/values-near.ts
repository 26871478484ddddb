/** Random values near the limits of two schemas. */

import { samplesOfFormat, samplesOfPattern } from '../../../../src/governance/containment/text-samples.ts'
import type { Random } from '../../../random.ts'
import { NUMBERS, pick, some, TEXTS, type Json, type RandomDocument } from './random-schemas.ts'

const DEPTH_MAX = 8
const LENGTH_MAX = 300
const LIST_MAX = 8
const NOTHING: Json = { properties: {}, required: [] }
const ANYTHING = [...TEXTS, ...NUMBERS, null, true, [], {}]

interface Sided {
  readonly schema: unknown
  readonly components: Json
}

interface Flat {
  readonly schema: Json
  readonly components: Json
}

/** How one value is chosen: the noise, the side that it leans to, and how many optional members it has. */
interface Manner {
  readonly random: Random
  readonly noise: number
  readonly lean: number
  readonly density: number
}

/** A value near the limits of one of the two schemas; the schema is chosen anew for each member. */
export function valueNear(random: Random, documents: readonly RandomDocument[]): unknown {
  const sides = documents.map(({ components, schema }) => ({ schema, components: components.schemas }))
  const manner = {
    random,
    noise: pick(random, [0, 0, 0.01, 0.04]),
    lean: pick(random, [0, 0.5, 0.5, 1]),
    density: pick(random, [0, 0.3, 0.6, 0.95]),
  }
  return valueAt(manner, sides, 0)
}

function valueAt(manner: Manner, sides: readonly Sided[], depth: number): unknown {
  const { random, noise, lean } = manner
  const flat = sides.map(({ schema, components }) => ({ components, schema: flatten(random, schema, components, 0) }))
  const [one, other] = flat
  const first = some(random, lean) ? other! : one!
  const { schema } = first
  if (depth > DEPTH_MAX || some(random, noise)) return pick(random, ANYTHING)
  if (schema['const'] !== undefined && some(random, 0.9)) return schema['const']
  if (Array.isArray(schema['enum']) && some(random, 0.9)) return pick(random, schema['enum'])
  const all = flat.map((side) => side.schema)
  const type = pick(random, [schema['type'] ?? guess(schema)].flat())
  switch (schema['nullable'] === true && some(random, 0.2) ? 'null' : type) {
    case 'string':
      return textNear(random, schema, all)
    case 'integer':
    case 'number':
      return numberNear(random, schema, all)
    case 'boolean':
      return some(random, 0.5)
    case 'null':
      return null
    case 'array':
      return listNear(manner, flat, depth)
    case 'any':
      return pick(random, ANYTHING)
    default:
      return objectNear(manner, first, flat, depth)
  }
}

function guess(schema: Json): string {
  if (schema['items'] !== undefined || schema['prefixItems'] !== undefined) return 'array'
  return Object.keys(schema).length > 2 || Object.keys(schema['properties'] as Json).length > 0 ? 'object' : 'any'
}

/** The schema with its references, `allOf` and one branch of its alternatives. */
function flatten(random: Random, schema: unknown, components: Json, depth: number): Json {
  if (typeof schema !== 'object' || schema === null || depth > 8) return NOTHING
  const fields = schema as Json
  const parts = partsOf(random, fields, components)
  if (parts.length === 0 && fields['properties'] !== undefined && fields['required'] !== undefined) return fields
  const flat = [...parts.map((part) => flatten(random, part, components, depth + 1)), fields]
  const properties = Object.fromEntries(flat.flatMap((part) => Object.entries((part['properties'] ?? {}) as Json)))
  const required = flat.flatMap((part) => (part['required'] ?? []) as string[])
  return { ...Object.assign({}, ...flat), properties, required }
}

function partsOf(random: Random, fields: Json, components: Json): readonly unknown[] {
  const reference = fields['$ref']
  return [
    ...(typeof reference === 'string' ? [components[reference.slice('#/components/schemas/'.length)]] : []),
    ...((fields['allOf'] ?? []) as unknown[]),
    ...['anyOf', 'oneOf'].flatMap((name) =>
      fields[name] === undefined ? [] : [pick(random, fields[name] as unknown[])],
    ),
    ...['then', 'else'].filter((name) => fields[name] !== undefined && some(random, 0.4)).map((name) => fields[name]),
    ...(some(random, 0.2) && fields['not'] !== undefined ? [fields['not']] : []),
    ...(fields['dependentSchemas'] !== undefined && some(random, 0.5)
      ? Object.values(fields['dependentSchemas'] as Json)
      : []),
  ]
}

function textNear(random: Random, own: Json, schemas: readonly Json[]): string {
  const { format, pattern } = own
  const samples = [
    ...(typeof format === 'string' ? samplesOfFormat(format).slice(0, 1) : []),
    ...(typeof pattern === 'string' ? samplesOfPattern(pattern) : []),
  ]
  if (samples.length > 0 && some(random, 0.7)) return pick(random, samples)
  const lengths = limitsOf(schemas, ['minLength', 'maxLength'])
  if (lengths.length > 0 && some(random, 0.7)) {
    const length = pick(random, lengths) + pick(random, [0, 0, 1, -1])
    return pick(random, ['a', 'b', '1', 'Z']).repeat(Math.min(LENGTH_MAX, Math.max(0, length)))
  }
  return pick(random, TEXTS)
}

function numberNear(random: Random, own: Json, schemas: readonly Json[]): number {
  const bounds = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']
  const from = pick(random, [...limitsOf(schemas, bounds), ...NUMBERS])
  const step = own['multipleOf']
  if (typeof step === 'number' && some(random, 0.5)) return Math.round(from / step) * step
  const near = some(random, 0.3) ? from * (1 + random.below(4)) : from + pick(random, [0, 0, 1, -1, 0.5, -0.5])
  return own['type'] === 'integer' && some(random, 0.8) ? Math.round(near) : near
}

function limitsOf(schemas: readonly Json[], keywords: readonly string[]): readonly number[] {
  return schemas
    .flatMap((schema) => keywords.map((keyword) => schema[keyword]))
    .filter((each) => typeof each === 'number')
}

function listNear(manner: Manner, sides: readonly Flat[], depth: number): unknown[] {
  const { random } = manner
  const schemas = sides.map(({ schema }) => schema)
  const limits = limitsOf(schemas, ['minItems', 'maxItems', 'minContains', 'maxContains'])
  const length = Math.max(0, pick(random, [...limits, 0, 1, 2]) + pick(random, [0, 0, 1, -1]))
  const containing = pick(random, [0, 0.5, 1])
  const list = Array.from({ length: Math.min(length, LIST_MAX) }, (_, index) => {
    const inner = sides.map(({ schema: { prefixItems, items, contains }, components }) => {
      const own = (prefixItems as unknown[] | undefined)?.[index] ?? items
      return { schema: contains !== undefined && some(random, containing) ? contains : own, components }
    })
    return valueAt(manner, inner, depth + 1)
  })
  return some(random, 0.1) && list.length > 1 ? list.with(0, list[1]) : list
}

function objectNear(manner: Manner, first: Flat, sides: readonly Flat[], depth: number): unknown {
  const { random } = manner
  const density = depth > 4 ? 0 : depth === 0 ? manner.density : pick(random, [manner.density, 0, 0.9])
  const names = new Set<string>()
  for (const { schema } of sides) {
    for (const name of Object.keys(schema['properties'] as Json)) if (some(random, density)) names.add(name)
  }
  for (const name of first.schema['required'] as string[]) if (some(random, 0.97)) names.add(name)
  for (const name of ['a', 'b', 'zz', 'A1', 'long-name']) if (some(random, 0.05)) names.add(name)
  const members = [...names].map((name) => {
    const inner = sides.map(({ schema, components }) => ({ schema: memberOf(schema, name), components }))
    return [name, valueAt(manner, inner, depth + 1)] as const
  })
  return Object.fromEntries(members)
}

function memberOf({ properties, patternProperties, additionalProperties }: Json, name: string): unknown {
  const own = Object.hasOwn(properties as Json, name) ? (properties as Json)[name] : undefined
  return own ?? Object.values((patternProperties ?? {}) as Json)[0] ?? additionalProperties
}

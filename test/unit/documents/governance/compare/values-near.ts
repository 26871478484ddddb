/** Random values near the limits of two schemas. */

import { samplesOfFormat, samplesOfPattern } from '../../../../../src/documents/governance/containment/text-samples.ts'
import type { Random } from '../../../../random.ts'
import type { DocumentChange } from './document-change.ts'
import { NUMBERS, pick, some, TEXTS, type Json, type RandomDocument } from './random-schemas.ts'

const DEPTH_MAX = 10
const LENGTH_MAX = 300
const SIZE_MAX = 200
const LIST_MAX = 8
const NOTHING: Json = { properties: {}, required: [] }
const OF_OBJECTS: ReadonlySet<string> = new Set(
  (
    'patternProperties additionalProperties propertyNames minProperties maxProperties dependentRequired dependentSchemas ' +
    'unevaluatedProperties'
  ).split(' '),
)
const FAR = [1e21, -1e21, 1e10, 0.123]
const STRANGE = ['a', 'b', 'zz', 'A1', '12', '1', '', 'abc', 'abcd', 'long-name']
const ANYTHING = [...TEXTS, ...NUMBERS, null, true, [], {}]

interface Sided {
  readonly schema: unknown
  readonly components: Json
  /** References of 3.0 have no siblings. */
  readonly dialect: '3.0' | '3.1'
}

interface Flat extends Sided {
  readonly schema: Json
}

/** How one value is chosen: the noise, the side that it leans to, and how many optional members it has. */
interface Manner {
  readonly random: Random
  readonly noise: number
  readonly lean: number
  readonly density: number
  readonly change: DocumentChange
  /** How often a member is present whose schemas differ. */
  readonly curiosity: number
  /** Members and items that the value may still have. */
  left: number
}

/** A value near the limits of one of the two schemas; the schema is chosen anew for each member. */
export function valueNear(random: Random, documents: readonly RandomDocument[], change: DocumentChange): unknown {
  const sides = documents.map(({ components, schema, dialect }) => ({
    schema,
    components: components.schemas,
    dialect,
  }))
  const manner = {
    random,
    noise: pick(random, [0, 0, 0.01, 0.04]),
    lean: pick(random, [0, 0.5, 0.5, 1]),
    density: pick(random, [0, 0.3, 0.6, 0.95]),
    change,
    curiosity: pick(random, [0, 0.5, 0.9]),
    left: SIZE_MAX,
  }
  return valueAt(manner, sides, 0)
}

function valueAt(manner: Manner, sides: readonly Sided[], depth: number): unknown {
  const { random, noise, lean } = manner
  if (--manner.left < 0) return null
  const flat = sides.map((side) => ({ ...side, schema: flatten(random, side, 0) }))
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
  return Object.keys(schema).some((name) => OF_OBJECTS.has(name)) ||
    Object.keys(schema['properties'] as Json).length > 0
    ? 'object'
    : 'any'
}

/** The schema with its references, `allOf` and one branch of its alternatives. */
function flatten(random: Random, side: Sided, depth: number): Json {
  const { schema } = side
  if (typeof schema !== 'object' || schema === null || depth > 8) return NOTHING
  const fields = schema as Json
  const parts = partsOf(random, fields, side)
  if (parts.length === 0 && fields['properties'] !== undefined && fields['required'] !== undefined) return fields
  const inner = parts.map((part) => flatten(random, { ...side, schema: part }, depth + 1))
  if (side.dialect === '3.0' && fields['$ref'] !== undefined) return inner[0] ?? NOTHING
  const flat = [...inner, fields]
  const properties = Object.fromEntries(flat.flatMap((part) => Object.entries((part['properties'] ?? {}) as Json)))
  const required = flat.flatMap((part) => (part['required'] ?? []) as string[])
  return { ...Object.assign({}, ...flat), properties, required }
}

function partsOf(random: Random, fields: Json, { components }: Sided): readonly unknown[] {
  const reference = fields['$ref']
  return [
    ...(typeof reference === 'string' ? [components[reference.slice('#/components/schemas/'.length)]] : []),
    ...((fields['allOf'] ?? []) as unknown[]),
    ...['anyOf', 'oneOf'].flatMap((name) =>
      fields[name] === undefined ? [] : [pick(random, fields[name] as unknown[])],
    ),
    ...['then', 'else'].filter((name) => fields[name] !== undefined && some(random, 0.4)).map((name) => fields[name]),
    ...['not', 'if'].filter((name) => fields[name] !== undefined && some(random, 0.3)).map((name) => fields[name]),
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
  const from = pick(random, [...limitsOf(schemas, bounds), ...NUMBERS, ...(some(random, 0.1) ? FAR : [])])
  const step = own['multipleOf']
  if (typeof step === 'number' && some(random, 0.5)) return Math.round(from / step) * step
  const near = some(random, 0.3) ? from * (1 + random.below(4)) : from + pick(random, [0, 0, 1, -1, 0.5, -0.5, 0.25])
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
  const isCurious = manner.change.differ(schemas[0]!['items'], schemas[1]!['items']) && some(random, manner.curiosity)
  const length = Math.max(isCurious ? 1 : 0, pick(random, [...limits, 0, 1, 2]) + pick(random, [0, 0, 1, -1]))
  const containing = pick(random, [0, 0.5, 1])
  const list = Array.from({ length: Math.min(length, LIST_MAX) }, (_, index) => {
    const inner = sides.map((side) => {
      const { prefixItems, items, contains } = side.schema
      const own = (prefixItems as unknown[] | undefined)?.[index] ?? items
      return { ...side, schema: contains !== undefined && some(random, containing) ? contains : own }
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
    for (const name of namesOf(schema)) {
      const [one, other] = sides.map((side) => (side.schema['properties'] as Json)[name])
      const isCurious = manner.change.differ(one, other) && some(random, manner.curiosity)
      if (isCurious || some(random, density)) names.add(name)
    }
  }
  for (const name of first.schema['required'] as string[]) if (some(random, 0.97)) names.add(name)
  const strange = pick(random, [0, 0, 0.05, 0.3])
  for (const name of STRANGE) if (some(random, strange)) names.add(name)
  const members = [...names].map((name) => {
    const inner = sides.map((side) => ({ ...side, schema: memberOf(random, side.schema, name) }))
    return [name, valueAt(manner, inner, depth + 1)] as const
  })
  return Object.fromEntries(members)
}

/** Names that a schema declares, or that one of its patterns may match. */
function namesOf({
  properties,
  patternProperties,
  propertyNames,
  dependentRequired,
  dependentSchemas,
}: Json): string[] {
  const patterns = Object.keys((patternProperties ?? {}) as Json)
  const listed = (propertyNames as Json | undefined)?.['enum']
  return [
    ...Object.keys(properties as Json),
    ...patterns.flatMap((pattern) => samplesOfPattern(pattern).slice(0, 2)),
    ...(Array.isArray(listed) ? listed.map(String) : []),
    ...Object.entries((dependentRequired ?? {}) as Json).flatMap(([name, needed]) => [name, ...(needed as string[])]),
    ...Object.keys((dependentSchemas ?? {}) as Json),
  ]
}

/** The schema of a member; sometimes another one that may apply to it. */
function memberOf(random: Random, schema: Json, name: string): unknown {
  const { properties, patternProperties, additionalProperties } = schema
  const own = Object.hasOwn(properties as Json, name) ? (properties as Json)[name] : undefined
  const patterns = Object.values((patternProperties ?? {}) as Json)
  if (own !== undefined && (patterns.length === 0 || some(random, 0.7))) return own
  const others = [...patterns, additionalProperties].filter((each) => each !== undefined)
  return others.length === 0 ? own : pick(random, others)
}

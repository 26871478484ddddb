/** Random schemas, edits of them, and values near the limits of two schemas. */

import type { Random } from '../../../random.ts'

type Json = Record<string, unknown>

const NAMES = ['Item', 'Tree', 'Kind']
const PROPERTIES = ['a', 'b', 'c', 'kind', '__proto__']
const TEXTS = ['', 'a', 'b', 'ab', 'abc', 'A1', 'é', '2026-01-02', '😀']
const PATTERNS = ['^a', 'b$', '^[ab]+$', '^.{2}$', '^\\d*$', '^[A-Z][0-9]{1,3}$']
const FORMATS = ['date', 'uuid', 'email', 'ipv4']
const NUMBERS = [0, 1, -1, 2, 3, 5, 10, 0.5, -2.5]
const TYPES = ['string', 'integer', 'number', 'boolean', 'object', 'object', 'array', 'object']

const pick = <T>(random: Random, items: readonly T[]): T => items[random.below(items.length)]!
const some = (random: Random, chance: number): boolean => random.next() < chance
const ref = (name: string): Json => ({ $ref: `#/components/schemas/${name}` })

export interface RandomDocument {
  readonly components: { readonly schemas: Json }
  readonly schema: Json
}

/** A recursive component, one that refers to it, and a plain one; the schema itself may refer to them. */
export function randomDocument(random: Random): RandomDocument {
  const tree = { type: 'object', properties: { children: { type: 'array', items: ref('Tree') }, a: plain(random, 0) } }
  const item = { type: 'object', properties: { a: plain(random, 1), b: ref('Kind') }, required: ['a'] }
  return {
    components: { schemas: { Item: item, Tree: tree, Kind: plain(random, 0) } },
    schema: randomSchema(random, 2),
  }
}

function randomSchema(random: Random, depth: number): Json {
  if (depth > 0 && some(random, 0.1)) return ref(pick(random, NAMES))
  if (depth > 0 && some(random, 0.12)) return combination(random, depth)
  return plain(random, depth)
}

function combination(random: Random, depth: number): Json {
  const inner = (): Json => randomSchema(random, depth - 1)
  const kinds: readonly (() => Json)[] = [
    () => ({ oneOf: ['x', 'y'].map((kind) => withKind(plainObject(random, depth - 1), kind)) }),
    () => ({ anyOf: [inner(), { type: 'null' }] }),
    () => ({ anyOf: [inner(), inner()] }),
    () => ({ oneOf: [inner(), inner()] }),
    () => ({ allOf: [ref('Item'), plainObject(random, depth - 1)] }),
    () => ({ ...plain(random, depth - 1), not: plain(random, 0) }),
    () => ({ if: { required: ['a'] }, then: { required: ['b'] }, ...plainObject(random, depth - 1) }),
    () => ({ ...ref('Item'), ...keywordOf(random, 'object', depth - 1) }),
  ]
  return pick(random, kinds)()
}

function withKind(schema: Json, kind: string): Json {
  return {
    ...schema,
    properties: { ...(schema['properties'] as Json), kind: { const: kind } },
    required: [...new Set([...((schema['required'] ?? []) as string[]), 'kind'])],
  }
}

function plain(random: Random, depth: number): Json {
  const type = pick(random, depth > 0 ? TYPES : TYPES.slice(0, 4))
  const schema: Json = type === 'object' ? plainObject(random, depth) : { type }
  if (type === 'array') schema['items'] = randomSchema(random, depth - 1)
  if (some(random, 0.1)) schema['type'] = [type, 'null']
  for (let count = random.below(3); count > 0; count--) Object.assign(schema, keywordOf(random, type, depth))
  return schema
}

function plainObject(random: Random, depth: number): Json {
  const names = PROPERTIES.filter(() => some(random, 0.4))
  return {
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, randomSchema(random, Math.max(0, depth - 1))])),
    ...(names.length > 0 && some(random, 0.5) && { required: [pick(random, names)] }),
    ...(some(random, 0.25) && { additionalProperties: false }),
  }
}

/** One keyword for values of a type. */
function keywordOf(random: Random, type: string, depth: number): Json {
  const inner = (): Json => randomSchema(random, Math.max(0, depth - 1))
  const kinds: Readonly<Record<string, readonly (() => Json)[]>> = {
    string: [
      () => ({ minLength: random.below(4) }),
      () => ({ maxLength: random.below(6) }),
      () => ({ pattern: pick(random, PATTERNS) }),
      () => ({ format: pick(random, FORMATS) }),
      () => ({ enum: TEXTS.slice(random.below(4), 4 + random.below(4)) }),
      () => ({ const: pick(random, TEXTS) }),
    ],
    number: [
      () => ({ minimum: pick(random, NUMBERS) }),
      () => ({ maximum: pick(random, NUMBERS) }),
      () => ({ exclusiveMinimum: pick(random, NUMBERS) }),
      () => ({ exclusiveMaximum: pick(random, NUMBERS) }),
      () => ({ multipleOf: pick(random, [1, 2, 3, 4, 0.5]) }),
      () => ({ enum: NUMBERS.slice(random.below(4), 4 + random.below(4)) }),
    ],
    boolean: [() => ({ const: some(random, 0.5) }), () => ({ enum: [true] })],
    array: [
      () => ({ minItems: random.below(3) }),
      () => ({ maxItems: random.below(4) }),
      () => ({ uniqueItems: true }),
      () => ({ contains: inner() }),
      () => ({ contains: inner(), minContains: random.below(3) }),
      () => ({ contains: inner(), maxContains: 1 + random.below(2) }),
      () => ({ prefixItems: [inner(), inner()] }),
      () => ({ prefixItems: [inner()], items: false }),
      () => ({ unevaluatedItems: false }),
    ],
    object: [
      () => ({ minProperties: random.below(3) }),
      () => ({ maxProperties: random.below(4) }),
      () => ({ required: PROPERTIES.filter(() => some(random, 0.3)) }),
      () => ({ additionalProperties: some(random, 0.4) ? false : inner() }),
      () => ({ patternProperties: { [pick(random, PATTERNS)]: inner() } }),
      () => ({ propertyNames: { maxLength: 1 + random.below(5) } }),
      () => ({ dependentRequired: { [pick(random, ['a', 'b', 'c'])]: [pick(random, PROPERTIES)] } }),
      () => ({ dependentSchemas: { a: { required: ['b'] } } }),
      () => ({ unevaluatedProperties: false }),
    ],
  }
  return pick(random, kinds[type === 'integer' ? 'number' : type] ?? kinds['number']!)()
}

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

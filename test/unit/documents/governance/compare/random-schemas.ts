/** Random schemas. */

import type { Random } from '../../../../random.ts'

export type Json = Record<string, unknown>

const NAMES = ['Item', 'Tree', 'Kind']
export const PROPERTIES = ['a', 'b', 'c', 'kind', '__proto__']
export const TEXTS = ['', 'a', 'b', 'ab', 'abc', 'A1', 'é', '2026-01-02', '😀']
const PATTERNS = ['^a', 'b$', '^[ab]+$', '^.{2}$', '^\\d*$', '^[A-Z][0-9]{1,3}$']
const FORMATS = ['date', 'uuid', 'email', 'ipv4']
export const NUMBERS = [0, 1, -1, 2, 3, 5, 10, 0.5, -2.5]
const TYPES = ['string', 'integer', 'number', 'boolean', 'object', 'object', 'array', 'object']

export const pick = <T>(random: Random, items: readonly T[]): T => items[random.below(items.length)]!
export const some = (random: Random, chance: number): boolean => random.next() < chance
const ref = (name: string): Json => ({ $ref: `#/components/schemas/${name}` })

export interface RandomDocument {
  readonly components: { readonly schemas: Json }
  readonly schema: Json
  readonly dialect: '3.0' | '3.1'
}

/** A recursive component, one that refers to it, and a plain one; the schema itself may refer to them. */
export function randomDocument(random: Random): RandomDocument {
  const tree = { type: 'object', properties: { children: { type: 'array', items: ref('Tree') }, a: plain(random, 0) } }
  const item = { type: 'object', properties: { a: plain(random, 1), b: ref('Kind') }, required: ['a'] }
  return {
    components: { schemas: { Item: item, Tree: tree, Kind: plain(random, 0) } },
    schema: randomSchema(random, 2),
    dialect: '3.1',
  }
}

export function randomSchema(random: Random, depth: number): Json {
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
    () => ({ if: inner(), then: inner(), ...(some(random, 0.6) && { else: inner() }) }),
    () => ({ ...ref(pick(random, NAMES)), ...keywordOf(random, 'object', depth - 1) }),
    () => ({ ...ref('Tree'), properties: { b: inner() }, required: ['b'] }),
    () => discriminated(random, depth),
    () => ({ const: Object.fromEntries(PROPERTIES.slice(0, 2).map((name) => [name, pick(random, TEXTS)])) }),
  ]
  return pick(random, kinds)()
}

function discriminated(random: Random, depth: number): Json {
  const branches = ['x', 'y', 'z'].slice(random.below(2)).map((kind) => withKind(plainObject(random, depth - 1), kind))
  return { [some(random, 0.7) ? 'oneOf' : 'anyOf']: branches, discriminator: { propertyName: 'kind' } }
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
  if (Array.isArray(schema['enum']) && some(random, 0.2)) schema['enum'] = [...(schema['enum'] as unknown[]), null]
  return schema
}

function plainObject(random: Random, depth: number): Json {
  const names = PROPERTIES.filter(() => some(random, 0.4))
  return {
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, member(random, depth)])),
    ...(names.length > 0 && some(random, 0.5) && { required: [pick(random, names)] }),
    ...(some(random, 0.25) && { additionalProperties: false }),
  }
}

/** A schema of a property; sometimes one that is sent in one direction only, or a boolean. */
function member(random: Random, depth: number): unknown {
  if (some(random, 0.04)) return some(random, 0.6)
  const schema = randomSchema(random, Math.max(0, depth - 1))
  if (some(random, 0.9)) return schema
  return { ...schema, [some(random, 0.5) ? 'readOnly' : 'writeOnly']: true }
}

/** One keyword for values of a type. */
export function keywordOf(random: Random, type: string, depth: number): Json {
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
      () => ({ dependentSchemas: { [pick(random, ['a', 'b'])]: { properties: { c: inner() } } } }),
      () => ({ not: { required: [pick(random, PROPERTIES)] } }),
      () => ({ unevaluatedProperties: false }),
    ],
  }
  return pick(random, kinds[type === 'integer' ? 'number' : type] ?? kinds['number']!)()
}

/**
 * Reads parameters as OpenAPI serialises them (style and explode), typed by their schema.
 *
 * `simple` and `form` cover path, header, query and cookie; `deepObject`, `spaceDelimited` and
 * `pipeDelimited` cover the rest of queries. A text becomes a number or boolean only where the schema
 * says so, and only if it is one in full: what cannot be read stays a text and fails its schema.
 */

import type { ParameterPlan } from '../catalogue/route-plan.ts'

type Schema = Readonly<Record<string, unknown>>

/** Every value of each name in a query, decoded; null where it cannot be decoded or has too many parts. */
export function parseQuery(query: string): Map<string, string[]> | null {
  const values = new Map<string, string[]>()
  if (query === '') return values
  const parts = query.split('&')
  if (parts.length > PARTS_MAX) return null
  for (const part of parts) {
    if (part === '') continue
    const at = part.indexOf('=')
    const name = decode(at < 0 ? part : part.slice(0, at))
    const value = decode(at < 0 ? '' : part.slice(at + 1))
    if (name === null || value === null) return null
    const known = values.get(name)
    if (known === undefined) values.set(name, [value])
    else known.push(value)
  }
  return values
}

const PARTS_MAX = 1_000

/** The value of a query parameter, `undefined` where it is absent. */
export function readQueryParameter(plan: ParameterPlan, query: ReadonlyMap<string, readonly string[]>): unknown {
  const schema = asSchema(plan.schema)
  if (plan.style === 'deepObject') return readDeepObject(plan.name, schema, query)
  if (typeOf(schema) === 'object' && plan.explode) return readExploded(schema, query)
  const values = query.get(plan.name)
  if (values === undefined) return undefined
  if (typeOf(schema) === 'array') {
    const items = plan.explode ? values : values.join(',').split(SEPARATORS[plan.style] ?? ',')
    return items.map((item) => typed(item, asSchema(schema['items'])))
  }
  return values.length === 1 ? typed(values[0]!, schema) : values
}

/** The value of a path or header parameter in style `simple`. */
export function readSimple(plan: ParameterPlan, text: string): unknown {
  const schema = asSchema(plan.schema)
  if (typeOf(schema) === 'array') return text.split(',').map((item) => typed(item.trim(), asSchema(schema['items'])))
  if (typeOf(schema) === 'object') return readPairs(text, schema, plan.explode)
  return typed(text, schema)
}

const SEPARATORS: Readonly<Record<string, string>> = { form: ',', spaceDelimited: ' ', pipeDelimited: '|' }

function readDeepObject(name: string, schema: Schema, query: ReadonlyMap<string, readonly string[]>): unknown {
  const entries = [...query]
    .filter(([key]) => key.startsWith(`${name}[`) && key.endsWith(']'))
    .map(([key, values]) => {
      const property = key.slice(name.length + 1, -1)
      return [property, values.length === 1 ? typed(values[0]!, propertyOf(schema, property)) : values] as const
    })
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

function readExploded(schema: Schema, query: ReadonlyMap<string, readonly string[]>): unknown {
  const properties = asSchema(schema['properties'])
  const entries = Object.keys(properties).flatMap((property) => {
    const value = query.get(property)?.[0]
    return value === undefined ? [] : [[property, typed(value, propertyOf(schema, property))] as const]
  })
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

function readPairs(text: string, schema: Schema, explode: boolean): unknown {
  const parts = text.split(',')
  const pairs = explode
    ? parts.map((part) => [part.slice(0, part.indexOf('=')), part.slice(part.indexOf('=') + 1)] as const)
    : parts.flatMap((part, index) => (index % 2 === 0 ? [[part, parts[index + 1] ?? ''] as const] : []))
  return Object.fromEntries(pairs.map(([key, value]) => [key, typed(value, propertyOf(schema, key))]))
}

function typed(text: string, schema: Schema): unknown {
  const types = [schema['type']].flat()
  if (
    (types.includes('integer') || types.includes('number')) &&
    /^-?\d{1,16}(\.\d{1,16})?([eE][+-]?\d{1,3})?$/.test(text)
  ) {
    return Number(text)
  }
  if (types.includes('boolean') && (text === 'true' || text === 'false')) return text === 'true'
  return text
}

function typeOf(schema: Schema): unknown {
  return [schema['type']].flat().find((type) => type !== 'null')
}

function propertyOf(schema: Schema, name: string): Schema {
  const properties = asSchema(schema['properties'])
  return Object.hasOwn(properties, name) ? asSchema(properties[name]) : {}
}

function asSchema(value: unknown): Schema {
  return typeof value === 'object' && value !== null ? (value as Schema) : {}
}

function decode(text: string): string | null {
  if (!text.includes('%') && !text.includes('+')) return text
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return null
  }
}

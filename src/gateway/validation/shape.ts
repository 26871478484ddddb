/**
 * The types that a schema accepts for a string value, and those of its items and members.
 *
 * Parameters and forms consist of strings; to be validated, each one must first become the number, boolean or
 * list that the schema declares. Alternatives (`anyOf`, `oneOf`) are merged. Computed once, at activation,
 * and bounded, because schemas can refer to themselves.
 */

import type { RoutePlan } from '../../boundary/plan/route-plan.ts'

export interface Shape {
  readonly types: ReadonlySet<string>
  readonly items: Shape | null
  readonly members: ReadonlyMap<string, Shape>
}

type Schema = Readonly<Record<string, unknown>>

const DEPTH_MAX = 4
const SCHEMAS_MAX = 2_000
const COMPONENT = '#/components/schemas/'
const OPEN: Shape = { types: new Set(), items: null, members: new Map() }

export function toShape(schema: unknown, components: RoutePlan['components']): Shape {
  const schemas = (components['schemas'] ?? {}) as Schema
  let budget = SCHEMAS_MAX

  function read(root: readonly unknown[], depth: number): Shape {
    if (depth > DEPTH_MAX) return OPEN
    const types = new Set<string>()
    const items: unknown[] = []
    const members = new Map<string, unknown[]>()
    const waiting = [...root]
    const followed = new Set<unknown>()
    for (let next = waiting.pop(); next !== undefined && --budget > 0; next = waiting.pop()) {
      if (typeof next !== 'object' || next === null || followed.has(next)) continue
      followed.add(next)
      const fields = next as Schema
      if (typeof fields['$ref'] === 'string') waiting.push(schemas[fields['$ref'].slice(COMPONENT.length)] ?? null)
      for (const type of typesOf(fields)) types.add(type)
      if (fields['items'] !== undefined) items.push(fields['items'])
      for (const [name, member] of Object.entries(fields['properties'] ?? {})) {
        members.set(name, [...(members.get(name) ?? []), member])
      }
      for (const keyword of ['allOf', 'anyOf', 'oneOf']) {
        if (Array.isArray(fields[keyword])) waiting.push(...(fields[keyword] as unknown[]))
      }
    }
    return {
      types,
      items: items.length === 0 ? null : read(items, depth + 1),
      members: new Map([...members].map(([name, inner]) => [name, read(inner, depth + 1)])),
    }
  }

  return read([schema], 0)
}

function typesOf({ type, enum: values, const: value, properties, items }: Schema): string[] {
  if (typeof type === 'string') return [type]
  if (Array.isArray(type)) return type.filter((one) => typeof one === 'string')
  if (Array.isArray(values)) return values.map(typeOf)
  if (value !== undefined) return [typeOf(value)]
  return [...(properties === undefined ? [] : ['object']), ...(items === undefined ? [] : ['array'])]
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

/** Returns `array` or `object` only if the shape accepts no scalar other than null. */
export function kindOf({ types }: Shape): 'array' | 'object' | 'scalar' {
  for (const type of types) if (type !== 'array' && type !== 'object' && type !== 'null') return 'scalar'
  return types.has('array') ? 'array' : types.has('object') ? 'object' : 'scalar'
}

/**
 * Converts a text to the type of the shape. Returns the text if the shape accepts texts, or if the conversion fails.
 *
 * Integers consist of digits only, because many backends read `1e3` as 1.
 */
export function toScalar(text: string, { types }: Shape): unknown {
  return types.size === 0 || types.has('string') ? text : toTyped(text, types)
}

export function toTyped(text: string, types: ReadonlySet<string>): unknown {
  if (types.has('number') && NUMBER.test(text)) return Number(text)
  if (types.has('integer') && INTEGER.test(text)) return Number(text)
  if (types.has('boolean') && (text === 'true' || text === 'false')) return text === 'true'
  return text
}

const INTEGER = /^-?\d{1,30}$/
const NUMBER = /^-?\d{1,30}(?:\.\d{1,30})?(?:[eE][+-]?\d{1,3})?$/

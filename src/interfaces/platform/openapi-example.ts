/**
 * Generates an example for a schema: the required members, or the first two, from names, formats and bounds. A test validates
 * each example, because users copy them.
 */

import type { Schema } from './schema-type.ts'

/** Texts by member name, for members whose schema alone would give a meaningless or an invalid example. */
const TEXTS: Readonly<Record<string, string>> = {
  api: 'payments-v1',
  product: 'prd_01m7xqt5n2e10b7m6zza79hete',
  consumer: 'con_01m7xqt5n2e10b7m6zza79hete',
  clientId: 'reporting',
  name: 'Acme',
  title: 'One version a major',
  status: 'Accepted',
  username: 'grace',
  password: 'correct horse battery staple',
  contact: 'team@example.com',
  url: 'https://backend.example',
  issuer: 'https://idp.example',
  health: '/health',
  specification: 'b3BlbmFwaTogMy4xLjAK',
  previous: 'b3BlbmFwaTogMy4xLjAK',
  openSla: 'b3BlbnNsYTogMS4wLjAK',
  slaVariant: 'gold',
  kind: 'application',
  tenant: 'acme',
  code: '123456',
  certificateThumbprint: '47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU',
}
const DEPTH_MAX = 6

export function exampleOf(schema: Schema, name = '', depth = 0): unknown {
  const { enum: values, const: constant, default: standard, type } = schema
  if (constant !== undefined) return constant
  if (standard !== undefined) return standard
  if (Array.isArray(values)) return values[0] as unknown
  const [first] = Array.isArray(type) ? (type as readonly string[]) : [type]
  switch (first) {
    case 'object':
      return exampleOfObject(schema, depth)
    case 'array':
      return depth >= DEPTH_MAX ? [] : [exampleOf((schema['items'] ?? {}) as Schema, name, depth + 1)]
    case 'string':
      return exampleOfText(schema, name)
    case 'integer':
    case 'number':
      return Math.max(Number(schema['minimum'] ?? 1), 1)
    case 'boolean':
      return true
    default:
      return null
  }
}

function exampleOfObject({ properties = {}, required = [] }: Schema, depth: number): unknown {
  const wanted = required as readonly string[]
  const names = Object.keys(properties as object)
  const shown = wanted.length > 0 ? wanted : names.slice(0, 2)
  const members = properties as Readonly<Record<string, Schema>>
  return Object.fromEntries(shown.map((name) => [name, exampleOf(members[name] ?? {}, name, depth + 1)]))
}

function exampleOfText({ format, minLength }: Schema, name: string): string {
  if (format === 'date-time') return '2030-01-01T00:00:00.000Z'
  const known = Object.hasOwn(TEXTS, name) ? TEXTS[name] : undefined
  if (known !== undefined) return known
  const text = name === 'scopes' ? 'payments:read' : 'An example.'
  return text.padEnd(Number(minLength ?? 0), '.')
}

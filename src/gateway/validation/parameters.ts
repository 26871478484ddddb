/**
 * Reads parameters as OpenAPI serialises them (style and explode), typed by their schema.
 *
 * `simple` covers path and header, `form` query and cookie, `spaceDelimited`, `pipeDelimited` and
 * `deepObject` the other query styles; `label` and `matrix` are not supported. A parameter with one
 * declared value that occurs twice stays a list and fails its schema, because the backend might read the
 * other value.
 */

import type { ParameterPlan } from '../../boundary/plan/route-plan.ts'
import { valuesOf, type OperationRequest } from '../routing/operation-request.ts'
import { kindOf, toScalar, type Shape } from './shape.ts'

/** Headers that hold one value. If one is repeated, implementations read different values of it; others are joined. */
const SINGLE: ReadonlySet<string> = new Set([
  'age',
  'etag',
  'expires',
  'from',
  'if-modified-since',
  'if-unmodified-since',
  'last-modified',
  'location',
  'max-forwards',
  'referer',
  'retry-after',
  'server',
  'set-cookie',
  'user-agent',
])

/** A value that is present and cannot be decoded. */
export const UNREADABLE = Symbol('unreadable')

/** The encoded values by decoded name. */
export type RawValues = ReadonlyMap<string, readonly string[]>

const PARTS_MAX = 1_000
const SEPARATORS: Readonly<Record<string, string>> = { form: ',', spaceDelimited: ' ', pipeDelimited: '|' }

/** Returns null if there are too many parts. Ignores parts whose name cannot be decoded. */
export function parsePairs(text: string): RawValues | null {
  const values = new Map<string, string[]>()
  if (text === '') return values
  let parts = 0
  for (let from = 0; from <= text.length;) {
    if (++parts > PARTS_MAX) return null
    let end = text.indexOf('&', from)
    if (end < 0) end = text.length
    let equals = text.indexOf('=', from)
    if (equals < 0 || equals > end) equals = end
    const name = decodePlus(text.slice(from, equals))
    if (end > from && name !== UNREADABLE) {
      const value = text.slice(equals + 1, Math.max(end, equals + 1))
      const known = values.get(name)
      if (known === undefined) values.set(name, [value])
      else known.push(value)
    }
    from = end + 1
  }
  return values
}

/** Returns the value of a query parameter; `undefined` if it is absent. */
export function readQuery({ name, style, explode }: ParameterPlan, shape: Shape, query: RawValues): unknown {
  if (style === 'deepObject') return readDeepObject(name, shape, query)
  const kind = kindOf(shape)
  if (kind === 'object' && explode) return readMembers(shape, query)
  const raw = query.get(name)
  if (raw === undefined) return undefined
  const values = decodeAll(raw)
  if (values === null) return UNREADABLE
  if (kind === 'array') return readList(explode ? values : values.join(',').split(SEPARATORS[style] ?? ','), shape)
  if (kind === 'object') return readPairs(values.join(','), shape, false)
  return values.length === 1 ? toScalar(values[0] ?? '', shape) : values
}

/** Returns the value of a path parameter. */
export function readPath({ explode }: ParameterPlan, shape: Shape, raw: string | undefined): unknown {
  if (raw === undefined) return undefined
  const text = raw.includes('%') ? decode(raw) : raw
  return text === UNREADABLE ? UNREADABLE : readSimple(text, shape, explode)
}

export function readHeader({ name, explode }: ParameterPlan, shape: Shape, request: OperationRequest): unknown {
  const lower = name.toLowerCase()
  const values = valuesOf(request, lower)
  if (values.length === 0) return undefined
  if (values.length > 1 && SINGLE.has(lower)) return values
  return readSimple(values.join(', '), shape, explode)
}

export function readCookie({ name, explode }: ParameterPlan, shape: Shape, request: OperationRequest): unknown {
  const pairs = valuesOf(request, 'cookie').flatMap((value) => value.split(';'))
  const values = pairs.flatMap((part) => {
    const at = part.indexOf('=')
    return at >= 0 && part.slice(0, at).trim() === name ? [part.slice(at + 1).trim()] : []
  })
  if (values.length > 1) return values
  const [raw] = values
  const text = raw === undefined ? undefined : decode(raw)
  return typeof text === 'string' ? readSimple(text, shape, explode && kindOf(shape) === 'object') : text
}

/** Returns the fields of a form as an object. */
export function readForm(form: RawValues, shape: Shape): unknown {
  const entries: [string, unknown][] = []
  for (const [name, raw] of form) {
    const values = decodeAll(raw)
    if (values === null) return UNREADABLE
    entries.push([name, readMember(values, shape.members.get(name))])
  }
  return Object.fromEntries(entries)
}

function readMember(values: readonly string[], shape: Shape | undefined): unknown {
  if (shape !== undefined && kindOf(shape) === 'array') return readList(values, shape)
  if (values.length !== 1) return values
  return shape === undefined ? values[0] : toScalar(values[0] ?? '', shape)
}

function readDeepObject(name: string, shape: Shape, query: RawValues): unknown {
  const entries: [string, unknown][] = []
  for (const [key, raw] of query) {
    if (!key.startsWith(`${name}[`) || !key.endsWith(']')) continue
    const member = key.slice(name.length + 1, -1)
    const values = decodeAll(raw)
    if (values === null) return UNREADABLE
    if (!member.includes('[')) entries.push([member, readMember(values, shape.members.get(member))])
  }
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

function readMembers(shape: Shape, query: RawValues): unknown {
  const entries: [string, unknown][] = []
  for (const [name, member] of shape.members) {
    const raw = query.get(name)
    if (raw === undefined) continue
    const values = decodeAll(raw)
    if (values === null) return UNREADABLE
    entries.push([name, readMember(values, member)])
  }
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

function readSimple(text: string, shape: Shape, explode: boolean): unknown {
  const kind = kindOf(shape)
  if (kind === 'array') return readList(text.split(','), shape)
  return kind === 'object' ? readPairs(text, shape, explode) : toScalar(text, shape)
}

function readList(parts: readonly string[], { items }: Shape): unknown[] {
  return parts.map((part) => (items === null ? part : toScalar(part.trim(), items)))
}

function readPairs(text: string, shape: Shape, explode: boolean): unknown {
  const parts = text.split(',')
  const pairs = explode
    ? parts.map((part) => [part.slice(0, part.indexOf('=')), part.slice(part.indexOf('=') + 1)] as const)
    : parts.flatMap((part, index) => (index % 2 === 0 ? [[part, parts[index + 1] ?? ''] as const] : []))
  return Object.fromEntries(pairs.map(([name, value]) => [name, readMember([value], shape.members.get(name))]))
}

function decodeAll(raw: readonly string[]): string[] | null {
  const values: string[] = []
  for (const text of raw) {
    const value = decodePlus(text)
    if (value === UNREADABLE) return null
    values.push(value)
  }
  return values
}

function decodePlus(text: string): string | typeof UNREADABLE {
  return text.includes('%') || text.includes('+') ? decode(text.replaceAll('+', ' ')) : text
}

function decode(text: string): string | typeof UNREADABLE {
  try {
    return decodeURIComponent(text)
  } catch {
    return UNREADABLE
  }
}

/**
 * What of a document is put before Spectral's engine.
 *
 * That engine walks a document with its references unfolded, and needs tens of microseconds for each value
 * of it: a document of 13 MB would take minutes, and ten lines can unfold to a billion values. Up to a
 * bound a document is seen whole; of a larger one so many operations as fit, with all that they refer to. Which
 * ones is said by a hash of their names, so that they are the same in every run and not those that come first.
 */

import { createHash } from 'node:crypto'
import { fieldsOf, type Fields } from '../fields.ts'
import { escapePointer, resolvePointer } from '../references.ts'
import type { DeclaredOperation } from '../operations.ts'

export interface Excerpt {
  /** A copy that may be changed. */
  readonly document: Fields
  /** Operations in it, and in all. */
  readonly operations: number
  readonly of: number
}

/** What an excerpt has beside operations and components. */
const HEAD = ['openapi', 'info', 'jsonSchemaDialect', 'servers', 'security', 'tags'] as const
/** A reference costs beyond what it leads to: it is looked up. */
const REFERENCE_VALUES = 3
/** Below what the stack holds; deeper is beyond any bound. */
const DEPTH_MAX = 2_000

export function excerptOf(document: Fields, operations: readonly DeclaredOperation[], valuesMax: number): Excerpt {
  const sizeOf = createSizing(document, valuesMax)
  const of = operations.length
  if (sizeOf(document) <= valuesMax) return { document: inert(document) as Fields, operations: of, of }

  let left = valuesMax
  const fits = (value: unknown): boolean => {
    const size = sizeOf(value)
    if (size > left) return false
    left -= size
    return true
  }
  const head = HEAD.filter((key) => document[key] !== undefined && fits(document[key]))
  const { securitySchemes } = fieldsOf(document['components'])
  const chosen: DeclaredOperation[] = []
  for (const operation of [...operations].sort((a, b) => compare(orderOf(a), orderOf(b)))) {
    if (fits([operation.fields, operation.shared])) chosen.push(operation)
  }
  // In their own order again.
  const kept = new Set(chosen)
  const paths: Record<string, Record<string, unknown>> = {}
  for (const { path, method, fields, shared } of operations.filter((operation) => kept.has(operation))) {
    paths[path] ??= shared.length > 0 ? { parameters: shared } : {}
    paths[path][method.toLowerCase()] = fields
  }
  const components = reachable(document, paths)
  if (fits(securitySchemes)) components['securitySchemes'] = { ...fieldsOf(securitySchemes) }
  const excerpt = { ...Object.fromEntries(head.map((key) => [key, document[key]])), paths, components }
  return { document: inert(excerpt) as Fields, operations: kept.size, of }
}

function orderOf({ method, path }: DeclaredOperation): string {
  return createHash('sha256').update(`${method} ${path}`).digest('hex')
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Values of a part of the document with its references unfolded; a circle is followed once. */
function createSizing(document: Fields, valuesMax: number): (value: unknown) => number {
  const known = new Map<string, number>()

  function size(value: unknown, depth: number): number {
    if (typeof value !== 'object' || value === null) return 1
    if (depth > DEPTH_MAX) return Infinity
    const reference = (value as Fields)['$ref']
    if (typeof reference === 'string') return REFERENCE_VALUES + sizeAt(reference, depth)
    let sum = 1
    for (const inner of Object.values(value)) sum += size(inner, depth + 1)
    return sum
  }

  function sizeAt(reference: string, depth: number): number {
    const found = known.get(reference)
    if (found !== undefined) return found
    known.set(reference, 1)
    const result = size(resolvePointer(document, reference), depth + 1)
    // Beyond the bound it does not matter by how much.
    known.set(reference, Math.min(result, valuesMax + 1))
    return result
  }

  return (value) => size(value, 0)
}

/** Components that the paths refer to, and those that these refer to. */
function reachable(document: Fields, paths: unknown): Record<string, Record<string, unknown>> {
  const components: Record<string, Record<string, unknown>> = {}
  const seen = new Set<string>()
  const open: unknown[] = [paths]
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value !== 'object' || value === null) continue
    const reference = (value as Fields)['$ref']
    const [, section, name] =
      typeof reference === 'string' ? (/^#\/components\/([^/]+)\/([^/]+)/.exec(reference) ?? []) : []
    if (section !== undefined && name !== undefined && !seen.has(`${section}/${name}`)) {
      seen.add(`${section}/${name}`)
      const target = resolvePointer(document, `#/components/${section}/${name}`)
      const key = name.replaceAll('~1', '/').replaceAll('~0', '~')
      ;(components[section] ??= {})[key] = target
      open.push(target)
    }
    for (const inner of Object.values(value)) if (inner !== undefined) open.push(inner)
  }
  return components
}

/** Spectral evaluates `#{{…}}` wherever a text of the document gets into a message. */
const EVALUATED = /#(?=\{\{)/g
const MARK = '#\uE000'

function inert(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(EVALUATED, MARK)
  if (Array.isArray(value)) return value.map(inert)
  if (typeof value !== 'object' || value === null) return value
  const copy: Record<string, unknown> = {}
  for (const [key, inner] of Object.entries(value)) {
    // `__proto__` as a name is data like any other.
    Object.defineProperty(copy, key.replace(EVALUATED, MARK), {
      value: inert(inner),
      enumerable: true,
      writable: true,
      configurable: true,
    })
  }
  return copy
}

/** The text as it stands in the document. */
export function original(text: string): string {
  return text.replaceAll(MARK, '#')
}

export const pointerOf = (path: readonly (string | number)[]): string =>
  path.map((part) => `/${escapePointer(original(String(part)))}`).join('')

/**
 * Selects the part of a document that Spectral's engine checks.
 *
 * The engine walks a document with its references expanded, at tens of microseconds per value: a document of
 * 13 MB would take minutes, and ten lines can expand to a billion values. A document within the bound is
 * checked as a whole. From a larger one, the excerpt takes as many operations as fit, with all that they refer
 * to. A hash of their names selects them: each run selects the same ones, and not simply the first ones.
 */

import { createHash } from 'node:crypto'
import { fieldsOf, type Fields } from '../../json/fields.ts'
import { escapePointer, resolvePointer } from '../../json/references.ts'
import type { DeclaredOperation } from '../operations.ts'

export interface Excerpt {
  /** A copy that may be changed; null: no part of the document fits. */
  readonly document: Fields | null
  /** Number of operations in the excerpt, and in the document. */
  readonly operations: number
  readonly of: number
}

/** The look-up of a reference costs time beyond its target. */
const REFERENCE_VALUES = 8
/** The engine compiles a schema for each example that it checks. */
const EXAMPLE_FACTOR = 4
/** The engine compares each value of an `enum` with every other. */
const ENUM_SQUARES = 1_000
const ONE: Size = { values: 1, checked: 0 }
const ENDLESS: Size = { values: Infinity, checked: 0 }
/** Within the size of the stack; a deeper value exceeds any bound. */
const DEPTH_MAX = 2_000

export function excerptOf(document: Fields, operations: readonly DeclaredOperation[], stepsMax: number): Excerpt {
  const sizeOf = createSizing(document, stepsMax)
  const of = operations.length
  if (sizeOf(document) <= stepsMax) return { document: inert(document) as Fields, operations: of, of }

  let left = stepsMax
  const fits = (value: unknown): boolean => {
    const size = sizeOf(value)
    if (size > left) return false
    left -= size
    return true
  }
  const { paths: _, webhooks: __, components: all, ...rest } = document
  const { securitySchemes = {} } = fieldsOf(all)
  const isExtension = ([key]: [string, unknown]): boolean => key.startsWith('x-')
  const head = Object.entries(rest).filter((entry) => !isExtension(entry))
  // Without these, the operations that refer to them would have false findings.
  if (!fits([head, securitySchemes])) return { document: null, operations: 0, of }
  head.push(...Object.entries(rest).filter((entry) => isExtension(entry) && fits(entry)))
  const chosen: DeclaredOperation[] = []
  for (const operation of [...operations].sort((a, b) => compare(orderOf(a), orderOf(b)))) {
    if (fits([operation.fields, operation.shared])) chosen.push(operation)
  }
  // Restores the order of the document.
  const kept = new Set(chosen)
  const paths: Record<string, Record<string, unknown>> = {}
  for (const { path, method, fields, shared } of operations.filter((operation) => kept.has(operation))) {
    paths[path] ??= shared.length > 0 ? { parameters: shared } : {}
    paths[path][method.toLowerCase()] = fields
  }
  const components = reachable(document, paths)
  const excerpt = { ...Object.fromEntries(head), paths, components: { ...components, securitySchemes } }
  return { document: inert(excerpt) as Fields, operations: kept.size, of }
}

function orderOf({ method, path }: DeclaredOperation): string {
  return createHash('sha256').update(`${method} ${path}`).digest('hex')
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Uses Spectral's own test to tell a schema from an object with members of the same names. */
function isTyped(value: object): boolean {
  return ['type', 'properties', 'items', 'enum', 'format'].some((key) => Object.hasOwn(value, key))
}

interface Size {
  /** With references expanded. */
  readonly values: number
  /** Size of the schemas that examples are validated against, counted once per validation. */
  readonly checked: number
}

/**
 * Returns a function that counts the values of a part of the document as the engine visits them. A cycle is
 * followed once.
 */
function createSizing(document: Fields, stepsMax: number): (value: unknown) => number {
  const known = new Map<string, Size>()

  function size(value: unknown, depth: number): Size {
    if (typeof value !== 'object' || value === null) return ONE
    if (depth > DEPTH_MAX) return ENDLESS
    const reference = (value as Fields)['$ref']
    if (typeof reference === 'string') return sizeAt(reference, depth)
    let values = 1
    let checked = 0
    let bySchema: Size | null = null
    const { enum: names } = value as Fields
    if (Array.isArray(names)) values += (names.length * names.length) / ENUM_SQUARES
    for (const [key, inner] of Object.entries(value)) {
      const of = size(inner, depth + 1)
      if (key === 'schema') bySchema = of
      values += of.values
      checked += of.checked
    }
    const { example, examples, default: standard } = value as Fields
    if (bySchema !== null && (example !== undefined || examples !== undefined)) checked += bySchema.values
    else if (isTyped(value) && (example !== undefined || standard !== undefined)) checked += values
    return { values, checked }
  }

  function sizeAt(reference: string, depth: number): Size {
    const found = known.get(reference)
    if (found !== undefined) return found
    known.set(reference, ONE)
    const { values, checked } = size(resolvePointer(document, reference), depth + 1)
    // Above the bound the exact size does not matter.
    const result = {
      values: Math.min(values + REFERENCE_VALUES, stepsMax + 1),
      checked: Math.min(checked, stepsMax + 1),
    }
    known.set(reference, result)
    return result
  }

  return (value) => {
    const { values, checked } = size(value, 0)
    return values + EXAMPLE_FACTOR * checked
  }
}

/** Returns the components that the paths refer to, directly and indirectly. */
function reachable(document: Fields, paths: unknown): Record<string, Record<string, unknown>> {
  // A section may be named `__proto__`: as a member of a plain object it would replace the prototype.
  const components = new Map<string, [name: string, target: unknown][]>()
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
      const targets = components.get(section)
      if (targets === undefined) components.set(section, [[key, target]])
      else targets.push([key, target])
      open.push(target)
    }
    for (const inner of Object.values(value)) if (inner !== undefined) open.push(inner)
  }
  return Object.fromEntries([...components].map(([section, targets]) => [section, Object.fromEntries(targets)]))
}

/** Spectral evaluates `#{{…}}` if a text of the document gets into a message. */
const EVALUATED = /#(?=\{\{)/g
const MARK = '#\uE000'

function inert(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(EVALUATED, MARK)
  if (Array.isArray(value)) return value.map(inert)
  if (typeof value !== 'object' || value === null) return value
  const copy: Record<string, unknown> = {}
  for (const [key, inner] of Object.entries(value)) {
    // `__proto__` is data like any other name.
    Object.defineProperty(copy, key.replace(EVALUATED, MARK), {
      value: inert(inner),
      enumerable: true,
      writable: true,
      configurable: true,
    })
  }
  return copy
}

/** Returns the text as it is in the document. */
export function original(text: string): string {
  return text.replaceAll(MARK, '#')
}

export const pointerOf = (path: readonly (string | number)[]): string =>
  path.map((part) => `/${escapePointer(original(String(part)))}`).join('')

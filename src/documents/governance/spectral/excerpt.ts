/**
 * Selects the part of a document that Spectral's engine checks.
 *
 * The engine walks a document with its references expanded, at tens of microseconds per value: a document of
 * 13 MB would take minutes, and ten lines can expand to a billion values. A document within the bound is
 * checked as a whole. From a larger one, the excerpt takes as many operations as fit, with all that they refer
 * to. A hash of their names selects them: each run selects the same ones, and not simply the first ones.
 */

import { createHash } from 'node:crypto'
import { fieldsOf, type Fields } from '../../../foundation/json/fields.ts'
import { resolvePointer } from '../../../foundation/json/references.ts'
import { readOperations, type DeclaredOperation } from '../operations.ts'
import { fold } from './fold.ts'
import { createSizing } from './sizing.ts'

export interface Excerpt {
  /** Null: no part of the document fits. */
  readonly document: Fields | null
  /** Number of operations in the excerpt, and in the document. */
  readonly operations: number
  readonly of: number
}

/** Number of operations that are tried although they do not fit. */
const MISSES_MAX = 50

/** Returns as much as fits with all references expanded. */
export function excerptOf(document: Fields, operations: readonly DeclaredOperation[], stepsMax: number): Excerpt {
  const sizeOf = createSizing(document, stepsMax)
  if (sizeOf(document) <= stepsMax) return { document, operations: operations.length, of: operations.length }
  const costOf = ({ fields, shared }: DeclaredOperation): number => sizeOf([fields, shared])
  return select(document, operations, { stepsMax, sizeOf, costOf, take: () => {} })
}

/** Returns as much as fits if each schema is visited once. */
export function foldedExcerptOf(document: Fields, operations: readonly DeclaredOperation[], stepsMax: number): Excerpt {
  const folded = fold(document)
  const sizeOf = createSizing(folded, stepsMax)
  if (sizeOf(folded) <= stepsMax) return { document, operations: operations.length, of: operations.length }
  const components = new Components(document)
  const byPointer = new Map(readOperations(folded, []).map((operation) => [operation.pointer, operation]))
  const costOf = ({ pointer, fields, shared }: DeclaredOperation): number => {
    const { fields: own = fields, shared: others = shared } = byPointer.get(pointer) ?? {}
    const added = components.reachedFrom([fields, shared])
    return sizeOf([own, others]) + added.reduce((sum, at) => sum + sizeOf(resolvePointer(folded, at)), 0)
  }
  return select(document, operations, {
    stepsMax,
    sizeOf,
    costOf,
    take: ({ fields, shared }) => components.take(components.reachedFrom([fields, shared])),
  })
}

interface Selection {
  readonly stepsMax: number
  readonly sizeOf: (value: unknown) => number
  readonly costOf: (operation: DeclaredOperation) => number
  /** Called for each operation that was selected. */
  readonly take: (operation: DeclaredOperation) => void
}

function select(
  document: Fields,
  operations: readonly DeclaredOperation[],
  { stepsMax, sizeOf, costOf, take }: Selection,
): Excerpt {
  const of = operations.length
  let left = stepsMax
  const fits = (size: number): boolean => {
    if (size > left) return false
    left -= size
    return true
  }
  const { paths: _, webhooks: __, components: all, ...rest } = document
  const { securitySchemes = {} } = fieldsOf(all)
  const isExtension = ([key]: [string, unknown]): boolean => key.startsWith('x-')
  const head = Object.entries(rest).filter((entry) => !isExtension(entry))
  // Without these, the operations that refer to them would have false findings.
  if (!fits(sizeOf([head, securitySchemes]))) return { document: null, operations: 0, of }
  head.push(...Object.entries(rest).filter((entry) => isExtension(entry) && fits(sizeOf(entry))))
  const chosen = new Set<DeclaredOperation>()
  let misses = 0
  for (const operation of [...operations].sort((a, b) => compare(orderOf(a), orderOf(b)))) {
    if (fits(costOf(operation))) {
      chosen.add(operation)
      take(operation)
    } else if (++misses === MISSES_MAX) break
  }
  // Restores the order of the document.
  const paths: Record<string, Record<string, unknown>> = {}
  for (const { path, method, fields, shared } of operations.filter((operation) => chosen.has(operation))) {
    paths[path] ??= shared.length > 0 ? { parameters: shared } : {}
    paths[path][method.toLowerCase()] = fields
  }
  const components = new Components(document)
  components.take(components.reachedFrom(paths))
  const excerpt = { ...Object.fromEntries(head), paths, components: { ...components.toFields(), securitySchemes } }
  return { document: excerpt, operations: chosen.size, of }
}

function orderOf({ method, path }: DeclaredOperation): string {
  return createHash('sha256').update(`${method} ${path}`).digest('hex')
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** The components that operations refer to, directly and indirectly. */
class Components {
  readonly #document: Fields
  /** By reference, such as `#/components/schemas/Card`. */
  readonly #taken = new Set<string>()

  constructor(document: Fields) {
    this.#document = document
  }

  /** Returns references to the components that `value` refers to and that are not taken yet. */
  reachedFrom(value: unknown): readonly string[] {
    const found = new Set<string>()
    const open: unknown[] = [value]
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (typeof next !== 'object' || next === null) continue
      const reference = (next as Fields)['$ref']
      const at = typeof reference === 'string' ? /^#\/components\/[^/]+\/[^/]+/.exec(reference)?.[0] : undefined
      if (at !== undefined && !found.has(at) && !this.#taken.has(at)) {
        found.add(at)
        open.push(resolvePointer(this.#document, at))
      }
      for (const inner of Object.values(next)) if (inner !== undefined) open.push(inner)
    }
    return [...found]
  }

  take(references: readonly string[]): void {
    for (const reference of references) this.#taken.add(reference)
  }

  toFields(): Fields {
    // A section may be named `__proto__`: as a member of a plain object it would replace the prototype.
    const sections = new Map<string, [name: string, target: unknown][]>()
    for (const reference of this.#taken) {
      const [, , section = '', name = ''] = reference.split('/')
      const entry: [string, unknown] = [unescape(name), resolvePointer(this.#document, reference)]
      const entries = sections.get(section)
      if (entries === undefined) sections.set(section, [entry])
      else entries.push(entry)
    }
    return Object.fromEntries([...sections].map(([section, entries]) => [section, Object.fromEntries(entries)]))
  }
}

const unescape = (name: string): string => name.replaceAll('~1', '/').replaceAll('~0', '~')

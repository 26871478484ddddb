/**
 * Finds every `$ref` of a document with its pointer, and resolves pointers.
 *
 * References must stay inside the document and must have a target. Data (examples, defaults, extensions) and
 * properties that are merely named `$ref` are not references.
 */

import type { ProblemPointer } from '../domain/problem.ts'

/** RFC 6901, 3 */
export function escapePointer(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** Returns the target of `#/…`; `undefined` if there is none. */
export function resolvePointer(document: unknown, reference: string): unknown {
  let value = document
  for (const part of reference.slice(2).split('/')) {
    const key = decodePart(part)
    if (typeof value !== 'object' || value === null || key === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Record<string, unknown>)[key]
  }
  return value
}

/** Levels that a document may have. */
const DEPTH_MAX = 256

/** Tests whether a target is missing because a value that should contain it is a known fault, and no object. */
function isInside(known: ReadonlySet<string>, document: unknown, reference: string): boolean {
  for (let end = reference.indexOf('/', 2), depth = 0; end > 0 && depth < DEPTH_MAX; depth++) {
    if (known.has(reference.slice(1, end))) {
      const value = resolvePointer(document, reference.slice(0, end))
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return true
    }
    end = reference.indexOf('/', end + 1)
  }
  return false
}

function decodePart(part: string): string | null {
  try {
    return (part.includes('%') ? decodeURIComponent(part) : part).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return null
  }
}

/** Members whose own members have names chosen by the author of the document. */
const NAMED: ReadonlySet<string> = new Set(
  (
    'properties patternProperties dependentSchemas $defs definitions paths webhooks pathItems schemas responses ' +
    'parameters requestBodies headers securitySchemes links callbacks content encoding mapping scopes variables'
  ).split(' '),
)
const DATA: ReadonlySet<string> = new Set(['example', 'examples', 'default', 'const', 'enum'])

/**
 * Returns a fault for each reference that leaves the document or has no target, up to `faultsMax`. A target inside of a value that
 * is one of the `known` faults is a consequence of that fault.
 */
export function findBrokenReferences(
  document: unknown,
  faultsMax: number,
  known: ReadonlySet<string> = new Set(),
): ProblemPointer[] {
  const faults: ProblemPointer[] = []

  function walk(value: unknown, pointer: string, isNamed: boolean): void {
    if (typeof value !== 'object' || value === null || faults.length >= faultsMax) return
    if (Array.isArray(value)) {
      value.forEach((item, index) => walk(item, `${pointer}/${index}`, false))
      return
    }
    for (const [key, inner] of Object.entries(value)) {
      if (isNamed) walk(inner, `${pointer}/${escapePointer(key)}`, false)
      else if (key === '$ref') check(inner, `${pointer}/$ref`)
      else if (!DATA.has(key) && !key.startsWith('x-')) {
        walk(inner, `${pointer}/${escapePointer(key)}`, NAMED.has(key))
      }
    }
  }

  function check(reference: unknown, pointer: string): void {
    if (typeof reference !== 'string' || !reference.startsWith('#/')) {
      faults.push({
        pointer,
        detail: 'A reference must begin with #/: references to other documents are not supported.',
      })
    } else if (resolvePointer(document, reference) === undefined && !isInside(known, document, reference)) {
      faults.push({ pointer, detail: `The document has no value at ${reference.slice(0, 200)}.` })
    }
  }

  walk(document, '', false)
  return faults
}

/**
 * Finds the parts of two documents that mean the same, so that they need no comparison.
 *
 * Two values are the same if they are equal, and if every reference in them leads to the same in both documents. Titles, descriptions
 * and examples do not count. Each referenced value is compared once, so that the work is linear in the size of the documents; values
 * that refer to each other are the same unless something that they lead to differs.
 */

import { resolvePointer } from '../../../foundation/json/references.ts'

export interface Sameness {
  isSame(one: unknown, other: unknown): boolean
  /** Whether a reference leads to the same in both documents. */
  isSameTarget(reference: string): boolean
}

/** Members that callers do not depend on, if they are texts: a property may have such a name. */
const TEXTS: ReadonlySet<string> = new Set(['title', 'summary', 'description'])
const EXAMPLES: ReadonlySet<string> = new Set(['example', 'examples'])
/** Values in which every member counts. */
const DATA: ReadonlySet<string> = new Set(['const', 'enum', 'default'])
/** Members whose own members have names chosen by the author of the document. */
const NAMED: ReadonlySet<string> = new Set(
  (
    'properties patternProperties dependentSchemas dependentRequired $defs definitions paths webhooks pathItems schemas ' +
    'responses parameters requestBodies headers securitySchemes links callbacks content encoding mapping scopes variables'
  ).split(' '),
)

export function createSameness(previous: unknown, next: unknown): Sameness {
  return new ReferenceComparison(previous, next)
}

/** Finds nothing the same, so that everything is compared. */
export const NOTHING_SAME: Sameness = { isSame: () => false, isSameTarget: () => false }

type Kind = 'fields' | 'names' | 'data'

class ReferenceComparison implements Sameness {
  readonly #previous: unknown
  readonly #next: unknown
  /** Whether the targets of a reference are the same. */
  readonly #targets = new Map<string, boolean>()
  readonly #values = new WeakMap<object, WeakMap<object, boolean>>()

  constructor(previous: unknown, next: unknown) {
    this.#previous = previous
    this.#next = next
  }

  isSame(one: unknown, other: unknown): boolean {
    if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return one === other
    let known = this.#values.get(one)
    if (known === undefined) this.#values.set(one, (known = new WeakMap()))
    let isSame = known.get(other)
    if (isSame === undefined) {
      const references = new Set<string>()
      isSame = areEqual(one, other, 'fields', references) && [...references].every((each) => this.isSameTarget(each))
      known.set(other, isSame)
    }
    return isSame
  }

  isSameTarget(reference: string): boolean {
    if (!this.#targets.has(reference)) this.#explore(reference)
    return this.#targets.get(reference) ?? false
  }

  /** Decides on a reference and all that it leads to: a difference spreads backwards, to everything that refers to it. */
  #explore(start: string): void {
    const referring = new Map<string, string[]>()
    const found = new Set([start])
    const different: string[] = []
    for (const reference of found) {
      const inner = new Set<string>()
      const [one, other] = [resolvePointer(this.#previous, reference), resolvePointer(this.#next, reference)]
      if (!areEqual(one, other, 'fields', inner)) different.push(reference)
      else if ([...inner].some((each) => this.#targets.get(each) === false)) different.push(reference)
      for (const each of inner) {
        if (this.#targets.has(each)) continue
        found.add(each)
        const known = referring.get(each)
        if (known === undefined) referring.set(each, [reference])
        else known.push(reference)
      }
    }
    for (const reference of found) this.#targets.set(reference, true)
    for (let next = different.pop(); next !== undefined; next = different.pop()) {
      if (this.#targets.get(next) === false) continue
      this.#targets.set(next, false)
      different.push(...(referring.get(next) ?? []))
    }
  }
}

/** Compares without following references, which it collects. The parser of the documents bounds the depth. */
function areEqual(one: unknown, other: unknown, kind: Kind, references: Set<string>): boolean {
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return one === other
  if (Array.isArray(one) || Array.isArray(other)) {
    if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return false
    const inner = kind === 'names' ? 'fields' : kind
    return one.every((each, index) => areEqual(each, other[index], inner, references))
  }
  const isCounted = (name: string, value: unknown): boolean => {
    return kind !== 'fields' || !((TEXTS.has(name) && typeof value === 'string') || EXAMPLES.has(name))
  }
  const before = Object.entries(one).filter(([name, value]) => isCounted(name, value))
  const after = new Map(Object.entries(other).filter(([name, value]) => isCounted(name, value)))
  return (
    before.length === after.size &&
    before.every(([name, value]) => {
      if (!after.has(name)) return false
      if (kind === 'fields' && name === '$ref' && typeof value === 'string') references.add(value)
      return areEqual(value, after.get(name), kindOf(kind, name), references)
    })
  )
}

function kindOf(kind: Kind, name: string): Kind {
  if (kind !== 'fields') return kind === 'names' ? 'fields' : 'data'
  if (DATA.has(name)) return 'data'
  return NAMED.has(name) ? 'names' : 'fields'
}

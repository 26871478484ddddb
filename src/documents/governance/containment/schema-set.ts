/**
 * Intersections of JSON Schemas, with references and `allOf` resolved.
 *
 * A schema set stands for the values that every one of its parts accepts. A part is one schema object; its keywords are read together,
 * because some of them depend on each other (`additionalProperties` on `properties`).
 */

import { fieldsOf, listOf, type Fields } from '../../../foundation/json/fields.ts'

const REFERENCE = '#/components/schemas/'

export interface SchemaSet {
  readonly parts: readonly Fields[]
  /** True if one of the schemas is `false`: no value is accepted. */
  readonly isFalse: boolean
  /** Equal for sets of the same parts. */
  readonly key: string
}

export interface SchemaSets {
  /** The intersection of schemas. */
  of(...schemas: readonly unknown[]): SchemaSet
  /** The intersection of a set and further schemas. */
  and(set: SchemaSet, ...schemas: readonly unknown[]): SchemaSet
  /** Number of a part, for keys. */
  idOf(part: object): number
  /** Whether two schemas have the same keywords with the same values; references are compared by their targets. */
  isSame(one: unknown, other: unknown): boolean
}

/** `spend` is called with the number of parts of each set that is made, and of schemas that are compared. */
export function createSchemaSets(components: Fields, spend: (parts: number) => void): SchemaSets {
  return new ComponentSets(components, spend)
}

class ComponentSets implements SchemaSets {
  readonly #components: Fields
  readonly #spend: (parts: number) => void
  readonly #ids = new WeakMap<object, number>()
  #count = 0
  /** Pairs found to be the same, or being compared: a cycle of references ends. */
  readonly #same = new Set<string>()
  readonly #different = new Set<string>()
  /** Pairs of `#same` that are not certain yet, in the order of their comparison. */
  readonly #assumed: string[] = []

  constructor(components: Fields, spend: (parts: number) => void) {
    this.#components = components
    this.#spend = spend
  }

  of(...schemas: readonly unknown[]): SchemaSet {
    return this.#make([], false, schemas)
  }

  and(set: SchemaSet, ...schemas: readonly unknown[]): SchemaSet {
    return this.#make(set.parts, set.isFalse, schemas)
  }

  idOf(part: object): number {
    let id = this.#ids.get(part)
    if (id === undefined) this.#ids.set(part, (id = this.#count++))
    return id
  }

  #resolve(reference: unknown): unknown {
    if (typeof reference !== 'string' || !reference.startsWith(REFERENCE)) return true
    return this.#components[reference.slice(REFERENCE.length)] ?? true
  }

  /**
   * Adds a schema, what it refers to, and its `allOf`; one with other keywords besides these is a part. Returns false for a schema
   * that contains itself for the same value: the validation of a value never ends, so that the gateway refuses it.
   */
  #add(parts: Map<number, Fields>, visited: Map<number, 'open' | 'done'>, schema: unknown): boolean {
    if (schema === false) return false
    const part = fieldsOf(schema)
    const id = this.idOf(part)
    if (visited.get(id) === 'open') return false
    if (parts.has(id)) return true
    if (Object.keys(part).some((keyword) => keyword !== '$ref' && keyword !== 'allOf')) parts.set(id, part)
    else if (visited.has(id)) return true
    visited.set(id, 'open')
    const inner = [...(part['$ref'] === undefined ? [] : [this.#resolve(part['$ref'])]), ...listOf(part['allOf'])]
    const mayAccept = inner.every((each) => this.#add(parts, visited, each))
    visited.set(id, 'done')
    return mayAccept
  }

  #make(known: readonly Fields[], isFalse: boolean, schemas: readonly unknown[]): SchemaSet {
    const parts = new Map(known.map((part) => [this.idOf(part), part]))
    const visited = new Map<number, 'open' | 'done'>()
    let accepts = !isFalse
    for (const schema of schemas) accepts = this.#add(parts, visited, schema) && accepts
    this.#spend(1 + parts.size)
    const key = accepts ? [...parts.keys()].sort((a, b) => a - b).join(',') : 'false'
    return { parts: [...parts.values()], isFalse: !accepts, key }
  }

  isSame(one: unknown, other: unknown): boolean {
    if (Object.is(one, other)) return true
    if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
    const pair = `${this.idOf(one)} ${this.idOf(other)}`
    this.#spend(1)
    if (this.#same.has(pair)) return true
    if (this.#different.has(pair)) return false
    const mark = this.#assumed.push(pair) - 1
    this.#same.add(pair)
    if (this.#isSameObject(one, other)) {
      if (mark === 0) this.#assumed.length = 0
      return true
    }
    // Pairs that were added meanwhile may rest on the assumption that this one is the same.
    for (const each of this.#assumed.splice(mark)) this.#same.delete(each)
    this.#different.add(pair)
    return false
  }

  #isSameObject(one: object, other: object): boolean {
    if (Array.isArray(one) !== Array.isArray(other)) return false
    const [before, after] = [Object.entries(one), fieldsOrList(other)]
    if (before.length !== Object.keys(after).length) return false
    return before.every(([name, value]) => {
      if (!Object.hasOwn(after, name)) return false
      const against = after[name]
      if (name !== '$ref' || typeof value !== 'string') return this.isSame(value, against)
      return value === against || this.isSame(this.#resolve(value), this.#resolve(against))
    })
  }
}

function fieldsOrList(value: object): Fields {
  return value as Fields
}

/**
 * Checks one value with the gateway's validator.
 *
 * Compiling a schema compiles all schemas that it refers to, perhaps a whole document. If a schema has references, only its
 * keywords without subschemas are compiled; the subschemas are visited for the members and items that the value has.
 */

import { fieldsOf, listOf, type Fields } from '../../../foundation/json/fields.ts'
import { itemSchemas, propertySchemas } from './members.ts'
import type { SchemaSet, SchemaSets } from './schema-set.ts'

export interface ValueCheckOptions {
  readonly sets: SchemaSets
  /** The validator of the gateway. Throws if it cannot compile the schema. */
  readonly compile: (schema: unknown) => (value: unknown) => boolean
  /** Called before each compilation. */
  readonly onCompile: () => void
  /** Called for each part that checks a value, with the number of values that it lists. */
  readonly onCheck: (listed: number) => void
}

export type ValueCheck = (set: SchemaSet, value: unknown) => boolean

/** Limit of the schemas that one value is checked against. The gateway refuses a value that needs too many steps. */
const VISITS_MAX = 5_000
const DEPTH_MAX = 500
/** Keywords that are followed here. References and `allOf` are parts of the set. */
const FOLLOWED: ReadonlySet<string> = new Set(
  (
    '$ref allOf anyOf oneOf not if then else properties patternProperties additionalProperties propertyNames ' +
    'dependentSchemas items prefixItems contains minContains maxContains'
  ).split(' '),
)

class TooManyVisits extends Error {}

export function createValueCheck(options: ValueCheckOptions): ValueCheck {
  const visitor = new ValueVisitor(options)
  return (set, value) => visitor.check(set, value)
}

class ValueVisitor {
  readonly #options: ValueCheckOptions
  readonly #checks = new WeakMap<Fields, (value: unknown) => boolean>()
  readonly #sets = new WeakMap<object, SchemaSet>()
  #visits = 0
  #depth = 0

  constructor(options: ValueCheckOptions) {
    this.#options = options
  }

  check(set: SchemaSet, value: unknown): boolean {
    this.#visits = 0
    this.#depth = 0
    try {
      return this.#accepts(set, value)
    } catch (cause) {
      if (cause instanceof TooManyVisits) return false
      throw cause
    }
  }

  #accepts({ parts, isFalse }: SchemaSet, value: unknown): boolean {
    if (isFalse) return false
    if (++this.#visits > VISITS_MAX || this.#depth > DEPTH_MAX) throw new TooManyVisits()
    this.#depth++
    const isAccepted = parts.every((part) => this.#acceptsPart(part, value))
    this.#depth--
    return isAccepted
  }

  #meets(schema: unknown, value: unknown): boolean {
    if (typeof schema !== 'object' || schema === null) return schema !== false
    let set = this.#sets.get(schema)
    if (set === undefined) this.#sets.set(schema, (set = this.#options.sets.of(schema)))
    return this.#accepts(set, value)
  }

  #acceptsPart(part: Fields, value: unknown): boolean {
    this.#options.onCheck(listOf(part['enum']).length)
    if (!isFollowed(part)) return this.#checkOf(part, part)(value)
    const flat = Object.fromEntries(Object.entries(part).filter(([keyword]) => !FOLLOWED.has(keyword)))
    if (Object.keys(flat).length > 0 && !this.#checkOf(part, flat)(value)) return false
    if (!this.#acceptsCombinations(part, value)) return false
    if (Array.isArray(value)) return this.#acceptsItems(part, value)
    return typeof value !== 'object' || value === null || this.#acceptsMembers(part, value)
  }

  #checkOf(part: Fields, schema: Fields): (value: unknown) => boolean {
    let check = this.#checks.get(part)
    if (check === undefined) {
      this.#options.onCompile()
      this.#checks.set(part, (check = this.#options.compile(schema)))
    }
    return check
  }

  #acceptsCombinations(part: Fields, value: unknown): boolean {
    const { anyOf, oneOf, not, if: condition, then: consequence = true, else: alternative = true } = part
    const meets = (schema: unknown): boolean => this.#meets(schema, value)
    if (anyOf !== undefined && !listOf(anyOf).some(meets)) return false
    if (oneOf !== undefined && listOf(oneOf).filter(meets).length !== 1) return false
    if (not !== undefined && meets(not)) return false
    return condition === undefined || meets(meets(condition) ? consequence : alternative)
  }

  #acceptsMembers(part: Fields, value: object): boolean {
    const { propertyNames = true } = part
    return (
      Object.entries(value).every(
        ([name, member]) =>
          this.#meets(propertyNames, name) &&
          propertySchemas(part, name).every((schema) => this.#meets(schema, member)),
      ) &&
      Object.entries(fieldsOf(part['dependentSchemas'])).every(
        ([name, schema]) => !Object.hasOwn(value, name) || this.#meets(schema, value),
      )
    )
  }

  #acceptsItems(part: Fields, value: readonly unknown[]): boolean {
    const { contains, minContains = 1, maxContains = Infinity } = part
    const areAccepted = value.every((item, index) =>
      itemSchemas(part, index).every((schema) => this.#meets(schema, item)),
    )
    if (!areAccepted || contains === undefined) return areAccepted
    const count = value.filter((item) => this.#meets(contains, item)).length
    return count >= Number(minContains) && count <= Number(maxContains)
  }
}

const followed = new WeakMap<Fields, boolean>()

/** Whether a schema has references and nothing that depends on what other keywords evaluate; or is a complement. */
function isFollowed(part: Fields): boolean {
  let known = followed.get(part)
  if (known === undefined) {
    const { unevaluatedProperties, unevaluatedItems } = part
    const isComplement = part['not'] !== undefined && Object.keys(part).length === 1
    const hasReference = isComplement || JSON.stringify(part).includes('"$ref"')
    known = hasReference && unevaluatedProperties === undefined && unevaluatedItems === undefined
    followed.set(part, known)
  }
  return known
}

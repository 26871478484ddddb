/**
 * Schemas for models: JSON Schema 2020-12 without references, small, and never stricter than what the gateway enforces.
 *
 * References are replaced by their targets. Where a schema refers to itself, is nested too deeply or has too many parts, the rest
 * accepts anything. Keywords in which such a cut would refuse values (`not`, `if`, `contains`) are left out, and `oneOf` becomes
 * `anyOf`.
 */

import { fieldsOf, type Fields } from '../../foundation/json/fields.ts'

export interface InlineOptions {
  /** Targets of references, by name. */
  readonly schemas: Fields
  /** Clients check a result against its schema, so schemas of results contain only the structure of a value. */
  readonly isResult: boolean
  /** Upper bound of the parts of the schema. */
  readonly partsMax: number
}

const DEPTH_MAX = 12
const COMPONENT = '#/components/schemas/'
const STRUCTURE = new Set(['type', 'enum', 'const', 'required', 'description'])
const BOUNDS = new Set(
  (
    'format pattern minLength maxLength minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems ' +
    'uniqueItems minProperties maxProperties'
  ).split(' '),
)
const INNER = new Set(['items', 'additionalProperties'])
const LISTS: ReadonlyMap<string, string> = new Map([
  ['prefixItems', 'prefixItems'],
  ['allOf', 'allOf'],
  ['anyOf', 'anyOf'],
  ['oneOf', 'anyOf'],
])

export function inlineSchema(schema: unknown, options: InlineOptions): Fields {
  return fieldsOf(new Inliner(options).convert(schema, 0))
}

class Inliner {
  readonly #options: InlineOptions
  /** Names of the references that lead to the current schema. */
  readonly #path: string[] = []
  #parts = 0

  constructor(options: InlineOptions) {
    this.#options = options
  }

  convert(schema: unknown, depth: number): unknown {
    if (typeof schema === 'boolean') return schema
    if (depth > DEPTH_MAX || ++this.#parts > this.#options.partsMax) return {}
    const fields = fieldsOf(schema)
    const reference = fields['$ref']
    if (typeof reference !== 'string') return this.#toKeywords(fields, depth)
    const target = this.#follow(reference.slice(COMPONENT.length), depth)
    const { $ref: _, ...beside } = fields
    if (Object.keys(beside).length === 0) return target
    const own = this.#toKeywords(beside, depth)
    const isProse = Object.keys(own).every((keyword) => keyword === 'description')
    return isProse && typeof target === 'object' ? { ...target, ...own } : { allOf: [target, own] }
  }

  #follow(name: string, depth: number): unknown {
    const { schemas } = this.#options
    if (this.#path.includes(name) || !Object.hasOwn(schemas, name)) return {}
    this.#path.push(name)
    const target = this.convert(schemas[name], depth + 1)
    this.#path.pop()
    return target
  }

  #toKeywords(fields: Fields, depth: number): Record<string, unknown> {
    const entries: [string, unknown][] = []
    for (const [keyword, value] of Object.entries(fields)) {
      const list = LISTS.get(keyword)
      if (STRUCTURE.has(keyword) || (BOUNDS.has(keyword) && !this.#options.isResult)) entries.push([keyword, value])
      else if (INNER.has(keyword)) entries.push([keyword, this.convert(value, depth + 1)])
      else if (keyword === 'properties') entries.push([keyword, this.#toNamed(fieldsOf(value), depth)])
      else if (list !== undefined && Array.isArray(value)) {
        const members = (value as unknown[]).map((member) => this.convert(member, depth + 1))
        // A schema with `anyOf` and `oneOf` keeps the first of them: the result is weaker, and never stricter.
        if (!entries.some(([name]) => name === list)) entries.push([list, members])
      }
    }
    return Object.fromEntries(withoutUnknown(fields, entries))
  }

  #toNamed(properties: Fields, depth: number): Fields {
    return Object.fromEntries(
      Object.entries(properties).map(([name, schema]) => [name, this.convert(schema, depth + 1)]),
    )
  }
}

/** Members that a pattern allows would be unknown to `additionalProperties` once the patterns are left out. */
function withoutUnknown(fields: Fields, entries: [string, unknown][]): [string, unknown][] {
  if (fields['patternProperties'] === undefined) return entries
  return entries.filter(([keyword]) => keyword !== 'additionalProperties')
}

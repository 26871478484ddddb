/**
 * The schemas of one plan, as JSON Schema for validation only.
 *
 * Retains only keywords that constrain a value, which makes plans small and excludes identifiers of the document
 * (`$id`, `$anchor`). The target of a reference is stored once, as `#/components/schemas/<name>`, wherever it is in the
 * document.
 *
 * Translates OpenAPI to JSON Schema: the boolean bounds and `nullable` of 3.0 (also next to `allOf` or `enum`, as most
 * authors intend), keywords next to a `$ref` of 3.0, and required members that are not sent: `readOnly` ones in requests,
 * `writeOnly` ones in responses.
 */

import type { ProblemPointer } from '../../foundation/domain/problem.ts'
import { fieldsOf, type Fields } from '../../foundation/json/fields.ts'
import { escapePointer, resolvePointer } from '../../foundation/json/references.ts'
import { compileLinear } from '../../foundation/json/linear-pattern.ts'
import { KEYWORDS } from '../../foundation/json/schema-keywords.ts'

export interface SchemaStore {
  /** Returns the schema at `pointer` in the form of a plan. Stores the targets of its references as components. */
  convert(schema: unknown, pointer: string): unknown
  /** Returns the components of all converted schemas: `{schemas: {name: schema}}`. */
  components(): Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

export interface SchemaStoreOptions {
  readonly document: Fields
  readonly dialect: '3.0' | '3.1'
  /** Direction of the values: a request may omit `readOnly` members, a response `writeOnly` ones. */
  readonly direction: 'request' | 'response'
  readonly faults: ProblemPointer[]
  /** Precedes the names of the components; keeps those of two documents apart. Default: none. */
  readonly namePrefix?: string
  /** Called with each converted schema and its place in the document. */
  readonly locate?: (schema: object, pointer: string) => void
  /** Retains descriptions, shortened, for readers of the schemas. Default: false. */
  readonly hasProse?: boolean
}

/** Upper bound of the parts of one schema, without its references, because a gateway thread compiles it in one turn. */
const PARTS_MAX = 1_000
const DESCRIPTION_LENGTH_MAX = 200
const COMPONENT = '#/components/schemas/'
const PLAIN_NAME = /^[A-Za-z0-9._-]+$/

export function createSchemaStore(options: SchemaStoreOptions): SchemaStore {
  return new SchemaConverter(options)
}

class SchemaConverter implements SchemaStore {
  readonly #options: SchemaStoreOptions
  readonly #components: [name: string, schema: unknown][] = []
  /** Component names by reference. */
  readonly #names = new Map<string, string>()
  /** References whose targets are not converted yet. */
  readonly #pending: string[] = []
  #parts = 0

  constructor(options: SchemaStoreOptions) {
    this.#options = options
  }

  convert(root: unknown, pointer: string): unknown {
    this.#parts = 0
    const converted = this.#toSchema(root, pointer)
    for (let next = this.#pending.pop(); next !== undefined; next = this.#pending.pop()) {
      this.#parts = 0
      const value = resolvePointer(this.#options.document, next)
      // A target that is no schema is a fault of the reference.
      const schema = value === fieldsOf(value) || typeof value === 'boolean' ? value : {}
      const target = this.#toSchema(schema, next.slice(1))
      this.#components.push([this.#names.get(next) ?? '', target])
    }
    return converted
  }

  components(): Readonly<Record<string, Readonly<Record<string, unknown>>>> {
    return this.#components.length === 0 ? {} : { schemas: Object.fromEntries(this.#components) }
  }

  #toSchema(schema: unknown, pointer: string): unknown {
    const { locate } = this.#options
    const converted = this.#toKeywords(schema, pointer)
    if (locate !== undefined && typeof converted === 'object' && converted !== null) locate(converted, pointer)
    return converted
  }

  #toKeywords(schema: unknown, pointer: string): unknown {
    const { dialect, faults, locate } = this.#options
    if (typeof schema === 'boolean') return schema
    if (++this.#parts > PARTS_MAX) {
      if (this.#parts === PARTS_MAX + 1)
        faults.push({ pointer, detail: `A schema must not contain more than ${PARTS_MAX} schemas.` })
      return {}
    }
    const fields = fieldsOf(schema)
    if (fields !== schema) this.#options.faults.push({ pointer, detail: 'A schema must be an object or a boolean.' })
    const reference = fields['$ref']
    const result: Record<string, unknown> = {}
    if (typeof reference === 'string') {
      result['$ref'] = this.#refer(reference)
      if (dialect === '3.0') return result
    }
    for (const [keyword, value] of Object.entries(fields)) {
      const converted = this.#toKeyword(keyword, value, `${pointer}/${keyword}`)
      if (converted !== undefined) result[keyword] = converted
    }
    this.#checkPattern(fields['pattern'], `${pointer}/pattern`)
    if (fields['$dynamicRef'] !== undefined) {
      const detail = 'The gateway does not support $dynamicRef; use $ref to the target schema.'
      faults.push({ pointer: `${pointer}/$dynamicRef`, detail })
    }
    this.#dropNotSent(result, fieldsOf(fields['properties']))
    if (dialect !== '3.0') return result
    locate?.(result, pointer)
    return fromDialect30(result, fields['nullable'] === true)
  }

  /** Returns undefined for a keyword that does not constrain a value. */
  #toKeyword(keyword: string, value: unknown, pointer: string): unknown {
    const kind = KEYWORDS.get(keyword)
    if (kind === undefined) return this.#toProse(keyword, value)
    if (kind === 'plain') return value
    return kind === 'inner' ? this.#toInner(value, pointer) : this.#toNamed(keyword, value, pointer)
  }

  #toProse(keyword: string, value: unknown): string | undefined {
    if (keyword !== 'description' || this.#options.hasProse !== true) return undefined
    return typeof value === 'string' ? value.slice(0, DESCRIPTION_LENGTH_MAX) : undefined
  }

  #toInner(value: unknown, pointer: string): unknown {
    if (Array.isArray(value)) return value.map((item, index) => this.#toSchema(item, `${pointer}/${index}`))
    return this.#toSchema(value, pointer)
  }

  #toNamed(keyword: string, value: unknown, pointer: string): unknown {
    const named = fieldsOf(value)
    if (named !== value) this.#options.faults.push({ pointer, detail: 'The value must be an object.' })
    return Object.fromEntries(
      Object.entries(named).map(([name, schema]) => {
        const at = `${pointer}/${escapePointer(name)}`
        if (keyword === 'patternProperties') this.#checkPattern(name, at)
        return [name, this.#toSchema(schema, at)]
      }),
    )
  }

  /** Queues the target for conversion, because references may be circular and many. */
  #refer(reference: string): string {
    let name = this.#names.get(reference)
    if (name === undefined) {
      const own = reference.startsWith(COMPONENT) ? reference.slice(COMPONENT.length) : ''
      // `$` occurs in no component name, and needs no escaping in pointers and addresses.
      name = (this.#options.namePrefix ?? '') + (PLAIN_NAME.test(own) ? own : `$${this.#names.size}`)
      this.#names.set(reference, name)
      this.#pending.push(reference)
    }
    return COMPONENT + name
  }

  #checkPattern(pattern: unknown, pointer: string): void {
    if (typeof pattern !== 'string' || compileLinear(pattern) !== null) return
    const shown = pattern.length > 80 ? `${pattern.slice(0, 80)}…` : pattern
    const detail = `The pattern is not valid ECMA-262, or cannot be matched in linear time (no look-around, no back-references, no Script_Extensions, at most 1,000 repetitions): ${shown}`
    this.#options.faults.push({ pointer, detail })
  }

  /** Makes members optional that are never sent in this direction. */
  #dropNotSent(result: Record<string, unknown>, properties: Fields): void {
    const required = result['required']
    if (!Array.isArray(required)) return
    const needed = required.filter((name) => !this.#isNotSent(fieldsOf(properties)[String(name)]))
    if (needed.length === required.length) return
    if (needed.length === 0) delete result['required']
    else result['required'] = needed
  }

  #isNotSent(schema: unknown): boolean {
    const { document, direction } = this.#options
    const marker = direction === 'request' ? 'readOnly' : 'writeOnly'
    const fields = fieldsOf(schema)
    if (fields[marker] === true) return true
    return typeof fields['$ref'] === 'string' && fieldsOf(resolvePointer(document, fields['$ref']))[marker] === true
  }
}

function fromDialect30(schema: Record<string, unknown>, isNullable: boolean): unknown {
  translateBound(schema, 'exclusiveMinimum', 'minimum')
  translateBound(schema, 'exclusiveMaximum', 'maximum')
  if (!isNullable) return schema
  if (typeof schema['type'] !== 'string') return { anyOf: [{ type: 'null' }, schema] }
  schema['type'] = [schema['type'], 'null']
  if (Array.isArray(schema['enum']) && !schema['enum'].includes(null)) schema['enum'] = [...schema['enum'], null]
  return schema
}

/** Rewrites `exclusiveMinimum: true` to `exclusiveMinimum: <minimum>`. */
function translateBound(schema: Record<string, unknown>, exclusive: string, bound: string): void {
  const isExclusive = schema[exclusive]
  if (typeof isExclusive !== 'boolean') return
  delete schema[exclusive]
  if (!isExclusive || typeof schema[bound] !== 'number') return
  schema[exclusive] = schema[bound]
  delete schema[bound]
}

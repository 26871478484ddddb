/**
 * The schemas of one plan, as JSON Schema for validation only.
 *
 * Only keywords that constrain a value are kept, so a plan stays small and identifiers of the document
 * (`$id`, `$anchor`) have no meaning on a thread. The target of a reference is stored once, wherever in the
 * document it is, as `#/components/schemas/<name>`.
 *
 * Differences between OpenAPI and JSON Schema are resolved: the boolean bounds and `nullable` of 3.0 (also
 * beside `allOf` or `enum`, as most authors mean it), members beside a `$ref` of 3.0, and `readOnly` members,
 * which a request may omit, or `writeOnly` ones, which a response may omit.
 */

import type { ProblemPointer } from '../domain/problem.ts'
import { fieldsOf, type Fields } from '../json/fields.ts'
import { escapePointer, resolvePointer } from '../json/references.ts'
import { compileLinear } from '../json/linear-pattern.ts'
import { KEYWORDS } from '../json/schema-keywords.ts'

export interface SchemaStore {
  /** The schema at `pointer`, ready for a plan. */
  take(schema: unknown, pointer: string): unknown
  /** Components that the schemas taken so far refer to: `{schemas: {name: schema}}`. */
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
  /** Called with each schema taken and its place in the document. */
  readonly locate?: (schema: object, pointer: string) => void
}

/**
 * Upper bound of the parts of one schema, without its references: a serving thread compiles each schema in
 * one turn.
 */
const PARTS_MAX = 1_000
const COMPONENT = '#/components/schemas/'
const PLAIN_NAME = /^[A-Za-z0-9._-]+$/

export function createSchemaStore(options: SchemaStoreOptions): SchemaStore {
  const { document, dialect, direction, faults, namePrefix = '', locate } = options
  const notSent = direction === 'request' ? 'readOnly' : 'writeOnly'
  const kept: [name: string, schema: unknown][] = []
  /** By reference. */
  const names = new Map<string, string>()
  const waiting: string[] = []
  let parts = 0

  function toSchema(schema: unknown, pointer: string): unknown {
    const converted = convert(schema, pointer)
    if (locate !== undefined && typeof converted === 'object' && converted !== null) locate(converted, pointer)
    return converted
  }

  function convert(schema: unknown, pointer: string): unknown {
    if (typeof schema === 'boolean') return schema
    if (++parts > PARTS_MAX) {
      if (parts === PARTS_MAX + 1)
        faults.push({ pointer, detail: `A schema must not contain more than ${PARTS_MAX} schemas.` })
      return {}
    }
    const fields = fieldsOf(schema)
    const reference = fields['$ref']
    const result: Record<string, unknown> = {}
    if (typeof reference === 'string') {
      result['$ref'] = refer(reference)
      if (dialect === '3.0') return result
    }
    for (const [keyword, value] of Object.entries(fields)) {
      const keep = KEYWORDS.get(keyword)
      if (keep === undefined) continue
      const at = `${pointer}/${keyword}`
      result[keyword] = keep === 'plain' ? value : keep === 'inner' ? toInner(value, at) : toNamed(keyword, value, at)
    }
    checkPattern(fields['pattern'], `${pointer}/pattern`)
    if (fields['$dynamicRef'] !== undefined) {
      const detail = 'The gateway does not support $dynamicRef; use $ref to the target schema.'
      faults.push({ pointer: `${pointer}/$dynamicRef`, detail })
    }
    dropNotSent(result, fieldsOf(fields['properties']))
    if (dialect !== '3.0') return result
    locate?.(result, pointer)
    return fromDialect30(result, fields['nullable'] === true)
  }

  function toInner(value: unknown, pointer: string): unknown {
    if (Array.isArray(value)) return value.map((item, index) => toSchema(item, `${pointer}/${index}`))
    return toSchema(value, pointer)
  }

  function toNamed(keyword: string, value: unknown, pointer: string): unknown {
    return Object.fromEntries(
      Object.entries(fieldsOf(value)).map(([name, schema]) => {
        const at = `${pointer}/${escapePointer(name)}`
        if (keyword === 'patternProperties') checkPattern(name, at)
        return [name, toSchema(schema, at)]
      }),
    )
  }

  /** Kept for later: references may go in circles, and be many. */
  function refer(reference: string): string {
    let name = names.get(reference)
    if (name === undefined) {
      const own = reference.startsWith(COMPONENT) ? reference.slice(COMPONENT.length) : ''
      // `$` is in no component's name, and means itself in a pointer and in an address.
      name = namePrefix + (PLAIN_NAME.test(own) ? own : `$${names.size}`)
      names.set(reference, name)
      waiting.push(reference)
    }
    return COMPONENT + name
  }

  function checkPattern(pattern: unknown, pointer: string): void {
    if (typeof pattern !== 'string' || compileLinear(pattern) !== null) return
    const shown = pattern.length > 80 ? `${pattern.slice(0, 80)}…` : pattern
    const detail = `The pattern cannot be matched in linear time (no look-around, no back-references, no Script_Extensions, at most 1,000 repetitions), or is none of ECMA-262: ${shown}`
    faults.push({ pointer, detail })
  }

  function dropNotSent(result: Record<string, unknown>, properties: Fields): void {
    const required = result['required']
    if (!Array.isArray(required)) return
    const needed = required.filter((name) => !isNotSent(fieldsOf(properties)[String(name)]))
    if (needed.length === required.length) return
    if (needed.length === 0) delete result['required']
    else result['required'] = needed
  }

  function isNotSent(schema: unknown): boolean {
    const fields = fieldsOf(schema)
    if (fields[notSent] === true) return true
    return typeof fields['$ref'] === 'string' && fieldsOf(resolvePointer(document, fields['$ref']))[notSent] === true
  }

  return {
    take(schema, pointer) {
      parts = 0
      const taken = toSchema(schema, pointer)
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        parts = 0
        kept.push([names.get(next) ?? '', toSchema(resolvePointer(document, next), next.slice(1))])
      }
      return taken
    },
    components: () => (kept.length === 0 ? {} : { schemas: Object.fromEntries(kept) }),
  }
}

function fromDialect30(schema: Record<string, unknown>, isNullable: boolean): unknown {
  writeOutBound(schema, 'exclusiveMinimum', 'minimum')
  writeOutBound(schema, 'exclusiveMaximum', 'maximum')
  if (!isNullable) return schema
  if (typeof schema['type'] !== 'string') return { anyOf: [{ type: 'null' }, schema] }
  schema['type'] = [schema['type'], 'null']
  if (Array.isArray(schema['enum']) && !schema['enum'].includes(null)) schema['enum'] = [...schema['enum'], null]
  return schema
}

/** `exclusiveMinimum: true` is `exclusiveMinimum: <minimum>`. */
function writeOutBound(schema: Record<string, unknown>, exclusive: string, bound: string): void {
  const isExclusive = schema[exclusive]
  if (typeof isExclusive !== 'boolean') return
  delete schema[exclusive]
  if (!isExclusive || typeof schema[bound] !== 'number') return
  schema[exclusive] = schema[bound]
  delete schema[bound]
}

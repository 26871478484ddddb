/**
 * Rewrites a schema of a plan to an equivalent one that ajv evaluates correctly.
 *
 * ajv ignores a member `__proto__` of `properties` and a pattern of that text. Its comparison with an object or a list in
 * `const` and `enum` throws if the value has a member `valueOf` or `toString`. For an empty list it repeats the verdict of `contains`
 * on the list before it. References are pointed at the document
 * that contains the components; a `$ref` inside the data of `const` and `enum` is not changed.
 */

import { KEYWORDS } from '../../foundation/json/schema-keywords.ts'

/** Keyword for the values of `const` and `enum` if one of them is an object or a list. */
export const EQUALS = 'x-tollgate-equals'

const PROTO = '__proto__'

type Fields = Record<string, unknown>

export function toAjvSchema(schema: unknown, documentId: string): unknown {
  if (!isStructured(schema) || Array.isArray(schema)) return schema
  const result: Fields = {}
  const added: unknown[] = []
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === '$ref') result[keyword] = rebase(value, documentId)
    else if (keyword === 'const' && isStructured(value)) added.push({ [EQUALS]: [value] })
    else if (keyword === 'enum' && Array.isArray(value) && value.some(isStructured)) added.push({ [EQUALS]: value })
    else result[keyword] = convert(keyword, value, documentId)
  }
  moveProto(result)
  requireItem(result)
  if ('prefixItems' in result) added.push(takePrefix(result))
  if (added.length > 0) result['allOf'] = [...(Array.isArray(result['allOf']) ? result['allOf'] : []), ...added]
  return result
}

function convert(keyword: string, value: unknown, documentId: string): unknown {
  const kind = KEYWORDS.get(keyword)
  if (kind === 'inner' && Array.isArray(value)) return value.map((item) => toAjvSchema(item, documentId))
  if (kind === 'inner') return toAjvSchema(value, documentId)
  if (kind !== 'named' || !isStructured(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, toAjvSchema(inner, documentId)]))
}

function rebase(reference: unknown, documentId: string): unknown {
  return typeof reference === 'string' && reference.startsWith('#/') ? `${documentId}${reference}` : reference
}

/** Moves `prefixItems` and the dependent `items` to a schema of their own, because ajv skips all later keywords for an empty list. */
function takePrefix(schema: Fields): Fields {
  const { prefixItems, items } = schema
  delete schema['prefixItems']
  delete schema['items']
  return items === undefined ? { prefixItems } : { prefixItems, items }
}

/** ajv does not decide on `contains` if no item is there to decide on. */
function requireItem(schema: Fields): void {
  const { contains, minContains = 1, minItems = 0 } = schema
  if (contains !== undefined && minContains !== 0) schema['minItems'] = Math.max(1, Number(minItems))
}

/** Turns the property and the pattern that ajv ignores into patterns that it evaluates. */
function moveProto(schema: Fields): void {
  const property = takeProto(schema, 'properties')
  const pattern = takeProto(schema, 'patternProperties')
  const patterns = [
    ...(property === undefined ? [] : [['^__proto__$', property] as const]),
    ...(pattern === undefined ? [] : [['(?:__proto__)', pattern] as const]),
  ]
  for (const [text, inner] of patterns) {
    const known = (schema['patternProperties'] ?? {}) as Fields
    schema['patternProperties'] = {
      ...known,
      [text]: Object.hasOwn(known, text) ? { allOf: [known[text], inner] } : inner,
    }
  }
}

/** Removes the member `__proto__` of a keyword; `undefined` if there is none. */
function takeProto(schema: Fields, keyword: string): unknown {
  const named = schema[keyword]
  if (!isStructured(named) || !Object.hasOwn(named, PROTO)) return undefined
  schema[keyword] = Object.fromEntries(Object.entries(named).filter(([name]) => name !== PROTO))
  return (named as Fields)[PROTO]
}

function isStructured(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

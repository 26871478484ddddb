/** Keywords of JSON Schema 2020-12 that validate a value, by the kind of their content. */

export type KeywordKind =
  /** A value without schemas. */
  | 'plain'
  /** A schema, or a list of schemas. */
  | 'inner'
  /** Schemas by property name, or by pattern. */
  | 'named'

const PLAIN =
  'type enum const format pattern minLength maxLength minimum maximum exclusiveMinimum exclusiveMaximum multipleOf ' +
  'minItems maxItems uniqueItems minContains maxContains minProperties maxProperties required dependentRequired'
const INNER =
  'not if then else items additionalItems contains additionalProperties propertyNames unevaluatedItems ' +
  'unevaluatedProperties allOf anyOf oneOf prefixItems'
const NAMED = 'properties patternProperties dependentSchemas'

export const KEYWORDS: ReadonlyMap<string, KeywordKind> = new Map([
  ...PLAIN.split(' ').map((keyword) => [keyword, 'plain'] as const),
  ...INNER.split(' ').map((keyword) => [keyword, 'inner'] as const),
  ...NAMED.split(' ').map((keyword) => [keyword, 'named'] as const),
])

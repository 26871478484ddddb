/**
 * The JSON Schemas of OpenAPI 3.0, 3.1 and 3.2 documents, in one dialect and with decidable alternatives.
 *
 * The published schema of 3.0 writes "an object or a reference to one" as `oneOf`, so that one wrong member fails both
 * alternatives of each ancestor. Here the presence of `$ref`, `type` or `in` selects the alternative, and the errors are
 * those of the selected one.
 */

import { createRequire } from 'node:module'
import { fieldsOf, listOf, type Fields } from '../../foundation/json/fields.ts'

/** 2.0: Swagger. */
export type OpenApiVersion = '2.0' | '3.0' | '3.1' | '3.2'

const load = createRequire(import.meta.url)
const REFERENCES: readonly unknown[] = ['#/definitions/Reference', '#/definitions/jsonReference']
const ANY_TEXT = { type: ['string', 'number'] }

/** Returns the schema as JSON Schema 2020-12. */
export function readOpenApiSchema(version: OpenApiVersion): Fields {
  const published = load(`@seriousme/openapi-schema-validator/schemas/v${version}/schema.json`) as Fields
  const schema = structuredClone(published) as Record<string, unknown>
  delete schema['$schema']
  delete schema['id']
  // Checked with the operations: the document must declare one of these members, and operations or webhooks in it.
  delete schema['anyOf']
  if (version === '3.0') schema['required'] = ['openapi', 'info']
  const groups = fieldsOf(schema[version === '3.1' || version === '3.2' ? '$defs' : 'definitions'])
  for (const [name, group] of Object.entries(version === '2.0' ? REWRITTEN_SWAGGER : REWRITTEN)) {
    const fields = groups[name]
    if (typeof fields === 'object' && fields !== null) Object.assign(fields, group(fieldsOf(fields)))
  }
  // A version such as 1.2, unquoted, is a number in YAML. Its form is a finding.
  const info = fieldsOf(groups[version === '3.0' ? 'Info' : 'info'])
  Object.assign(info, { properties: { ...fieldsOf(info['properties']), version: ANY_TEXT } })
  return rewrite(schema) as Fields
}

/** Changes of definitions by name; `undefined` removes a keyword. */
const REWRITTEN: Readonly<Record<string, (group: Fields) => Fields>> = {
  // 3.0
  ParameterLocation: ({ oneOf }) => ({ oneOf: undefined, allOf: listOf(oneOf).map((each) => whenSame('in', each)) }),
  Parameter: ({ properties }) => ({
    properties: { ...fieldsOf(properties), in: { enum: ['path', 'query', 'header', 'cookie'] } },
  }),
  SecurityScheme: () => ({
    oneOf: undefined,
    type: 'object',
    required: ['type'],
    properties: { type: { enum: ['apiKey', 'http', 'oauth2', 'openIdConnect'] } },
    allOf: [
      when('type', 'apiKey', { $ref: '#/definitions/APIKeySecurityScheme' }),
      when('type', 'http', { $ref: '#/definitions/HTTPSecurityScheme' }),
      when('type', 'oauth2', { $ref: '#/definitions/OAuth2SecurityScheme' }),
      when('type', 'openIdConnect', { $ref: '#/definitions/OpenIdConnectSecurityScheme' }),
    ],
  }),
  SchemaXORContent: ({ oneOf }) => ({
    not: undefined,
    oneOf: undefined,
    if: { required: ['content'] },
    then: { not: { required: ['schema'] }, ...fieldsOf(listOf(oneOf)[1]) },
    else: { required: ['schema'] },
  }),
  // 3.1 and 3.2
  responses: () => ({ if: undefined, then: undefined }),
  parameter: schemaOrContent,
  header: schemaOrContent,
  link: () => ({
    oneOf: undefined,
    if: { required: ['operationRef'] },
    then: { not: { required: ['operationId'] } },
    else: { required: ['operationId'] },
  }),
}

const REWRITTEN_SWAGGER: Readonly<Record<string, (group: Fields) => Fields>> = {
  parameter: () => ({
    oneOf: undefined,
    ...when('in', 'body', { $ref: '#/definitions/bodyParameter' }),
    else: { $ref: '#/definitions/nonBodyParameter' },
  }),
  nonBodyParameter: () => ({
    oneOf: undefined,
    properties: { in: { enum: ['header', 'formData', 'query', 'path'] } },
    allOf: ['header', 'formData', 'query', 'path'].map((location) =>
      when('in', location, { $ref: `#/definitions/${location}ParameterSubSchema` }),
    ),
  }),
}

function schemaOrContent({ oneOf, allOf }: Fields): Fields {
  if (oneOf === undefined) return {}
  const choice = {
    if: { required: ['content'] },
    then: { not: { required: ['schema'] } },
    else: { required: ['schema'] },
  }
  return { oneOf: undefined, allOf: [...listOf(allOf), choice] }
}

/** The schemas of JSON Schema draft 4 that the schema of Swagger 2.0 refers to. */
const DRAFT_4 = 'http://json-schema.org/draft-04/schema#/'
const [TEXT, BOOLEAN, NUMBER, COUNT] = [
  { type: 'string' },
  { type: 'boolean' },
  { type: 'number' },
  { type: 'integer', minimum: 0 },
]
const DRAFT_4_SCHEMAS: Readonly<Record<string, Fields>> = {
  'definitions/positiveInteger': COUNT,
  'definitions/positiveIntegerDefault0': COUNT,
  'definitions/stringArray': { type: 'array', items: TEXT, minItems: 1, uniqueItems: true },
  'properties/title': TEXT,
  'properties/description': TEXT,
  'properties/pattern': TEXT,
  'properties/multipleOf': { type: 'number', exclusiveMinimum: 0 },
  'properties/minimum': NUMBER,
  'properties/maximum': NUMBER,
  'properties/exclusiveMinimum': BOOLEAN,
  'properties/exclusiveMaximum': BOOLEAN,
  'properties/uniqueItems': BOOLEAN,
  'properties/enum': { type: 'array', minItems: 1 },
}

function when(name: string, value: string, then: Fields): Fields {
  return { if: { required: [name], properties: { [name]: { const: value } } }, then }
}

/** Applies a schema if it and the object have the same value of a member. */
function whenSame(name: string, schema: unknown): Fields {
  const { properties, ...rest } = fieldsOf(schema)
  const { [name]: member, ...others } = fieldsOf(properties)
  const [value] = listOf(fieldsOf(member)['enum'])
  return when(name, String(value), { ...rest, properties: others })
}

const SELECTORS: ReadonlySet<string> = new Set(['in', 'type'])

function rewrite(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(rewrite)
  if (typeof schema !== 'object' || schema === null) return schema
  const { $ref } = schema as Fields
  if (typeof $ref === 'string' && $ref.startsWith(DRAFT_4)) return DRAFT_4_SCHEMAS[$ref.slice(DRAFT_4.length)] ?? true
  const result: Record<string, unknown> = {}
  for (const [keyword, value] of Object.entries(schema)) if (value !== undefined) result[keyword] = rewrite(value)
  const condition = fieldsOf(result['if'])
  const selectors = Object.keys(fieldsOf(condition['properties'])).filter((name) => SELECTORS.has(name))
  // An object without `type` or `in` is of none of the types, not of all.
  if (selectors.length > 0 && condition['required'] === undefined) result['if'] = { ...condition, required: selectors }
  // The dialect of 3.0: a bound that is exclusive.
  if (result['exclusiveMinimum'] === true) {
    result['exclusiveMinimum'] = result['minimum']
    delete result['minimum']
  }
  return toChoice(result)
}

/** Turns `oneOf` with a reference into a choice by the presence of `$ref`. */
function toChoice(schema: Record<string, unknown>): unknown {
  const alternatives = listOf(schema['oneOf']).map(fieldsOf)
  const isReference = ({ $ref }: Fields): boolean => REFERENCES.includes($ref)
  if (!alternatives.some(isReference)) return schema
  const [other, boolean] = alternatives.filter((each) => !isReference(each))
  delete schema['oneOf']
  const object = boolean === undefined ? other : { if: boolean, else: other }
  return { ...schema, if: { type: 'object', required: ['$ref'] }, then: alternatives.find(isReference), else: object }
}

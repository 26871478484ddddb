/**
 * An OpenAPI document in the form that rules check: operations with resolved parameters, bodies and responses,
 * and each schema once.
 */

import { fieldsOf, type Fields } from '../../../foundation/json/fields.ts'
import { readOperations, type DeclaredOperation } from '../operations.ts'
import { escapePointer, resolvePointer } from '../../../foundation/json/references.ts'

export interface LintDocument {
  readonly fields: Fields
  readonly operations: readonly LintOperation[]
  /** All schema objects of the document; `isRequest` is true for those that callers send. */
  readonly schemas: readonly LintSchema[]
}

export interface Located {
  readonly fields: Fields
  readonly pointer: string
}

export interface LintOperation extends DeclaredOperation {
  /** Parameters of the operation and of its path item. */
  readonly parameters: readonly Located[]
  readonly body: Located | null
  readonly responses: readonly (Located & { readonly status: string })[]
  /** That of the operation, else that of the document; null if neither is declared. */
  readonly security: readonly unknown[] | null
}

export interface LintSchema extends Located {
  readonly isRequest: boolean
}

export function typeIs(schema: LintSchema, wanted: string): boolean {
  const { type } = schema.fields
  return type === wanted || (Array.isArray(type) && type.includes(wanted))
}

const REFERENCES_MAX = 16
const SCHEMAS_MAX = 200_000

export function toLintDocument(fields: Fields): LintDocument {
  function follow(value: unknown, pointer: string): Located {
    let at = { fields: fieldsOf(value), pointer }
    for (let count = 0; typeof at.fields['$ref'] === 'string' && count < REFERENCES_MAX; count++) {
      const reference = at.fields['$ref']
      at = { fields: fieldsOf(resolvePointer(fields, reference)), pointer: reference.slice(1) }
    }
    return at
  }

  const operations = readOperations(fields, []).map((operation): LintOperation => {
    const { fields: own, shared, pointer, itemPointer } = operation
    const ownParameters = Array.isArray(own['parameters']) ? (own['parameters'] as readonly unknown[]) : []
    const security = own['security'] ?? fields['security']
    return {
      ...operation,
      parameters: [
        ...shared.map((item, index) => follow(item, `${itemPointer}/parameters/${index}`)),
        ...ownParameters.map((item, index) => follow(item, `${pointer}/parameters/${index}`)),
      ],
      body: own['requestBody'] === undefined ? null : follow(own['requestBody'], `${pointer}/requestBody`),
      responses: Object.entries(fieldsOf(own['responses'])).map(([status, response]) => ({
        status,
        ...follow(response, `${pointer}/responses/${escapePointer(status)}`),
      })),
      security: Array.isArray(security) ? (security as readonly unknown[]) : null,
    }
  })
  return { fields, operations, schemas: collectSchemas(fields, operations) }
}

/** Returns the media types of a body or a response. */
export function mediaOf({ fields, pointer }: Located): readonly (Located & { readonly type: string })[] {
  return Object.entries(fieldsOf(fields['content'])).map(([type, media]) => ({
    type,
    fields: fieldsOf(media),
    pointer: `${pointer}/content/${escapePointer(type)}`,
  }))
}

const INNER = ['items', 'additionalProperties', 'not', 'contains', 'propertyNames', 'if', 'then', 'else'] as const
const LISTS = ['allOf', 'anyOf', 'oneOf', 'prefixItems'] as const
const NAMED = ['properties', 'patternProperties', 'dependentSchemas', '$defs'] as const

/** Collects schemas iteratively, because references may be circular. A referenced schema is collected at its own pointer. */
function collectSchemas(document: Fields, operations: readonly LintOperation[]): readonly LintSchema[] {
  const found = new Map<string, LintSchema>()
  /** References that were followed, per direction. */
  const followed = new Set<string>()
  const open: { readonly value: unknown; readonly pointer: string; readonly isRequest: boolean }[] = []

  function add(value: unknown, pointer: string, isRequest: boolean): void {
    const known = found.get(pointer)
    if (known !== undefined && (known.isRequest || !isRequest)) return
    if (found.size < SCHEMAS_MAX) open.push({ value, pointer, isRequest })
  }

  for (const { parameters, body, responses } of operations) {
    for (const parameter of parameters) add(parameter.fields['schema'], `${parameter.pointer}/schema`, true)
    for (const media of body === null ? [] : mediaOf(body)) add(media.fields['schema'], `${media.pointer}/schema`, true)
    for (const response of responses) {
      for (const media of mediaOf(response)) add(media.fields['schema'], `${media.pointer}/schema`, false)
    }
  }
  for (const [name, schema] of Object.entries(fieldsOf(fieldsOf(document['components'])['schemas']))) {
    add(schema, `/components/schemas/${escapePointer(name)}`, false)
  }

  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { pointer, isRequest } = next
    const fields = fieldsOf(next.value)
    const known = found.get(pointer)
    if (known !== undefined && (known.isRequest || !isRequest)) continue
    const reference = fields['$ref']
    if (typeof reference === 'string' && reference.startsWith('#/')) {
      const step = `${isRequest ? 'sent' : 'received'} ${reference}`
      if (followed.has(step)) continue
      followed.add(step)
      add(resolvePointer(document, reference), reference.slice(1), isRequest)
      continue
    }
    if (Object.keys(fields).length === 0) continue
    found.set(pointer, { fields, pointer, isRequest })
    for (const name of INNER) if (fields[name] !== undefined) add(fields[name], `${pointer}/${name}`, isRequest)
    for (const name of LISTS) {
      const list = Array.isArray(fields[name]) ? (fields[name] as readonly unknown[]) : []
      list.forEach((item, index) => add(item, `${pointer}/${name}/${index}`, isRequest))
    }
    for (const name of NAMED) {
      for (const [key, inner] of Object.entries(fieldsOf(fields[name]))) {
        add(inner, `${pointer}/${name}/${escapePointer(key)}`, isRequest)
      }
    }
  }
  return [...found.values()]
}

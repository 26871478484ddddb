/**
 * A copy of a document in which schemas do not refer to other schemas, so that the engine visits each schema once.
 *
 * The engine walks a document with its references expanded: the schemas of some real documents refer to one another so often that
 * they expand to billions of values. In the copy, a schema in the place of a reference accepts every value; the schema itself is
 * checked where it is declared. The reference between an example and its schema is kept, so that the two are compared.
 */

import type { Fields } from '../../../foundation/json/fields.ts'

export function fold(document: Fields): Fields {
  return foldValue(document, false) as Fields
}

function foldValue(value: unknown, isSchema: boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => foldValue(item, isSchema))
  if (typeof value !== 'object' || value === null) return value
  if (isSchema && typeof (value as Fields)['$ref'] === 'string') return {}
  return foldMembers(value as Fields, isSchema)
}

function foldMembers(fields: Fields, isSchema: boolean): Fields {
  const hasExample = Object.hasOwn(fields, 'example') || Object.hasOwn(fields, 'examples')
  const copy: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(fields)) {
    const keeps = !isSchema && hasExample && isReference(value)
    // `__proto__` is data like any other name.
    Object.defineProperty(copy, key, {
      value: keeps ? value : foldValue(value, isSchema || key === 'schema' || key === 'schemas'),
      enumerable: true,
    })
  }
  return copy
}

function isReference(value: unknown): boolean {
  return typeof value === 'object' && value !== null && typeof (value as Fields)['$ref'] === 'string'
}

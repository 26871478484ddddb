/**
 * Compares two versions of an OpenAPI document, operation by operation: requests, responses and security.
 *
 * Operations are matched by method and path; the names of path parameters do not matter.
 */

import { fieldsOf, type Fields } from '../../json/fields.ts'
import type { DeclaredOperation } from '../operations.ts'
import { escapePointer } from '../../json/references.ts'
import type { Specification } from '../specification.ts'
import { createReport, type Change, type Report } from './change.ts'
import { createSchemaComparison, resolve, type CompareSchemas } from './schema-comparison.ts'
import { compareSecurity } from './security-comparison.ts'

export type { Change } from './change.ts'

type Side = Pick<Specification, 'document' | 'operations'>

interface Sides {
  readonly previous: Fields
  readonly next: Fields
  readonly report: Report
  readonly compareSchemas: CompareSchemas
}

/** Sorted: what breaks comes first. As of `nowMs` operations whose sunset has come may go. */
export function compareDocuments(previous: Side, next: Side, nowMs = -Infinity): readonly Change[] {
  const { report, changes } = createReport()
  const documents = { previous: previous.document, next: next.document }
  const sides = { ...documents, report, compareSchemas: createSchemaComparison(documents, report) }
  const after = new Map(next.operations.map((operation) => [shapeOf(operation), operation]))
  for (const operation of previous.operations) {
    const shape = shapeOf(operation)
    const same = after.get(shape)
    after.delete(shape)
    if (same === undefined)
      report(isSunset(operation, nowMs) ? 'operation.sunset' : 'operation.removed', operation.pointer)
    else compareOperations(sides, operation, same)
  }
  for (const { pointer } of after.values()) report('operation.added', pointer)
  return changes()
}

/** Whether the sunset date of the operation (`x-sunset`, RFC 8594) has passed. */
function isSunset({ fields }: DeclaredOperation, nowMs: number): boolean {
  const sunsetMs = Date.parse(String(fields['x-sunset']))
  return fields['deprecated'] === true && sunsetMs <= nowMs
}

function compareOperations(sides: Sides, before: DeclaredOperation, after: DeclaredOperation): void {
  if (before.operationId !== after.operationId) sides.report('operation.renamed', `${after.pointer}/operationId`)
  const isDeprecatedNow = after.fields['deprecated'] === true && before.fields['deprecated'] !== true
  if (isDeprecatedNow) sides.report('operation.deprecated', after.pointer)
  compareParameters(sides, before, after)
  compareBodies(sides, before, after)
  compareResponses(sides, before, after)
  compareSecurity(sides, before, after)
}

function compareParameters(
  { previous, next, report, compareSchemas }: Sides,
  before: DeclaredOperation,
  after: DeclaredOperation,
): void {
  const [one, other] = [parametersOf(previous, before), parametersOf(next, after)]
  for (const [key, parameter] of one) {
    const same = other.get(key)
    if (same === undefined) {
      report('parameter.removed', after.pointer, key)
      continue
    }
    const at = `${after.pointer}/parameters`
    if (same['required'] === true && parameter['required'] !== true) report('parameter.made.required', at, key)
    if (parameter['schema'] !== undefined && same['schema'] !== undefined) {
      compareSchemas(parameter['schema'], same['schema'], 'request', `${at}/${escapePointer(key)}/schema`)
    }
  }
  for (const [key, parameter] of other) {
    if (!one.has(key) && parameter['required'] === true) report('parameter.added.required', after.pointer, key)
  }
}

/** By place and name; those of the path by their position, since their names are the document's own. */
function parametersOf(document: Fields, { shared, fields, path }: DeclaredOperation): ReadonlyMap<string, Fields> {
  const positions = new Map([...path.matchAll(/\{([^{}]*)\}/g)].map(([, name], index) => [name ?? '', index]))
  const own = Array.isArray(fields['parameters']) ? (fields['parameters'] as readonly unknown[]) : []
  return new Map(
    [...shared, ...own].map((each) => {
      const parameter = resolve(document, each)
      const [place, name] = [String(parameter['in']), String(parameter['name'])]
      if (place === 'path') return [`path ${positions.get(name) ?? name}`, parameter]
      return [`${place} ${place === 'header' ? name.toLowerCase() : name}`, parameter]
    }),
  )
}

function compareBodies(
  { previous, next, report, compareSchemas }: Sides,
  before: DeclaredOperation,
  after: DeclaredOperation,
): void {
  const at = `${after.pointer}/requestBody`
  const [one, other] = [resolve(previous, before.fields['requestBody']), resolve(next, after.fields['requestBody'])]
  const [had, has] = [before.fields['requestBody'] !== undefined, after.fields['requestBody'] !== undefined]
  if (!has) return had ? report('body.removed', `${before.pointer}/requestBody`) : undefined
  if (other['required'] === true && !had) report('body.added.required', at)
  if (other['required'] === true && had && one['required'] !== true) report('body.made.required', at)
  const media = fieldsOf(other['content'])
  for (const [mediaType, { schema }] of mediaOf(one)) {
    const place = `${at}/content/${escapePointer(mediaType)}`
    if (!Object.hasOwn(media, mediaType)) report('request.mediaType.removed', place)
    else compareSchemas(schema, fieldsOf(media[mediaType])['schema'], 'request', `${place}/schema`)
  }
}

function compareResponses(
  { previous, next, report, compareSchemas }: Sides,
  before: DeclaredOperation,
  after: DeclaredOperation,
): void {
  const [one, other] = [fieldsOf(before.fields['responses']), fieldsOf(after.fields['responses'])]
  for (const [status, response] of Object.entries(one)) {
    const at = `${after.pointer}/responses/${status}`
    if (!Object.hasOwn(other, status)) {
      if (status.startsWith('2')) report('response.status.removed', `${before.pointer}/responses/${status}`)
      continue
    }
    const headers = namesOf(resolve(next, other[status])['headers'])
    for (const name of namesOf(resolve(previous, response)['headers'])) {
      if (!headers.has(name)) report('response.header.removed', `${at}/headers`, name)
    }
    const media = fieldsOf(resolve(next, other[status])['content'])
    for (const [mediaType, { schema }] of mediaOf(resolve(previous, response))) {
      const place = `${at}/content/${escapePointer(mediaType)}`
      if (!Object.hasOwn(media, mediaType)) report('response.mediaType.removed', place)
      else compareSchemas(schema, fieldsOf(media[mediaType])['schema'], 'response', `${place}/schema`)
    }
  }
}

/** Names of headers are the same in any case (RFC 9110, 5.1). */
function namesOf(headers: unknown): ReadonlySet<string> {
  return new Set(Object.keys(fieldsOf(headers)).map((name) => name.toLowerCase()))
}

function mediaOf({ content }: Fields): readonly (readonly [string, Fields])[] {
  return Object.entries(fieldsOf(content)).map(([mediaType, media]) => [mediaType, fieldsOf(media)] as const)
}

function shapeOf({ method, path }: DeclaredOperation): string {
  return `${method} ${path.replaceAll(/\{[^{}]*\}/g, '{}')}`
}

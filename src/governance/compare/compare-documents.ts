/**
 * Compares two versions of an OpenAPI document, operation by operation: requests, responses and security.
 *
 * Operations are matched by method and path; the names of path parameters do not matter.
 */

import { toCanonicalText } from '../../json/canonical-value.ts'
import { fieldsOf, listOf, type Fields } from '../../json/fields.ts'
import { escapePointer } from '../../json/references.ts'
import { createToSwagger } from '../convert/swagger-pointer.ts'
import type { DeclaredOperation } from '../operations.ts'
import type { Specification } from '../specification.ts'
import { createReport, type Change, type Report, type RuleId } from './change.ts'
import { compareParameters } from './parameter-comparison.ts'
import { compareBodies } from './body-comparison.ts'
import { compareResponses } from './response-comparison.ts'
import { createSchemaComparison } from './schema-comparison.ts'
import { compareSecurity } from './security-comparison.ts'
import type { Sides } from './sides.ts'

export type { Change } from './change.ts'

type Side = Pick<Specification, 'document' | 'dialect' | 'operations'> & Partial<Pick<Specification, 'swagger'>>

/** Sorted: breaking changes first. An operation may be removed on and after its sunset date. */
export function compareDocuments(previous: Side, next: Side, nowMs = -Infinity): readonly Change[] {
  const { report, changes } = createReport()
  const requests = createSchemaComparison({ previous, next }, 'request', report)
  const responses = createSchemaComparison({ previous, next }, 'response', report)
  const after = new Map(next.operations.map((operation) => [shapeOf(operation), operation]))
  for (const before of previous.operations) {
    const shape = shapeOf(before)
    const same = after.get(shape)
    after.delete(shape)
    const operation = `${before.method} ${before.path}`
    if (same === undefined) {
      const id = isSunset(before, nowMs) ? 'operation.sunset' : 'operation.removed'
      report(id, { pointer: before.pointer, previousPointer: before.pointer, operation })
      continue
    }
    const reportOfPair: Report = (id, change) => report(id, { operation, ...change })
    const documents = { previous: previous.document, next: next.document }
    compareOperations({ ...documents, report: reportOfPair, requests, responses, operation }, before, same)
  }
  for (const { pointer, method, path } of after.values()) {
    report('operation.added', { pointer, operation: `${method} ${path}` })
  }
  requests.finish()
  responses.finish()
  compareWebhooks(previous.document, next.document, report)
  compareServers(previous.document, next.document, report)
  return inSources(changes(), previous, next)
}

/** Points to the documents before their conversion. */
function inSources(changes: readonly Change[], previous: Side, next: Side): readonly Change[] {
  const [before, after] = [previous, next].map(({ swagger }) => createToSwagger(swagger ?? null))
  return changes.map((change) => ({
    ...change,
    pointer: after!(change.pointer),
    previousPointer: change.previousPointer === null ? null : before!(change.previousPointer),
  }))
}

/** Whether the sunset date of the operation (`x-sunset`, RFC 8594) has passed. */
function isSunset({ fields }: DeclaredOperation, nowMs: number): boolean {
  const sunsetMs = Date.parse(String(fields['x-sunset']))
  return fields['deprecated'] === true && sunsetMs <= nowMs
}

function compareOperations(sides: Sides, before: DeclaredOperation, after: DeclaredOperation): void {
  const { report } = sides
  const places = { pointer: after.pointer, previousPointer: before.pointer }
  if (before.operationId !== after.operationId) {
    const at = { pointer: `${after.pointer}/operationId`, previousPointer: `${before.pointer}/operationId` }
    report('operation.renamed', { ...at, detail: `${before.operationId} to ${after.operationId}` })
  }
  const isDeprecatedNow = after.fields['deprecated'] === true && before.fields['deprecated'] !== true
  if (isDeprecatedNow) report('operation.deprecated', places)
  compareParameters(sides, before, after)
  compareBodies(sides, before, after)
  compareResponses(sides, before, after)
  compareSecurity(sides, before, after)
  compareNamed(fieldsOf(before.fields['callbacks']), fieldsOf(after.fields['callbacks']), {
    ids: ['callback.removed', 'callback.added', 'callback.changed'],
    previous: `${before.pointer}/callbacks`,
    next: `${after.pointer}/callbacks`,
    report,
  })
}

function compareWebhooks(previous: Fields, next: Fields, report: Report): void {
  compareNamed(fieldsOf(previous['webhooks']), fieldsOf(next['webhooks']), {
    ids: ['webhook.removed', 'webhook.added', 'webhook.changed'],
    previous: '/webhooks',
    next: '/webhooks',
    report,
  })
}

interface Named {
  readonly ids: readonly [removed: RuleId, added: RuleId, changed: RuleId]
  readonly previous: string
  readonly next: string
  readonly report: Report
}

/** Members that the gateway does not serve: a difference is information. */
function compareNamed(before: Fields, after: Fields, { ids, previous, next, report }: Named): void {
  const [removed, added, changed] = ids
  for (const [name, value] of Object.entries(before)) {
    const previousPointer = `${previous}/${escapePointer(name)}`
    const pointer = `${next}/${escapePointer(name)}`
    if (!Object.hasOwn(after, name)) report(removed, { pointer: previousPointer, previousPointer })
    else if (toCanonicalText(value) !== toCanonicalText(after[name])) report(changed, { pointer, previousPointer })
  }
  for (const name of Object.keys(after)) {
    if (!Object.hasOwn(before, name)) report(added, { pointer: `${next}/${escapePointer(name)}` })
  }
}

function compareServers(previous: Fields, next: Fields, report: Report): void {
  const [one, other] = [basePathOf(previous), basePathOf(next)]
  if (one === null || other === null || one === other) return
  report('server.path', { pointer: '/servers/0/url', previousPointer: '/servers/0/url', detail: `${one} to ${other}` })
}

/** The path of the first server; null if the document names none. */
function basePathOf(document: Fields): string | null {
  const { url } = fieldsOf(listOf(document['servers'])[0])
  if (typeof url !== 'string') return null
  return url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*/i, '').replace(/\/+$/, '') || '/'
}

function shapeOf({ method, path }: DeclaredOperation): string {
  return `${method} ${path.replaceAll(/\{[^{}]*\}/g, '{}')}`
}

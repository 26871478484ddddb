/**
 * Compares two versions of an OpenAPI document, operation by operation: requests, responses and security.
 *
 * Operations are matched by method and path; the names of path parameters do not matter.
 */

import { fieldsOf, listOf, type Fields } from '../../../foundation/json/fields.ts'
import { escapePointer, resolvePointer } from '../../../foundation/json/references.ts'
import { createWorkBudget } from '../containment/work-budget.ts'
import { createToSwagger } from '../convert/swagger-pointer.ts'
import { EMPTY_RULESET } from '../ruleset-document.ts'
import type { DeclaredOperation } from '../operations.ts'
import type { Specification } from '../specification.ts'
import { RULES, type RuleId } from './change-rules.ts'
import { createReport, type Change, type Report, type ReportOptions } from './change.ts'
import { compareParameters } from './parameter-comparison.ts'
import { compareBodies } from './body-comparison.ts'
import { compareCertificates } from './certificate-comparison.ts'
import { comparePolicies } from './policy-comparison.ts'
import { compareUnits, compareWebSocket } from './units-comparison.ts'
import { compareResponses } from './response-comparison.ts'
import { createSameness, NOTHING_SAME, type Sameness } from './sameness.ts'
import { createSchemaComparison } from './schema-comparison.ts'
import { compareSecurity } from './security-comparison.ts'
import type { Sides } from './sides.ts'

export type { Change } from './change.ts'

type Side = Pick<Specification, 'document' | 'dialect' | 'operations'> & Partial<Pick<Specification, 'swagger'>>

/** A few seconds. A document of 12 MB with two changes to its most used schemas takes most of it. */
const WORK_MAX = 2_000_000
const SERVERS_SHOWN = 3
const BYTE = 'format "byte"'

/** Sorted: breaking changes first. An operation may be removed on and after its sunset date. */
export function compareDocuments(
  previous: Side,
  next: Side,
  nowMs = -Infinity,
  { budget = createWorkBudget(WORK_MAX), ruleset = EMPTY_RULESET }: ReportOptions = {},
): readonly Change[] {
  const { report, changes } = createReport({ budget, ruleset })
  const sameness = createSameness(previous.document, next.document)
  // The same schema means something else in another dialect.
  const sameSchemas = previous.dialect === next.dialect ? sameness : NOTHING_SAME
  const compared = { previous, next, budget }
  const requests = createSchemaComparison({ ...compared, sameness: sameSchemas }, 'request', report)
  const responses = createSchemaComparison(
    { ...compared, sameness: sameSchemas },
    'response',
    exceptEncodings(report, next.document),
  )
  const unvalidated = createSchemaComparison(
    { ...compared, sameness: sameSchemas },
    'request',
    unenforced(report, 'request.unvalidated'),
  )
  const unwatched = createSchemaComparison(
    { ...compared, sameness: sameSchemas },
    'response',
    unenforced(report, 'response.unwatched'),
  )
  const schemas = { requests, responses, unvalidated, unwatched }
  const after = new Map(next.operations.map((operation) => [shapeOf(operation), operation]))
  for (const before of previous.operations) {
    const shape = shapeOf(before)
    const same = after.get(shape)
    after.delete(shape)
    const operation = `${before.method} ${before.path}`
    const operations = [operation]
    if (same === undefined) {
      const id = isSunset(before, nowMs) ? 'operation.sunset' : 'operation.removed'
      report(id, { pointer: before.pointer, previousPointer: before.pointer, operations })
      continue
    }
    const reportOfPair: Report = (id, change) => report(id, { operations, ...change })
    const documents = { previous: previous.document, next: next.document }
    const sides = { ...documents, ...schemas, report: reportOfPair, sameness, budget, nowMs, operation }
    if (budget.isSpent) for (const each of [requests, responses]) each.giveUp(operation)
    else {
      compareSecurity(sides, before, same)
      compareCertificates(sides, before, same)
      compareUnits(sides, before, same)
      compareWebSocket(sides, before, same)
      if (!isUnchanged(sameSchemas, before, same)) compareOperations(sides, before, same)
    }
  }
  for (const { pointer, method, path } of after.values()) {
    report('operation.added', { pointer, operations: [`${method} ${path}`] })
  }
  for (const each of Object.values(schemas)) each.finish()
  compareWebhooks(previous.document, next.document, { sameness, report })
  compareServers(previous.document, next.document, report)
  return inSources(changes(), previous, next)
}

/** OpenAPI 3.1 spells `format: byte` as `contentEncoding: base64`, which is an annotation. */
function exceptEncodings(report: Report, next: Fields): Report {
  return (id, change) => {
    const isByte = change.detail === BYTE && (id === 'response.format' || id === 'response.undecided')
    const schema = isByte ? fieldsOf(resolvePointer(next, `#${change.pointer}`)) : {}
    if (schema['contentEncoding'] !== 'base64') report(id, change)
  }
}

/** Reports what would break callers as a warning, because the gateway does not enforce it. */
function unenforced(report: Report, warning: RuleId): Report {
  return (id, change) => {
    const isBreaking = RULES[id][0] === 'breaking' || id.endsWith('.undecided')
    report(isBreaking ? warning : id, change)
  }
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

/** The names of path parameters count, because the parameters are known by their positions. */
function isUnchanged(sameness: Sameness, before: DeclaredOperation, after: DeclaredOperation): boolean {
  if (before.path !== after.path) return false
  return sameness.isSame(before.fields, after.fields) && sameness.isSame(before.shared, after.shared)
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
  comparePolicies(sides, before, after)
  compareParameters(sides, before, after)
  compareBodies(sides, before, after)
  compareResponses(sides, before, after)
  compareNamed(fieldsOf(before.fields['callbacks']), fieldsOf(after.fields['callbacks']), {
    ids: ['callback.removed', 'callback.added', 'callback.changed'],
    ...sides,
    previous: `${before.pointer}/callbacks`,
    next: `${after.pointer}/callbacks`,
  })
}

function compareWebhooks(previous: Fields, next: Fields, more: Pick<Named, 'sameness' | 'report'>): void {
  compareNamed(fieldsOf(previous['webhooks']), fieldsOf(next['webhooks']), {
    ids: ['webhook.removed', 'webhook.added', 'webhook.changed'],
    previous: '/webhooks',
    next: '/webhooks',
    ...more,
  })
}

interface Named {
  readonly ids: readonly [removed: RuleId, added: RuleId, changed: RuleId]
  readonly previous: string
  readonly next: string
  readonly sameness: Sameness
  readonly report: Report
}

/** Members that the gateway does not serve: a difference is information. */
function compareNamed(before: Fields, after: Fields, { ids, previous, next, sameness, report }: Named): void {
  const [removed, added, changed] = ids
  for (const [name, value] of Object.entries(before)) {
    const previousPointer = `${previous}/${escapePointer(name)}`
    const pointer = `${next}/${escapePointer(name)}`
    if (!Object.hasOwn(after, name)) report(removed, { pointer: previousPointer, previousPointer })
    else if (!sameness.isSame(value, after[name])) report(changed, { pointer, previousPointer })
  }
  for (const name of Object.keys(after)) {
    if (!Object.hasOwn(before, name)) report(added, { pointer: `${next}/${escapePointer(name)}` })
  }
}

/** A base path that is left out is reported; the order of the servers does not matter. */
function compareServers(previous: Fields, next: Fields, report: Report): void {
  const [was, is] = [basePathsOf(previous), basePathsOf(next)]
  if (was.size === 0 || is.size === 0 || was.isSubsetOf(is)) return
  const detail = [was, is].map((paths) => [...paths].slice(0, SERVERS_SHOWN).join(', ')).join(' to ')
  report('server.path', { pointer: '/servers', previousPointer: '/servers', detail })
}

/** The paths of the servers, with the defaults of their variables; empty if the document names none. */
function basePathsOf(document: Fields): Set<string> {
  const servers = listOf(document['servers']).map(fieldsOf)
  return new Set(
    servers.flatMap(({ url, variables }) => {
      if (typeof url !== 'string') return []
      const full = url.replaceAll(/\{([^{}]*)\}/g, (whole, name: string) => {
        const { default: value } = fieldsOf(fieldsOf(variables)[name])
        return typeof value === 'string' ? value : whole
      })
      const path = full.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*/i, '')
      return [path.endsWith('/') ? path.slice(0, -1) || '/' : path || '/']
    }),
  )
}

function shapeOf({ method, path }: DeclaredOperation): string {
  return `${method} ${path.replaceAll(/\{[^{}]*\}/g, '{}')}`
}

/** Converts an operation to OpenAPI: parameters, body, answers, and each problem that it can answer with. */

import { PROBLEMS, type ProblemCode } from '../../foundation/domain/problem.ts'
import { exampleOf } from './openapi-example.ts'
import type { Operation } from './operation.ts'
import { toTemplate } from './operations.ts'
import { alternativesOf, singleWidthReason } from './scope-widths.ts'
import { headersOf } from './serve.ts'
import type { Schema } from './schema-type.ts'

type Fragment = Record<string, unknown>

const PROTECTED: readonly ProblemCode[] = [
  'payload_invalid',
  'credential_missing',
  'credential_invalid',
  'operation_forbidden',
  'subscription_required',
  'rate_limited',
  'quota_exhausted',
]
const WITH_BODY: readonly ProblemCode[] = ['payload_too_large', 'media_type_unsupported']
const ALWAYS: readonly ProblemCode[] = ['internal', 'unavailable']

const problemContent = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } }
/** Only errors in the request have pointers. */
const invalidContent = { 'application/problem+json': { schema: { $ref: '#/components/schemas/InvalidProblem' } } }
const ANY_OTHER: Fragment = {
  default: { description: 'Any other error, as a problem document.', content: { 'application/problem+json': {} } },
}
const etags: Schema = { type: 'string', maxLength: 8_192, description: 'ETags, or *.' }

export function toOpenApiOperation(operationId: string, operation: Operation): Fragment {
  const { summary, description, tag, body, status } = operation
  const reason = singleWidthReason(operation)
  return {
    operationId,
    summary,
    ...(description !== undefined && { description }),
    tags: [tag],
    security: alternativesOf(operation).map((each) => ({ oauth: [each] })),
    ...(reason !== null && { 'x-single-width': reason }),
    ...toParameters(operation),
    ...(body && {
      requestBody: { required: true, content: { 'application/json': { schema: body, example: exampleOf(body) } } },
    }),
    responses: {
      [String(status)]: toAnswer(operation),
      ...toNotModified(operation),
      ...toProblems(operation),
      ...ANY_OTHER,
    },
  }
}

function toParameters(operation: Operation): Fragment {
  const { path, query, changes } = operation
  const conditional = isConditional(operation)
  const given: readonly Fragment[] = [
    ...[...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
      ...{ name, in: 'path', required: true, schema: { type: 'string', maxLength: 256 } },
    })),
    ...Object.entries((query?.['properties'] ?? {}) as Readonly<Record<string, Schema>>).map(([name, schema]) =>
      toParameter('query', name, schema),
    ),
    ...Object.entries(headersOf(operation) ?? {}).map(([name, schema]) => toParameter('header', name, schema)),
    ...(conditional ? [toParameter('header', 'If-None-Match', etags)] : []),
    ...(changes === undefined ? [] : [toParameter('header', 'If-Match', etags)]),
  ]
  return given.length === 0 ? {} : { parameters: given }
}

function toParameter(
  place: string,
  name: string,
  { description = `Returns only items with this ${name}.`, deprecated, ...schema }: Schema,
): Fragment {
  return { name, in: place, description, ...(deprecated === true && { deprecated }), schema }
}

function toAnswer({ status, answer, mediaTypes = [], eventData, summary, path, location, scope }: Operation): Fragment {
  const headers = {
    ...header('X-Request-Id', 'Identifies the call in logs and records.'),
    ...(scope !== null && LIMIT_HEADERS),
    ...(status === 201 && header('Location', `Address of the created resource, below ${path}.`)),
    ...(location !== undefined && header('Location', `Address of the result: ${toTemplate(location)}.`)),
    ...(mediaTypes.includes('text/csv') && header('Link', 'The next page of a CSV answer (RFC 8288).')),
  }
  if (status === 204) return { description: 'Succeeded without content.', headers }
  const json = answer === undefined ? [] : [['application/json', { schema: answer }]]
  const others = mediaTypes.map((mediaType) => [
    mediaType,
    // OpenAPI 3.1 cannot describe the events of a stream.
    { schema: { type: 'string' }, ...(mediaType === 'text/event-stream' && { 'x-event-data': eventData }) },
  ])
  return { description: summary, headers, content: Object.fromEntries([...json, ...others]) as Fragment }
}

const LIMIT_HEADERS = {
  ...header('RateLimit-Policy', 'The tightest limit that applied: its quota and window in seconds.'),
  ...header('RateLimit', 'Remaining calls of this limit, and the seconds until it is reset.'),
  ...header('X-RU-Cost', 'Resource units of the call.'),
}

function header(name: string, description: string): Fragment {
  return { [name]: { description, schema: { type: 'string' } } }
}

/** Whether a read may be answered with 304. */
function isConditional({ method, scope, endless, untagged }: Operation): boolean {
  return method === 'GET' && scope !== null && endless !== true && untagged === undefined
}

function toNotModified(operation: Operation): Fragment {
  if (!isConditional(operation)) return {}
  return { '304': { description: 'Not modified: `If-None-Match` names the current ETag.' } }
}

function toProblems(operation: Operation): Fragment {
  const byStatus = Map.groupBy(new Set(codesOf(operation)), (code) => String(PROBLEMS[code].status))
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [
      status,
      {
        description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code].title}.`).join(' '),
        content: status === '400' ? invalidContent : problemContent,
      },
    ]),
  )
}

function codesOf({ scope, method, path, query, problems = [], changes }: Operation): readonly ProblemCode[] {
  const isPaged = 'cursor' in ((query?.['properties'] ?? {}) as object)
  return [
    ...ALWAYS,
    ...(scope === null ? [] : PROTECTED),
    ...(path.includes(':') ? (['not_found'] as const) : []),
    ...(method === 'GET' ? [] : WITH_BODY),
    ...(isPaged ? (['cursor_invalid'] as const) : []),
    ...(changes === undefined ? [] : (['version_conflict'] as const)),
    ...(method === 'POST' ? (['idempotency_mismatch', 'state_conflict'] as const) : []),
    ...problems,
  ]
}

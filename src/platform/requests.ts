/** `/v1/requests`: single calls of the last 7 days, for troubleshooting; refused ones unless `REQUEST_LOG` selects others. */

import type { FastifyReply } from 'fastify'
import { fromCursor, invalidCursor, toCursor } from '../command/page.ts'
import { STAGES } from '../domain/explanation.ts'
import { LIMIT_KINDS } from '../domain/limit-rule.ts'
import { Problem } from '../domain/problem.ts'
import { preferredType } from '../runtime/accept.ts'
import type { Clock } from '../runtime/clock.ts'
import type { RequestStore } from '../store/request-store.ts'
import { explainRequest, reasonNotStored } from './explain-request.ts'
import { whenCallerGone } from './caller-gone.ts'
import type { Call, Handlers, Operations } from './operation.ts'
import { list, named, object, pagedQuery, reference, text, time } from './schemas.ts'
import { requestFields, showRequest } from './request-shape.ts'
import type { RequestStream } from './request-stream.ts'
import { isOfOther, ofOwner } from './owner-filter.ts'
import { checkRange, toRange } from './time-range.ts'

const instant = { ...time, maxLength: 64 }
const nullableNumber = { type: ['number', 'null'] } as const
const limitState = {
  ...object({
    name: text,
    kind: { type: 'string', enum: [...LIMIT_KINDS, 'quota'] },
    limit: { type: 'number', description: 'Calls; resource units for a quota.' },
    used: nullableNumber,
    remaining: nullableNumber,
    window: { type: ['string', 'null'], description: 'Null for concurrent calls.' },
    opensAt: {
      ...instant,
      type: ['string', 'null'],
      description: 'Null if the limit admits calls again as soon as a call ends.',
    },
  }),
  type: ['object', 'null'],
  description: 'The limit that refused the call, with its state at that moment; null if none did.',
} as const

export const REQUEST_OPERATIONS = {
  listRequests: {
    method: 'GET',
    path: '/v1/requests',
    summary: 'Lists single calls of the last 7 days, newest first',
    description:
      'Refused calls, or all or none, as set by `REQUEST_LOG`. Bodies, credentials and addresses are never stored. ' +
      'With `Accept: text/event-stream` each call is sent as an event named `request` while it is recorded, at most 100 per ' +
      'second; an event named `skipped` has the `count` of the others. The stream applies `api`, `customer` and `outcome`. ' +
      'A caller has at most 5 streams, and a tenant 20; a slow reader is disconnected.',
    tag: 'Risks',
    scope: 'requests:read',
    own: 'filtered',
    query: pagedQuery({
      from: { ...instant, description: 'Default: a day before `to`.' },
      to: { ...instant, description: 'Default: now.' },
      api: reference,
      customer: { ...reference, description: 'Id of the consumer.' },
      outcome: { ...reference, description: '`served`, or the code of the refusal.' },
      requestId: reference,
    }),
    status: 200,
    answer: list(named('LoggedRequest', object(requestFields))),
    mediaTypes: ['text/event-stream'],
    eventData: named('LoggedRequest', object(requestFields)),
  },
  getRequest: {
    method: 'GET',
    path: '/v1/requests/:id',
    summary:
      'Returns a stored call by its X-Request-Id, with the stage that refused it, the reason and the state of the limit',
    description:
      'Calls are stored for 7 days by default. Answers 404 for a call that is not stored, with the reason. A call appears some seconds after it has ended. ' +
      'Errors name locations, never values of the request.',
    tag: 'Risks',
    scope: 'requests:read',
    own: 'filtered',
    status: 200,
    answer: named(
      'ExplainedRequest',
      object({
        ...requestFields,
        stage: {
          type: ['string', 'null'],
          enum: [...STAGES, null],
          description: 'The stage that refused the call; null if none did, or if the stage is unknown.',
        },
        detail: { ...text, description: 'The reason, in a sentence.' },
        errors: {
          type: 'array',
          description: 'The first validation errors.',
          items: object({ pointer: { type: 'string', description: 'RFC 6901' }, detail: text }),
        },
        limit: limitState,
      }),
    ),
  },
} as const satisfies Operations

const DAY_MS = 86_400_000
const DEFAULT_RANGE_MS = DAY_MS
/** The clock of a gateway thread may be slightly ahead of this one. */
const AHEAD_MS = 60_000
const CURSOR = /^(\d{1,13}) (\d{1,13}) (\d{1,13}) ([0-9a-f]{1,64})$/

export interface RequestHandlersOptions {
  readonly requests: Pick<RequestStore, 'find'>
  /** `REQUEST_LOG`. */
  readonly requestLog: 'off' | 'refused' | 'all'
  /** Days for which calls are stored. */
  readonly requestDays: number
  readonly clock: Clock
  readonly requestStream: Pick<RequestStream, 'open'>
}

export function requestHandlers({
  requests: store,
  requestLog,
  requestDays,
  clock,
  requestStream,
}: RequestHandlersOptions): Handlers<typeof REQUEST_OPERATIONS> {
  return {
    async getRequest({ author, owner, params }, reply) {
      const requestId = params.id
      if (requestLog === 'off' || requestId === '')
        throw new Problem('not_found', reasonNotStored(requestLog, requestDays))
      const nowMs = clock.nowMs()
      const range = { fromMs: nowMs - requestDays * DAY_MS, toMs: nowMs + AHEAD_MS }
      const query = { tenant: author.tenant, ...range, requestId, ...ofOwner(owner), limit: 1 }
      const [found] = await store.find(query, whenCallerGone(reply))
      if (found === undefined) throw new Problem('not_found', reasonNotStored(requestLog, requestDays))
      return { ...showRequest(found), ...explainRequest(found) }
    },
    async listRequests(call, reply) {
      const { author, owner, query, request } = call
      if (preferredType(request.headers.accept, ['application/json', 'text/event-stream']) === 'text/event-stream') {
        await openStream(call, reply, requestStream)
        return reply
      }
      const { limit, cursor, from: _from, to: _to, ...filter } = query
      if (isOfOther(owner, filter.customer)) return { items: [], next: null }
      const page = cursor === undefined ? null : parseCursor(cursor)
      const range = page ?? toRange(query, clock.nowMs(), DEFAULT_RANGE_MS)
      checkRange(range)
      const { fromMs, toMs } = range
      const before = page === null ? {} : { before: page.before }
      const filters = { ...filter, ...ofOwner(owner), ...before }
      const asked = { tenant: author.tenant, fromMs, toMs, ...filters, limit: limit + 1 }
      const found = await store.find(asked, whenCallerGone(reply))
      const shown = found.slice(0, limit)
      const last = shown.at(-1)
      const next =
        found.length > limit && last !== undefined
          ? toCursor(`${fromMs} ${toMs} ${last.timeMs} ${last.requestId}`)
          : null
      return { items: shown.map(showRequest), next }
    },
  }
}

/** A caller with the own width that asks for another consumer receives nothing. */
async function openStream(
  call: Call<typeof REQUEST_OPERATIONS.listRequests>,
  reply: FastifyReply,
  requestStream: Pick<RequestStream, 'open'>,
): Promise<void> {
  const { owner, query } = call
  const { api, customer, outcome } = query
  const filter = {
    ...(api !== undefined && { api }),
    ...(customer !== undefined && { customer }),
    ...(outcome !== undefined && { outcome }),
    ...ofOwner(owner),
  }
  await requestStream.open(call, reply, isOfOther(owner, customer) ? null : filter)
}

/** A cursor contains the range of its first page, so that all pages of a range that ends "now" cover the same range. */
function parseCursor(cursor: string) {
  const [, fromMs, toMs, timeMs, requestId] = CURSOR.exec(fromCursor(cursor)) ?? []
  if (requestId === undefined) throw invalidCursor()
  return { fromMs: Number(fromMs), toMs: Number(toMs), before: { timeMs: Number(timeMs), requestId } }
}

/** `/v1/requests`: single calls of the last 7 days, for troubleshooting; refused ones unless `REQUEST_LOG` selects others. */

import type { FastifyReply } from 'fastify'
import { DAY_MS } from '../../foundation/domain/calendar.ts'
import { fromCursor, invalidCursor, toCursor } from '../../control/command/page.ts'
import { Problem } from '../../foundation/domain/problem.ts'
import { preferredType } from '../../foundation/runtime/accept.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { RequestFilter, RequestStore } from '../../storage/store/request-store.ts'
import { createExplain } from './explain-credential.ts'
import { explainRequest, reasonNotStored } from './explain-request.ts'
import { explainedRequest, explanation, explanationInput } from './explanation-schema.ts'
import type { CredentialExplanations } from '../../control/access/credential-explanations.ts'
import { whenCallerGone } from './caller-gone.ts'
import type { Call, Handlers, Operations } from './operation.ts'
import { instant, list, named, object, pagedQuery, reference, revisionFilter, text } from './schemas.ts'
import { requestFields, showRequest } from './request-shape.ts'
import type { RequestStream } from './request-stream.ts'
import { isOfOther, ofOwner } from './owner-filter.ts'
import { checkRange, toRange } from './time-range.ts'

const detail = {
  ...text,
  description:
    'The reason of a refusal, in a sentence; missing for calls of other nodes. It has no value of the request, except for an unknown path with DEVELOPMENT=on.',
} as const
const names = Object.keys(requestFields) as (keyof typeof requestFields)[]

export const REQUEST_OPERATIONS = {
  listRequests: {
    method: 'GET',
    path: '/v1/requests',
    summary: 'Lists single calls of the last 7 days, newest first',
    description:
      'Refused calls, or all or none, as set by `REQUEST_LOG`. Bodies, credentials and addresses are never stored. ' +
      'With `Accept: text/event-stream` each call is sent as an event named `request` while it is recorded, at most 100 per ' +
      'second; an event named `skipped` has the `count` of the others. The stream applies `api`, `customer`, `outcome` and `revision`. ' +
      'A caller has at most 5 streams, and a tenant 20; a slow reader is disconnected. With several nodes the calls of all of them are ' +
      'sent, some seconds after they have ended; `id` is the time of the call, and `Last-Event-ID` resumes within a minute. Calls of ' +
      'five seconds before come again then.',
    tag: 'Risks',
    scope: 'requests:read',
    own: 'filtered',
    query: pagedQuery({
      from: { ...instant, description: 'Default: a day before `to`.' },
      to: { ...instant, description: 'Default: now.' },
      api: reference,
      customer: { ...reference, description: 'Id of the consumer.' },
      outcome: { ...reference, description: '`served`, the code of a refusal, or `refused` for all refusals.' },
      requestId: reference,
      revision: { ...revisionFilter, description: 'Revision of the API, usually with `api`.' },
    }),
    status: 200,
    answer: list(named('LoggedRequest', object(requestFields))),
    mediaTypes: ['text/event-stream'],
    eventData: named('RequestEvent', object({ ...requestFields, detail }, names)),
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
    answer: explainedRequest,
  },
  explainRefusal: {
    method: 'POST',
    path: '/v1/requests/explain',
    summary: 'Explains why calls are refused: by the id of a call, by a token, or by the start of an API key',
    description:
      'Takes exactly one of `id`, `token` and `keyPrefix`. A token is judged as the gateway would judge it at the next call; it is neither ' +
      'stored nor logged. With the own width, credentials of other consumers are like none.',
    tag: 'Risks',
    scope: 'requests:read',
    own: 'filtered',
    body: explanationInput,
    status: 200,
    answer: explanation,
  },
} as const satisfies Operations

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
  readonly credentialExplanations: CredentialExplanations
}

export function requestHandlers(options: RequestHandlersOptions): Handlers<typeof REQUEST_OPERATIONS> {
  const { requests: store, requestLog, requestDays, clock, requestStream, credentialExplanations } = options
  /** The time for which calls are stored. */
  function storedRange() {
    const nowMs = clock.nowMs()
    return { fromMs: nowMs - requestDays * DAY_MS, toMs: nowMs + AHEAD_MS }
  }

  async function findRequest(
    { author, owner }: Pick<Call, 'author' | 'owner'>,
    requestId: string,
    signal: AbortSignal,
  ) {
    if (requestLog === 'off' || requestId === '')
      throw new Problem('not_found', reasonNotStored(requestLog, requestDays))
    const query = { tenant: author.tenant, ...storedRange(), requestId, ...ofOwner(owner), limit: 1 }
    const [found] = await store.find(query, signal)
    if (found === undefined) throw new Problem('not_found', reasonNotStored(requestLog, requestDays))
    return { ...showRequest(found), ...explainRequest(found) }
  }

  const explain = createExplain({ requests: store, credentialExplanations, storedRange, findRequest })

  return {
    getRequest: async (call, reply) => findRequest(call, call.params.id, whenCallerGone(reply)),
    async explainRefusal(call, reply) {
      void reply.header('Cache-Control', 'no-store')
      return explain(call, whenCallerGone(reply))
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
      const { outcome, ...others } = filter
      const filters = { ...others, ...ofOutcome(outcome), ...ofOwner(owner), ...before }
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

/** No outcome has this name. */
const REFUSED = 'refused'

function ofOutcome(outcome: string | undefined): Pick<RequestFilter, 'outcome' | 'isRefused'> {
  if (outcome === REFUSED) return { isRefused: true }
  return outcome === undefined ? {} : { outcome }
}

/** A caller with the own width that asks for another consumer receives nothing. */
async function openStream(
  call: Call<typeof REQUEST_OPERATIONS.listRequests>,
  reply: FastifyReply,
  requestStream: Pick<RequestStream, 'open'>,
): Promise<void> {
  const { owner, query } = call
  const { api, customer, outcome, revision } = query
  const filter = {
    ...(api !== undefined && { api }),
    ...(customer !== undefined && { customer }),
    ...(revision !== undefined && { revision }),
    ...ofOutcome(outcome),
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

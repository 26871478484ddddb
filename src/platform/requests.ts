/** `/v1/requests`: single calls, for who must look closer; refused ones unless the gateway is told otherwise. */

import { fromCursor, toCursor } from '../catalogue/page.ts'
import { MICRO } from '../domain/decimal.ts'
import { Problem } from '../domain/problem.ts'
import type { Clock } from '../runtime/clock.ts'
import type { LoggedRequest, RequestStore } from '../store/request-store.ts'
import type { Handlers, Operations } from './operation.ts'
import { texts, toPageQuery } from './page-query.ts'
import { list, named, object, query, reference, text, time } from './schemas.ts'
import { checkRange, toRange } from './time-range.ts'

const instant = { ...time, maxLength: 64 }
const milliseconds = { type: 'number' }

export const REQUEST_OPERATIONS = {
  listRequests: {
    method: 'GET',
    path: '/v1/requests',
    summary: 'Single calls of the last week, the latest first',
    description: 'Refused calls; all or none where `REQUEST_LOG` says so. Never bodies, credentials or addresses.',
    tag: 'Risks',
    scope: 'risks:read',
    query: query({
      from: { ...instant, description: 'Default: a day before `to`.' },
      to: { ...instant, description: 'Default: now.' },
      api: reference,
      customer: { ...reference, description: 'Id of the consumer.' },
      outcome: { ...reference, description: '`served`, or the code of the refusal.' },
      requestId: reference,
    }),
    status: 200,
    answer: list(
      named(
        'LoggedRequest',
        object({
          time,
          requestId: text,
          api: text,
          operation: text,
          status: { type: 'integer' },
          outcome: text,
          customer: text,
          customerName: text,
          subscription: text,
          agent: text,
          onBehalfOf: text,
          durationMs: milliseconds,
          upstreamMs: milliseconds,
          requestBytes: { type: 'integer' },
          responseBytes: { type: 'integer' },
          resourceUnits: { type: 'number' },
        }),
      ),
    ),
  },
} as const satisfies Operations

const DEFAULT_RANGE_MS = 86_400_000
const CURSOR = /^(\d{1,13}) (\d{1,13}) (\d{1,13}) ([0-9a-f]{1,64})$/

export function requestHandlers(store: Pick<RequestStore, 'find'>, clock: Clock): Handlers<typeof REQUEST_OPERATIONS> {
  return {
    async listRequests({ author, query: given }) {
      const { limit, cursor } = toPageQuery(given)
      const page = cursor === undefined ? null : parseCursor(cursor)
      const range = page ?? toRange(texts(given, 'from', 'to'), clock.nowMs(), DEFAULT_RANGE_MS)
      checkRange(range)
      const { fromMs, toMs } = range
      const filter = texts(given, 'api', 'customer', 'outcome', 'requestId')
      const before = page === null ? {} : { before: page.before }
      const found = await store.find({ tenant: author.tenant, fromMs, toMs, ...filter, ...before, limit: limit + 1 })
      const shown = found.slice(0, limit)
      const last = shown.at(-1)
      const next =
        found.length > limit && last !== undefined
          ? toCursor(`${fromMs} ${toMs} ${last.timeMs} ${last.requestId}`)
          : null
      return { items: shown.map(show), next }
    },
  }
}

/** A cursor carries the range of its first page, so that pages of a range that ends "now" fit together. */
function parseCursor(cursor: string) {
  const [, fromMs, toMs, timeMs, requestId] = CURSOR.exec(fromCursor(cursor)) ?? []
  if (requestId === undefined) throw new Problem('cursor_invalid', 'Give the `next` of the page before, unchanged.')
  return { fromMs: Number(fromMs), toMs: Number(toMs), before: { timeMs: Number(timeMs), requestId } }
}

function show(request: Omit<LoggedRequest, 'tenant'>): Record<string, unknown> {
  const { timeMs, consumer, consumerName, person, durationUs, upstreamUs, unitsMicro, ...rest } = request
  return {
    ...rest,
    time: new Date(timeMs).toISOString(),
    customer: consumer,
    customerName: consumerName,
    onBehalfOf: person,
    durationMs: durationUs / 1_000,
    upstreamMs: upstreamUs / 1_000,
    resourceUnits: unitsMicro / MICRO,
  }
}

/** `GET /v1` and `GET /v1/summaries`: line items, and the same totalled, as JSON or CSV. */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { PLATFORM_API } from '../catalogue/first-admin.ts'
import { fromCursor, toCursor } from '../catalogue/page.ts'
import { Problem } from '../domain/problem.ts'
import type { Clock } from '../runtime/clock.ts'
import {
  GROUP_FIELDS,
  type GroupField,
  type SummaryInterval,
  type UsageFilter,
  type UsageStore,
} from '../store/usage-store.ts'
import { toCsv } from './csv.ts'
import { texts, toPageQuery } from './replies.ts'
import type { DeclareRoute, RouteRequest } from './routes.ts'
import { id, list, object, query, text, time, type Schema } from './schemas.ts'

/** Without `from`, the last 30 days; without `to`, until now. */
const DEFAULT_RANGE_MS = 30 * 86_400_000

const filters: Readonly<Record<string, Schema>> = {
  from: time,
  to: time,
  api: id,
  customer: id,
  subscription: id,
  operation: id,
}
const decimal = { type: 'string', pattern: '^-?\\d+(\\.\\d+)?$' }
const amounts = { value: { type: 'number' }, calls: { type: 'integer' }, amount: decimal, currency: text }
const lineItem = object({
  api: id,
  customer: text,
  customerName: text,
  operation: text,
  subscription: text,
  agent: text,
  ...amounts,
  time,
})
const summary = object(
  { api: id, customer: text, operation: text, subscription: text, agent: text, ...amounts, from: time, to: time },
  ['value', 'calls', 'amount', 'currency', 'from', 'to'],
)

export interface UsageRouteOptions {
  readonly usage: UsageStore
  readonly clock: Clock
}

export function usageRoutes(declare: DeclareRoute, { usage, clock }: UsageRouteOptions): void {
  const tag = 'Usage'
  declare(
    {
      operationId: 'listLineItems',
      method: 'GET',
      path: '/v1',
      summary: 'Consumption as line items: one a key and 10-second window',
      tag,
      scope: 'usage:read',
      query: query(filters),
      status: 200,
      answer: list(lineItem),
      mediaTypes: ['text/csv'],
      problems: ['cursor_invalid'],
    },
    async (request, reply) => {
      const { limit, cursor } = toPageQuery(request.query)
      const after = cursor === undefined ? undefined : fromCursor(cursor)
      const { rows, next } = await usage.lineItems({
        ...toFilter(request, clock),
        limit,
        ...(after !== undefined && { after }),
      })
      const items = rows.map(({ timeMs, value, ...row }) => ({ ...row, value: Number(value), time: toTime(timeMs) }))
      return page(request.raw, reply, items, next === null ? null : toCursor(next))
    },
  )
  declare(
    {
      operationId: 'listSummaries',
      method: 'GET',
      path: '/v1/summaries',
      summary: 'Consumption totalled',
      tag,
      scope: 'usage:read',
      query: query({
        ...filters,
        groupBy: { type: 'string', maxLength: 100, default: 'api,customer' },
        interval: { type: 'string', enum: ['hour', 'day', 'month'] },
      }),
      status: 200,
      answer: list(summary),
      mediaTypes: ['text/csv'],
      problems: ['cursor_invalid'],
    },
    async (request, reply) => {
      const { limit, cursor } = toPageQuery(request.query)
      const offset = cursor === undefined ? 0 : toOffset(fromCursor(cursor))
      const interval = texts(request.query, 'interval').interval as SummaryInterval | undefined
      const groupBy = toGroups(String(request.query['groupBy'] ?? 'api,customer'))
      const filter = toFilter(request, clock)
      const rows = await usage.summaries({
        ...filter,
        groupBy,
        offset,
        limit: limit + 1,
        ...(interval && { interval }),
      })
      const items = rows.slice(0, limit).map(({ group, value, fromMs, toMs, ...row }) => ({
        ...group,
        ...row,
        value: Number(value),
        from: toTime(fromMs),
        to: toTime(toMs),
      }))
      return page(request.raw, reply, items, rows.length > limit ? toCursor(String(offset + limit)) : null)
    },
  )
}

function toFilter({ author, query: given }: RouteRequest, clock: Clock): UsageFilter {
  const { from, to, ...named } = texts(given, 'from', 'to', 'api', 'customer', 'subscription', 'operation')
  const toMs = to === undefined ? clock.nowMs() + 1 : instant(to, '/to')
  const fromMs = from === undefined ? toMs - DEFAULT_RANGE_MS : instant(from, '/from')
  const excludeApi = named.api === undefined ? PLATFORM_API : undefined
  return { tenant: author.tenant, fromMs, toMs, ...named, ...(excludeApi !== undefined && { excludeApi }) }
}

function instant(text: string, pointer: string): number {
  const timeMs = Date.parse(text)
  if (Number.isFinite(timeMs) && timeMs >= 0) return timeMs
  throw new Problem('payload_invalid', 'The query is not as declared.', {
    errors: [{ pointer, detail: 'Give an RFC 3339 time.' }],
  })
}

function toGroups(text: string): readonly GroupField[] {
  const names = text === '' ? [] : text.split(',')
  return names.map((name) => {
    const field = GROUP_FIELDS.find((known) => known === name.trim())
    if (field !== undefined) return field
    const detail = `Known are ${GROUP_FIELDS.join(', ')}.`
    throw new Problem('payload_invalid', 'The query is not as declared.', { errors: [{ pointer: '/groupBy', detail }] })
  })
}

function toOffset(position: string): number {
  if (/^\d{1,9}$/.test(position)) return Number(position)
  throw new Problem('cursor_invalid', 'Give the `next` of the page before, unchanged.')
}

/** CSV where it is asked for; the cursor then stands in `Link` (RFC 8288). */
function page(request: FastifyRequest, reply: FastifyReply, items: readonly object[], next: string | null): unknown {
  void reply.header('Vary', 'Accept')
  if (!(request.headers.accept ?? '').includes('text/csv')) return { items, next }
  if (next !== null) {
    const url = new URL(request.url, 'http://tollgate')
    url.searchParams.set('cursor', next)
    void reply.header('Link', `<${url.pathname}${url.search}>; rel="next"`)
  }
  return reply.type('text/csv; charset=utf-8; header=present').send(toCsv(items))
}

function toTime(timeMs: number): string {
  return new Date(timeMs).toISOString()
}

/**
 * `GET /v1` and `GET /v1/summaries`: line items and totals of usage, as JSON or CSV.
 *
 * A cursor contains the range of its first page, so that all pages of a range that ends "now" cover the same range.
 */

import { fromCursor, invalidCursor, toCursor } from '../../control/command/page.ts'
import type { ConsumerNames } from '../../control/access/consumer-names.ts'
import { PLATFORM_API } from '../../foundation/domain/platform-api.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { LineItemRow, SummaryRow, UsageFilter, UsageStore } from '../../storage/store/usage-store.ts'
import { whenCallerGone } from './caller-gone.ts'
import type { Call, Handlers } from './operation.ts'
import { LINE_ITEM_COLUMNS, summaryColumns, toGroups, type USAGE_OPERATIONS } from './usage-operations.ts'
import { isOfOther, ofOwner } from './owner-filter.ts'
import { sendTable } from './table.ts'
import { checkRange, invalidQuery, TIME_MS_MAX, toRange } from './time-range.ts'

const DEFAULT_RANGE_MS = 30 * 86_400_000
/** A day, and the hour by which the longest day of a time zone is longer. */
const MINUTES_RANGE_MS_MAX = 25 * 3_600_000

export interface UsageHandlersOptions {
  readonly usage: UsageStore
  readonly consumerNames: ConsumerNames
  readonly clock: Clock
}

interface Reading {
  readonly filter: UsageFilter
  readonly limit: number
  /** End of the previous page. */
  readonly position: string | undefined
  readonly toNext: (position: string) => string
}

export function usageHandlers({
  usage,
  clock,
  consumerNames,
}: UsageHandlersOptions): Handlers<typeof USAGE_OPERATIONS> {
  return {
    async listLineItems(call, reply) {
      const { filter, limit, position, toNext } = toReading(call, call.query, clock)
      if (isOfOther(call.owner, call.query.customer)) return sendTable(reply, LINE_ITEM_COLUMNS, [], null)
      const after = position === undefined ? {} : { after: position }
      const { rows, next } = await usage.lineItems({ ...filter, ...after, limit }, whenCallerGone(reply))
      return sendTable(reply, LINE_ITEM_COLUMNS, rows.map(showLineItem), next === null ? null : toNext(next))
    },
    async listSummaries(call, reply) {
      const { groupBy: groups, interval, ...page } = call.query
      const { filter, limit, position, toNext } = toReading(call, page, clock)
      const groupBy = toGroups(groups)
      if (groupBy.includes('revision')) requireApi(page, '/groupBy')
      if (interval === 'minute' && filter.toMs - filter.fromMs > MINUTES_RANGE_MS_MAX)
        throw invalidQuery('/interval', 'Minutes are answered for a range of a day at most.')
      if (isOfOther(call.owner, page.customer)) return sendTable(reply, summaryColumns(groupBy), [], null)
      const after = position === undefined ? {} : { after: position }
      const query = { ...filter, ...after, groupBy, limit, ...(interval !== undefined && { interval }) }
      const { rows, next } = await usage.summaries(query, whenCallerGone(reply))
      const ids = [...new Set(rows.flatMap(({ group: { customer } }) => customer ?? []))]
      const names = new Map((await consumerNames(call.author.tenant, ids)).map(({ id, name }) => [id, name]))
      const items = rows.map((row) => showSummary(row, names))
      return sendTable(reply, summaryColumns(groupBy), items, next === null ? null : toNext(next))
    },
  }
}

type Query = Call<typeof USAGE_OPERATIONS.listLineItems>['query']

function toReading({ author, owner }: Pick<Call, 'author' | 'owner'>, query: Query, clock: Clock): Reading {
  const { limit, cursor, from: _from, to: _to, ...named } = query
  if (named.revision !== undefined) requireApi(named, '/revision')
  const page = cursor === undefined ? null : parseCursor(cursor)
  const { fromMs, toMs } = page ?? toRange(query, clock.nowMs(), DEFAULT_RANGE_MS)
  checkRange({ fromMs, toMs })
  const excluded = named.api === undefined ? { excludeApi: PLATFORM_API } : {}
  return {
    filter: { tenant: author.tenant, fromMs, toMs, ...named, ...ofOwner(owner), ...excluded },
    limit,
    position: page?.position,
    toNext: (position) => toCursor(`${fromMs} ${toMs} ${position}`),
  }
}

/** Each API numbers its own revisions. The filter also bounds what is read: rows are in the order of the API. */
function requireApi({ api }: Pick<Query, 'api'>, pointer: string): void {
  if (api === undefined) throw invalidQuery(pointer, 'Send `api` too: each API numbers its own revisions.')
}

const CURSOR = /^(\d{1,13}) (\d{1,13}) ([^]+)$/

function parseCursor(cursor: string): { fromMs: number; toMs: number; position: string } {
  const [, from, to, position] = CURSOR.exec(fromCursor(cursor)) ?? []
  if (from === undefined || to === undefined || position === undefined) throw invalidCursor()
  return { fromMs: Math.min(Number(from), TIME_MS_MAX), toMs: Math.min(Number(to), TIME_MS_MAX), position }
}

function showLineItem({ timeMs, value, ...row }: LineItemRow): Record<string, unknown> {
  return { ...row, value: Number(value), time: toTime(timeMs) }
}

function showSummary(
  { group, value, fromMs, toMs, ...row }: SummaryRow,
  names: ReadonlyMap<string, string>,
): Record<string, unknown> {
  const { customer } = group
  const named = customer === undefined ? {} : { customerName: names.get(customer) ?? '' }
  return { ...group, ...named, ...row, value: Number(value), from: toTime(fromMs), to: toTime(toMs) }
}

function toTime(timeMs: number): string {
  return new Date(timeMs).toISOString()
}

/**
 * Writes the statements that read what a consumer used in a month, per API and price.
 *
 * Days that are rolled up by price come from the rollup, the others from the line items. Each day belongs to one of the two. Their text
 * contains only names of this file; every value of a caller is a parameter.
 */

import { DAY_S } from '../../../foundation/domain/calendar.ts'
import type { StatementQuery } from '../statement-store.ts'
import type { Statement } from './readers.ts'
import type { PricedUsage, Span } from './summary-plan.ts'

export interface UsageOfMonth {
  readonly query: StatementQuery
  /** First second after the month. */
  readonly toS: number
  readonly limit: number
  /** Only what the closed statement lacks. */
  readonly isLate: boolean
}

const OWN = 'u.tenant = {tenant:String} AND u.consumer = {consumer:String} AND u.api != {exclude_api:String}'
const COLUMNS = 'u.api AS api, u.currency AS currency, u.price AS price'
const SUMS = 'toInt64(u.calls) AS calls, u.units AS units, u.amount AS amount'
const CLOSED = `SELECT ${COLUMNS}, -toInt64(u.calls) AS calls, -u.units AS units, -u.amount AS amount
FROM statement_lines AS u WHERE ${OWN} AND u.month = toDate({month:String})`

export function writeUsageOfMonth({ query, toS, limit, isLate }: UsageOfMonth, priced: PricedUsage): Statement {
  const { tenant, consumer, monthMs, excludeApi } = query
  const month = new Date(monthMs).toISOString().slice(0, 10)
  const params: Record<string, unknown> = { tenant, consumer, month, exclude_api: excludeApi, limit }
  const { rolled, open } = planDays(monthMs / 1_000, toS, priced)
  const sources = [
    ...selectSpans('usage_daily_by_price', rolled, params),
    ...selectSpans('line_items', open, params),
    ...(isLate ? [CLOSED] : []),
  ]
  return {
    query: `SELECT s.api AS api, s.currency AS currency, toString(s.price) AS price,
  toString(sum(s.calls)) AS calls, toString(sum(s.units)) AS units, toString(sum(s.amount)) AS amount
FROM (${sources.join('\nUNION ALL\n')}) AS s
GROUP BY s.api, s.currency, s.price
HAVING sum(s.calls) != 0 OR sum(s.units) != 0 OR sum(s.amount) != 0
ORDER BY s.api, s.currency, s.price LIMIT {limit:UInt32}`,
    params,
  }
}

/** Divides a month into the days that are rolled up and the others, each as spans in order. */
function planDays(fromS: number, toS: number, priced: PricedUsage): Record<'rolled' | 'open', readonly Span[]> {
  const spans = { rolled: [] as Span[], open: [] as Span[] }
  for (let dayS = fromS; dayS < toS; dayS += DAY_S) {
    const found = priced.isDayPriced(dayS) ? spans.rolled : spans.open
    const last = found.at(-1)
    if (last?.toS === dayS) found[found.length - 1] = { fromS: last.fromS, toS: dayS + DAY_S }
    else found.push({ fromS: dayS, toS: dayS + DAY_S })
  }
  return spans
}

/** Returns no statement if there are no spans. */
function selectSpans(
  table: 'usage_daily_by_price' | 'line_items',
  spans: readonly Span[],
  params: Record<string, unknown>,
): readonly string[] {
  if (spans.length === 0) return []
  const bound = (edge: 'from' | 'to', index: number, second: number): string => {
    const name = `${table}_${edge}${index}`
    params[name] = table === 'line_items' ? second : second / DAY_S
    return table === 'line_items' ? `toDateTime({${name}:UInt32}, 'UTC')` : `toDate({${name}:UInt32})`
  }
  const column = table === 'line_items' ? 'window_start' : 'day'
  const conditions = spans.map(
    ({ fromS, toS }, index) =>
      `u.${column} >= ${bound('from', index, fromS)} AND u.${column} < ${bound('to', index, toS)}`,
  )
  return [`SELECT ${COLUMNS}, ${SUMS} FROM ${table} AS u WHERE ${OWN} AND (${conditions.join(' OR ')})`]
}

/**
 * Writes the statements that read a page of a summary.
 *
 * Their text contains only names of this file; every value of a caller is a parameter.
 */

import { DAY_S } from '../../../foundation/domain/calendar.ts'
import type { GroupField, SummaryInterval, SummaryQuery } from '../usage-store.ts'
import type { Statement } from './readers.ts'
import type { Source, SourceTable } from './summary-plan.ts'

export type SummaryKey = readonly (string | number)[]

/** Fields of a key, in the order of a summary. */
export interface SummaryShape {
  readonly groupBy: readonly GroupField[]
  readonly interval?: SummaryInterval | undefined
}

const COLUMNS: Readonly<Record<GroupField, string>> = {
  api: 'api',
  customer: 'consumer',
  operation: 'operation',
  subscription: 'subscription',
  agent: 'agent',
  revision: 'revision',
}
const TIMES: Readonly<Record<SourceTable, { readonly column: string; readonly isDate: boolean }>> = {
  line_items: { column: 'window_start', isDate: false },
  line_items_hourly: { column: 'hour', isDate: false },
  usage_hourly_by_api: { column: 'hour', isDate: false },
  usage_daily: { column: 'day', isDate: true },
  usage_daily_by_price: { column: 'day', isDate: true },
  usage_monthly: { column: 'month', isDate: true },
}
const STARTS: Readonly<Record<SummaryInterval, (column: string) => string>> = {
  minute: (column) => `toUnixTimestamp(toStartOfMinute(${column}))`,
  hour: (column) => `toUnixTimestamp(toStartOfHour(${column}))`,
  day: (column) => `toUnixTimestamp(toStartOfDay(toDateTime(${column}, 'UTC')))`,
  month: (column) => `toUnixTimestamp(toDateTime(toStartOfMonth(${column}), 'UTC'))`,
}

/** Names of the key's columns: the interval, the groups, the currency. */
export function keyColumns({ groupBy, interval }: SummaryShape): readonly string[] {
  return [...(interval === undefined ? [] : ['start_s']), ...groupBy.map((field) => COLUMNS[field]), 'currency']
}

/** Columns by which the rows of a rollup are sorted, after the tenant. */
export type LeadingColumns = readonly ('api' | 'consumer')[]

/** The last values of these columns on a page. */
export interface PageEnd {
  readonly columns: LeadingColumns
  readonly values: readonly string[]
}

/** Reads up to `limit` groups whose key is after `after`, and not after `end`. */
export function writePage(
  query: SummaryQuery,
  sources: readonly Source[],
  { after, end, limit }: { after: SummaryKey | null; end: PageEnd | null; limit: number },
): Statement {
  const keys = keyColumns(query)
  const params: Record<string, unknown> = { ...filterParams(query), limit }
  const selects = sources.map((source, index) => {
    const key = keys.map((name) => (name === 'start_s' ? startOf(source.table, query.interval!) : `u.${name}`))
    const conditions = [
      ...conditionsOf(query, source, index, params),
      ...(after === null
        ? []
        : [`(${key.join(', ')},) > (${after.map((value, at) => param(params, `a${at}`, value)).join(', ')},)`]),
      ...(end === null ? [] : [compare(end, '<=', 'l', params)]),
    ]
    const columns = key.map((expression, at) => `${expression} AS ${keys[at]}`)
    return `SELECT ${columns.join(', ')}, u.calls AS calls, u.units AS units, u.amount AS amount
FROM ${source.table} AS u WHERE ${conditions.join('\n  AND ')}`
  })
  return {
    query: `SELECT ${keys.join(', ')}, toString(sum(s.calls)) AS calls, toString(sum(s.units)) AS units, toString(sum(s.amount)) AS amount
FROM (${selects.join('\nUNION ALL\n')}) AS s
GROUP BY ${keys.join(', ')} ORDER BY ${keys.join(', ')} LIMIT {limit:UInt32}`,
    params,
  }
}

/** Reads the values that end a page: at least `groups` of them from `from` on are not after them. */
export function writePageEnd(
  query: SummaryQuery,
  source: Source,
  { columns, from, groups }: { columns: LeadingColumns; from: readonly string[] | null; groups: number },
): Statement {
  const params: Record<string, unknown> = { ...filterParams(query), offset: groups - 1 }
  const conditions = conditionsOf(query, source, 0, params)
  if (from !== null) conditions.push(compare({ columns, values: from }, '>=', 'f', params))
  return {
    query: `SELECT ${columns.map((name) => `u.${name} AS ${name}`).join(', ')} FROM ${source.table} AS u WHERE ${conditions.join('\n  AND ')}
GROUP BY ${columns.join(', ')} ORDER BY ${columns.join(', ')} LIMIT 1 OFFSET {offset:UInt32}`,
    params,
    settings: ', optimize_aggregation_in_order = 1',
  }
}

function compare(
  { columns, values }: PageEnd,
  operator: '<=' | '>=',
  prefix: string,
  params: Record<string, unknown>,
): string {
  const placeholders = values.map((value, at) => param(params, `${prefix}${at}`, value))
  return `(${columns.map((name) => `u.${name}`).join(', ')}) ${operator} (${placeholders.join(', ')})`
}

function startOf(table: SourceTable, interval: SummaryInterval): string {
  return STARTS[interval](`u.${TIMES[table].column}`)
}

function conditionsOf(
  query: SummaryQuery,
  { table, spans }: Source,
  index: number,
  params: Record<string, unknown>,
): string[] {
  const { column, isDate } = TIMES[table]
  const bound = (name: string, second: number): string =>
    isDate ? `toDate(${param(params, name, second / DAY_S)})` : `toDateTime(${param(params, name, second)}, 'UTC')`
  const inSpans = spans.map(({ fromS, toS }, at) => {
    const [from, to] = [bound(`s${index}_${at}_from`, fromS), bound(`s${index}_${at}_to`, toS)]
    return `u.${column} >= ${from} AND u.${column} < ${to}`
  })
  return ['u.tenant = {tenant:String}', `(${inSpans.join(' OR ')})`, ...filtersOf(query)]
}

function filtersOf(query: SummaryQuery): string[] {
  return FILTERS.filter(({ field }) => query[field] !== undefined).map(({ condition }) => condition)
}

const FILTERS = [
  { field: 'api', condition: 'u.api = {api:String}' },
  { field: 'excludeApi', condition: 'u.api != {excludeApi:String}' },
  { field: 'customer', condition: 'u.consumer = {customer:String}' },
  { field: 'subscription', condition: 'u.subscription = {subscription:String}' },
  { field: 'operation', condition: 'u.operation = {operation:String}' },
  { field: 'revision', condition: 'u.revision = {revision:UInt32}' },
] as const

function filterParams(query: SummaryQuery): Record<string, unknown> {
  const filters = FILTERS.map(({ field }) => [field, query[field]] as const)
  return { tenant: query.tenant, ...Object.fromEntries(filters.filter(([, value]) => value !== undefined)) }
}

/** Adds a parameter; returns its placeholder. */
function param(params: Record<string, unknown>, name: string, value: string | number): string {
  params[name] = value
  return `{${name}:${typeof value === 'number' ? 'UInt32' : 'String'}}`
}

/**
 * Decides from which tables a summary is read, and which part of its range from each.
 *
 * Parts of hours come from the line items, hours from the hourly totals, and days and months that are rolled up from the rollups. Each
 * instant of the range belongs to one table, so the sum is exact for any range.
 */

import { DAY_S, HOUR_S } from '../../../foundation/domain/calendar.ts'
import type { SummaryInterval } from '../usage-store.ts'

const SOURCES = [
  'line_items',
  'line_items_hourly',
  'usage_hourly_by_api',
  'usage_daily',
  'usage_daily_by_price',
  'usage_monthly',
] as const
export type SourceTable = (typeof SOURCES)[number]

/** From the first second on, up to the last but not including it. */
export interface Span {
  readonly fromS: number
  readonly toS: number
}

export interface Source {
  readonly table: SourceTable
  /** In order, not empty, and neither overlapping nor adjacent. */
  readonly spans: readonly Span[]
}

/** The rollups that are complete. */
export interface RolledUsage {
  isDayRolled(dayS: number): boolean
  isMonthRolled(monthS: number): boolean
}

/** The days that are rolled up by price. */
export interface PricedUsage {
  isDayPriced(dayS: number): boolean
}

export interface SummaryRange {
  readonly fromMs: number
  readonly toMs: number
  readonly interval?: SummaryInterval | undefined
  /** Whether the query names a consumer, a subscription or an agent, in its groups or its filters. */
  readonly isByConsumer: boolean
  /** Whether the rollup by price, which is in the order of consumers, is preferred: the query names nothing that it lacks. */
  readonly isByPrice?: boolean
  /** Whether the query names a revision, in its groups or its filters: only line items have it. */
  readonly isByRevision?: boolean
}

export function planSources(range: SummaryRange, rolled: RolledUsage & PricedUsage): Source[] {
  if (range.isByRevision === true || range.interval === 'minute') return planLineItems(range)
  const { fromMs, toMs, interval, isByConsumer, isByPrice = false } = range
  const found = new Map<SourceTable, Span[]>()
  const add = (table: SourceTable, fromS: number, toS: number): void => {
    if (fromS >= toS) return
    const spans = found.get(table) ?? []
    const last = spans.at(-1)
    if (last?.toS === fromS) spans[spans.length - 1] = { fromS: last.fromS, toS }
    else spans.push({ fromS, toS })
    found.set(table, spans)
  }

  const { first, hours, last } = splitRange({ fromMs, toMs })
  if (first !== null) add('line_items', first.fromS, first.toS)
  if (hours !== null) {
    const readHours = isByConsumer ? addConsumerDays : addApiDays
    for (let at = hours.fromS; at < hours.toS;)
      at = readHours({ at, hoursTo: hours.toS, interval, isByPrice, rolled, add })
  }
  if (last !== null) add('line_items', last.fromS, last.toS)
  return SOURCES.flatMap((table) => {
    const spans = found.get(table)
    return spans === undefined ? [] : [{ table, spans }]
  })
}

function planLineItems({ fromMs, toMs }: SummaryRange): Source[] {
  const span = spanOf(Math.ceil(fromMs / 1_000), Math.ceil(toMs / 1_000))
  return span === null ? [] : [{ table: 'line_items', spans: [span] }]
}

/** Splits a range into its whole hours and the parts of hours before and after them. */
export function splitRange({ fromMs, toMs }: Pick<SummaryRange, 'fromMs' | 'toMs'>): {
  readonly first: Span | null
  readonly hours: Span | null
  readonly last: Span | null
} {
  const fromS = Math.ceil(fromMs / 1_000)
  const toS = Math.ceil(toMs / 1_000)
  const hoursFrom = Math.ceil(fromS / HOUR_S) * HOUR_S
  const hoursTo = Math.floor(toS / HOUR_S) * HOUR_S
  if (hoursFrom >= hoursTo) return { first: spanOf(fromS, toS), hours: null, last: null }
  return { first: spanOf(fromS, hoursFrom), hours: spanOf(hoursFrom, hoursTo), last: spanOf(hoursTo, toS) }
}

/** Returns null if it is empty. */
function spanOf(fromS: number, toS: number): Span | null {
  return fromS < toS ? { fromS, toS } : null
}

interface Step {
  readonly at: number
  readonly hoursTo: number
  readonly interval: SummaryInterval | undefined
  readonly isByPrice: boolean
  readonly rolled: RolledUsage & PricedUsage
  readonly add: (table: SourceTable, fromS: number, toS: number) => void
}

/** Returns where the next step begins. */
function addConsumerDays({ at, hoursTo, interval, isByPrice, rolled, add }: Step): number {
  const dayEnd = Math.floor(at / DAY_S) * DAY_S + DAY_S
  const next = Math.min(dayEnd, hoursTo)
  const isWholeDay = at % DAY_S === 0 && next === dayEnd
  if (!isWholeDay || interval === 'hour') {
    add('line_items_hourly', at, next)
    return next
  }
  if (isByPrice && rolled.isDayPriced(at)) {
    add('usage_daily_by_price', at, next)
    return next
  }
  const monthEnd = endOfMonth(at)
  if (interval !== 'day' && isStartOfMonth(at) && monthEnd <= hoursTo && rolled.isMonthRolled(at)) {
    add('usage_monthly', at, monthEnd)
    return monthEnd
  }
  add(rolled.isDayRolled(at) ? 'usage_daily' : 'line_items_hourly', at, next)
  return next
}

function addApiDays({ at, hoursTo, rolled, add }: Step): number {
  const dayS = Math.floor(at / DAY_S) * DAY_S
  const next = Math.min(dayS + DAY_S, hoursTo)
  add(rolled.isDayRolled(dayS) ? 'usage_hourly_by_api' : 'line_items_hourly', at, next)
  return next
}

function isStartOfMonth(atS: number): boolean {
  return new Date(atS * 1_000).getUTCDate() === 1
}

function endOfMonth(atS: number): number {
  const at = new Date(atS * 1_000)
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1) / 1_000
}

/**
 * Reads a page of a summary.
 *
 * A page of groups by API and consumer, or by consumer, of which there may be millions, reads only its own rows: some rollups are in
 * the order of these keys, so that the end of the page is found first, and every table is read up to it. With an interval, a page is
 * looked for in ever longer stretches of time.
 */

import { HOUR_MS } from '../../../foundation/domain/calendar.ts'
import type { GroupField, SummaryInterval, SummaryPage, SummaryQuery, SummaryRow } from '../usage-store.ts'
import type { KeptUsage } from '../retention.ts'
import { requireLineItems, requireSums } from './kept-usage.ts'
import type { Readers } from './readers.ts'
import { parseSummaryCursor, toSummaryCursor } from './summary-cursor.ts'
import { planSources, type PricedUsage, type RolledUsage, type Source, type SourceTable } from './summary-plan.ts'
import { keyColumns, writePage, writePageEnd, type PageEnd, type SummaryKey } from './summary-sql.ts'

interface Row {
  readonly start_s?: number
  readonly api?: string
  readonly consumer?: string
  readonly operation?: string
  readonly subscription?: string
  readonly agent?: string
  readonly revision?: number
  readonly currency: string
  readonly calls: string
  readonly units: string
  readonly amount: string
}

type Ask = SummaryQuery & { readonly signal?: AbortSignal | undefined }

/** Tables that are sorted by a column, after the tenant. */
const ORDERED_BY: Readonly<Record<'api' | 'consumer', readonly SourceTable[]>> = {
  api: ['usage_daily', 'usage_monthly'],
  consumer: ['usage_daily_by_price'],
}
/** A stretch of time is this many times as long as the one before. */
const STRETCH_GROWTH = 6

export class Summaries {
  readonly #readers: Readers
  readonly #rolled: RolledUsage & PricedUsage

  readonly #kept: () => KeptUsage

  constructor(readers: Readers, rolled: RolledUsage & PricedUsage, kept: () => KeptUsage) {
    this.#readers = readers
    this.#rolled = rolled
    this.#kept = kept
  }

  async read(query: Ask): Promise<SummaryPage> {
    const requireRows = isByRevision(query) || query.interval === 'minute' ? requireLineItems : requireSums
    requireRows(query, this.#kept())
    const page = await this.#readPage(query)
    // Rows may have been removed meanwhile.
    requireRows(query, this.#kept())
    return page
  }

  async #readPage(query: Ask): Promise<SummaryPage> {
    const { limit, interval, fromMs, toMs } = query
    const after = query.after === undefined ? null : parseSummaryCursor(query.after, query)
    const found: Row[] = []
    if (interval === undefined || !(isByConsumer(query) || isByRevision(query))) {
      found.push(...(await this.#readRange(query, after, limit + 1)))
    } else {
      let from = after === null ? fromMs : Math.max(fromMs, Number(after[0]) * 1_000)
      for (let intervals = 1; found.length <= limit && from < toMs; intervals *= STRETCH_GROWTH) {
        const to = Math.min(toMs, endOfStretch(from, interval, intervals))
        found.push(...(await this.#readRange({ ...query, fromMs: from, toMs: to }, after, limit + 1 - found.length)))
        from = to
      }
    }
    const shown = found.slice(0, limit)
    const last = shown.at(-1)
    const next = found.length > limit && last !== undefined ? toSummaryCursor(toKey(last, query)) : null
    return { rows: shown.map((row) => toSummaryRow(row, query)), next }
  }

  async #readRange(query: Ask, after: SummaryKey | null, limit: number): Promise<readonly Row[]> {
    const isOf = {
      isByConsumer: isByConsumer(query),
      isByPrice: isByPrice(query),
      isByRevision: isByRevision(query),
    }
    const sources = planSources({ ...query, ...isOf }, this.#rolled)
    if (sources.length === 0) return []
    const end = await this.#findEnd(query, sources, after, limit)
    const { tenant, customer, signal } = query
    const statement = { ...writePage(query, sources, { after, end, limit }), consumer: customer }
    return this.#readers.read<Row>(tenant, statement, signal)
  }

  /** Returns null if the page may extend to the last group. */
  async #findEnd(
    query: Ask,
    sources: readonly Source[],
    after: SummaryKey | null,
    limit: number,
  ): Promise<PageEnd | null> {
    const { groupBy, tenant, signal, interval, fromMs, toMs, customer } = query
    // Groups of an earlier interval come first, whatever else they are of.
    if (interval !== undefined && endOfStretch(fromMs, interval, 1) < toMs) return null
    if (!groupBy.includes('customer') || customer !== undefined) return null
    const columns = groupBy.includes('api') ? (['api', 'consumer'] as const) : (['consumer'] as const)
    const source = sources.find(({ table }) => ORDERED_BY[columns[0]].includes(table))
    if (source === undefined) return null
    const at = keyColumns(query).indexOf(columns[0])
    const from = after === null ? null : columns.map((_, index) => String(after[at + index]))
    // The groups of the first values may be on the page before.
    const statement = writePageEnd(query, source, { columns, from, groups: limit + 1 })
    const [found] = await this.#readers.read<Pick<Row, 'api' | 'consumer'>>(tenant, statement, signal)
    return found === undefined ? null : { columns, values: columns.map((name) => found[name]!) }
  }
}

/**
 * Whether the rollup by price has all that the query names, and its order helps: with one consumer, or a page of consumers. It has one
 * row per day, API and price instead of one per day and operation.
 */
function isByPrice({ groupBy, interval, api, customer, subscription, operation }: SummaryQuery): boolean {
  if (subscription !== undefined || operation !== undefined) return false
  if (customer !== undefined) return groupBy.every((field) => field === 'api' || field === 'customer')
  return groupBy.join() === 'customer' && api === undefined && interval === undefined
}

function isByConsumer({ groupBy, customer, subscription }: SummaryQuery): boolean {
  const groups: readonly GroupField[] = ['customer', 'subscription', 'agent']
  return customer !== undefined || subscription !== undefined || groups.some((field) => groupBy.includes(field))
}

function isByRevision({ groupBy, revision }: SummaryQuery): boolean {
  return revision !== undefined || groupBy.includes('revision')
}

function toKey(row: Row, query: SummaryQuery): SummaryKey {
  return keyColumns(query).map((name) => row[name as keyof Row] ?? '')
}

function toSummaryRow(row: Row, { groupBy, interval, fromMs, toMs }: SummaryQuery): SummaryRow {
  const values: Record<GroupField, string | number | undefined> = { ...row, customer: row.consumer } as never
  const startMs = Number(row.start_s) * 1_000
  return {
    group: Object.fromEntries(groupBy.map((field) => [field, values[field] ?? ''])),
    value: row.units,
    calls: Number(row.calls),
    amount: row.amount,
    currency: row.currency,
    fromMs: interval === undefined ? fromMs : Math.max(fromMs, startMs),
    toMs: interval === undefined ? toMs : Math.min(toMs, endOfStretch(startMs, interval, 1)),
  }
}

const LENGTHS_MS = { minute: HOUR_MS / 60, hour: HOUR_MS, day: 24 * HOUR_MS }

/** End of the last of so many intervals, the first of which contains `fromMs`. */
function endOfStretch(fromMs: number, interval: SummaryInterval, intervals: number): number {
  if (interval === 'month') {
    const from = new Date(fromMs)
    return Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + intervals, 1)
  }
  const lengthMs = LENGTHS_MS[interval]
  return (Math.floor(fromMs / lengthMs) + intervals) * lengthMs
}

/** Port of usage: line items that the stream writes and the platform API reads. */

import type { Channel } from '../../foundation/domain/attribution.ts'

export interface LineItem {
  readonly windowStartMs: number
  readonly tenant: string
  readonly api: string
  readonly operation: string
  readonly consumer: string
  readonly consumerName: string
  readonly subscription: string
  readonly agent: string
  readonly variant: string
  readonly currency: string
  readonly priceMicro: number
  readonly calls: number
  /** Millionths of a resource unit; a whole number. */
  readonly unitsMicro: bigint
  /** Missing for plain HTTP calls. */
  readonly channel?: 'mcp'
  /** Missing if the records named none. */
  readonly revision?: number
}

export interface UsageFilter {
  readonly tenant: string
  readonly fromMs: number
  readonly toMs: number
  readonly api?: string
  readonly excludeApi?: string
  readonly customer?: string
  readonly subscription?: string
  readonly operation?: string
  /** 0: calls whose records named none. */
  readonly revision?: number
}

/** Decimal strings are exact. `customer` is the consumer's id. */
export interface LineItemRow {
  readonly api: string
  readonly customer: string
  readonly customerName: string
  readonly operation: string
  readonly subscription: string
  readonly agent: string
  readonly value: string
  readonly calls: number
  readonly amount: string
  readonly currency: string
  readonly channel: Channel
  /** 0: the records named none. */
  readonly revision: number
  readonly timeMs: number
}

export const GROUP_FIELDS = ['api', 'customer', 'operation', 'subscription', 'agent', 'revision'] as const
export type GroupField = (typeof GROUP_FIELDS)[number]
export type SummaryInterval = 'minute' | 'hour' | 'day' | 'month'

export interface SummaryQuery extends UsageFilter {
  readonly groupBy: readonly GroupField[]
  readonly interval?: SummaryInterval
  /** Opaque position after the last group of the page before. */
  readonly after?: string
  readonly limit: number
}

export interface SummaryPage {
  readonly rows: readonly SummaryRow[]
  readonly next: string | null
}

export interface SummaryRow {
  readonly group: { readonly [Field in GroupField]?: Field extends 'revision' ? number : string }
  readonly value: string
  readonly calls: number
  readonly amount: string
  readonly currency: string
  readonly fromMs: number
  readonly toMs: number
}

export interface LineItemQuery extends UsageFilter {
  /** Opaque position after the last row of the page before. */
  readonly after?: string
  readonly limit: number
}

export interface UsageStore {
  /**
   * Adds line items once: a second insert with the same token changes nothing, also after a crash
   * of either side. The rows of a token must be the same each time.
   */
  insert(token: string, items: readonly LineItem[], signal?: AbortSignal): Promise<void>
  /** Adds only the hourly totals of line items that are stored already; once per token. */
  insertTotals(token: string, items: readonly LineItem[], signal?: AbortSignal): Promise<void>
  /** Adds only the line items of hourly totals that are stored already. Not idempotent: the caller checks that they are absent. */
  insertWithoutTotals(token: string, items: readonly LineItem[], signal?: AbortSignal): Promise<void>
  lineItems(query: LineItemQuery, signal?: AbortSignal): Promise<{ rows: readonly LineItemRow[]; next: string | null }>
  /** Additive over partial rows; groups in a stable order. By revision, it is read from line items only. */
  summaries(query: SummaryQuery, signal?: AbortSignal): Promise<SummaryPage>
}

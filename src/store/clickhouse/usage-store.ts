/** Usage in ClickHouse: line items as they are flushed, an hourly rollup beside them. */

import { toDecimal } from '../../domain/decimal.ts'
import { Problem } from '../../domain/problem.ts'
import {
  GROUP_FIELDS,
  type GroupField,
  type LineItem,
  type LineItemRow,
  type SummaryQuery,
  type SummaryRow,
  type UsageFilter,
  type UsageStore,
} from '../usage-store.ts'
import { within, type ClickHouse } from './client.ts'
import { insertOnce } from './insert-once.ts'
import { readQuery } from './migrations.ts'

interface Row {
  readonly start_s: number
  readonly api: string
  readonly operation: string
  readonly consumer: string
  readonly consumer_name: string
  readonly subscription: string
  readonly agent: string
  readonly currency: string
  readonly calls: string
  readonly units: string
  readonly amount: string
}

interface GroupRow extends Pick<Row, 'start_s' | 'calls' | 'units' | 'amount'> {
  readonly g_api: string
  readonly g_customer: string
  readonly g_operation: string
  readonly g_subscription: string
  readonly g_agent: string
  readonly g_currency: string
}

const HOUR_MS = 3_600_000
/** Sorts before every line item. */
const FIRST = [0, '', '', '', '', '', ''] as const

export function createClickHouseUsageStore(client: ClickHouse): UsageStore {
  const lineItemsSql = readQuery('line_items')
  const summariesSql = readQuery('summaries')

  async function rows<T>(query: string, params: Record<string, unknown>, signal?: AbortSignal): Promise<T[]> {
    try {
      const result = await client.query({
        query,
        query_params: params,
        format: 'JSONEachRow',
        abort_signal: within(signal),
      })
      return await result.json<T>()
    } catch (cause) {
      throw new Problem('unavailable', 'Usage cannot be read at the moment.', { cause })
    }
  }

  return {
    insert: (token, items, signal) =>
      insertOnce(client, { table: 'line_items', token, rows: items.map(toRow), signal }),
    async lineItems(query, signal) {
      const after = query.after === undefined ? FIRST : parsePosition(query.after)
      const found = await rows<Row>(
        lineItemsSql,
        { ...toParams(query), ...toAfter(after), limit: query.limit + 1 },
        signal,
      )
      const shown = found.slice(0, query.limit)
      const last = shown.at(-1)
      return { rows: shown.map(toLineItemRow), next: found.length > query.limit && last ? toPosition(last) : null }
    },
    async summaries(query, signal) {
      const found = await rows<GroupRow>(summariesSql, toSummaryParams(query), signal)
      return found.map((row) => toSummaryRow(row, query))
    },
  }
}

/** Half a surrogate pair is refused by the store: one such name must not hold up the bill of everybody. */
function toRow(item: LineItem): Record<string, unknown> {
  return {
    window_start: Math.floor(item.windowStartMs / 1_000),
    tenant: item.tenant.toWellFormed(),
    api: item.api.toWellFormed(),
    operation: item.operation.toWellFormed(),
    consumer: item.consumer.toWellFormed(),
    consumer_name: item.consumerName.toWellFormed(),
    subscription: item.subscription.toWellFormed(),
    agent: item.agent.toWellFormed(),
    variant: item.variant.toWellFormed(),
    currency: item.currency.toWellFormed(),
    price: toDecimal(BigInt(item.priceMicro), 6),
    calls: item.calls,
    units: toDecimal(item.unitsMicro, 6),
    amount: toDecimal(item.unitsMicro * BigInt(item.priceMicro), 12),
  }
}

function toParams(filter: UsageFilter): Record<string, unknown> {
  return {
    tenant: filter.tenant,
    from_ms: filter.fromMs,
    to_ms: filter.toMs,
    api: filter.api ?? '',
    exclude_api: filter.excludeApi ?? '',
    customer: filter.customer ?? '',
    subscription: filter.subscription ?? '',
    operation: filter.operation ?? '',
  }
}

function toSummaryParams(query: SummaryQuery): Record<string, unknown> {
  const { fromMs, toMs, groupBy, interval, offset, limit } = query
  const hoursFrom = Math.ceil(fromMs / HOUR_MS) * HOUR_MS
  const hoursTo = Math.max(hoursFrom, Math.floor(toMs / HOUR_MS) * HOUR_MS)
  const groups = GROUP_FIELDS.map((field) => [`by_${field}`, groupBy.includes(field) ? 1 : 0] as const)
  return {
    ...toParams(query),
    ...Object.fromEntries(groups),
    hours_from_ms: hoursFrom,
    hours_to_ms: hoursTo,
    interval: interval ?? '',
    offset,
    limit,
  }
}

function toAfter([start, api, consumer, operation, subscription, agent, currency]: readonly (
  string | number
)[]): Record<string, unknown> {
  return {
    after_start_s: start,
    after_api: api,
    after_consumer: consumer,
    after_operation: operation,
    after_subscription: subscription,
    after_agent: agent,
    after_currency: currency,
  }
}

function toPosition(row: Row): string {
  return JSON.stringify([row.start_s, row.api, row.consumer, row.operation, row.subscription, row.agent, row.currency])
}

function parsePosition(text: string): readonly (string | number)[] {
  try {
    const value: unknown = JSON.parse(text)
    if (Array.isArray(value) && value.length === FIRST.length && isSecond(value[0]))
      return value.map((part, index) => (index === 0 ? Number(part) : String(part)))
  } catch {
    // Falls through: what is not JSON is no position either.
  }
  throw new Problem('cursor_invalid', 'Give the `next` of the page before, unchanged.')
}

function isSecond(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) < 2 ** 32
}

function toLineItemRow(row: Row): LineItemRow {
  return {
    api: row.api,
    customer: row.consumer,
    customerName: row.consumer_name,
    operation: row.operation,
    subscription: row.subscription,
    agent: row.agent,
    value: row.units,
    calls: Number(row.calls),
    amount: row.amount,
    currency: row.currency,
    timeMs: Number(row.start_s) * 1_000,
  }
}

function toSummaryRow(row: GroupRow, { groupBy, interval, fromMs, toMs }: SummaryQuery): SummaryRow {
  const values: Record<GroupField, string> = {
    api: row.g_api,
    customer: row.g_customer,
    operation: row.g_operation,
    subscription: row.g_subscription,
    agent: row.g_agent,
  }
  const startMs = Number(row.start_s) * 1_000
  const range =
    interval === undefined
      ? { from: fromMs, to: toMs }
      : { from: Math.max(fromMs, startMs), to: Math.min(toMs, endOf(startMs, interval)) }
  return {
    group: Object.fromEntries(groupBy.map((field) => [field, values[field]])),
    value: row.units,
    calls: Number(row.calls),
    amount: row.amount,
    currency: row.g_currency,
    fromMs: range.from,
    toMs: range.to,
  }
}

function endOf(startMs: number, interval: 'hour' | 'day' | 'month'): number {
  if (interval === 'hour') return startMs + HOUR_MS
  if (interval === 'day') return startMs + 24 * HOUR_MS
  const start = new Date(startMs)
  return Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1, 1)
}

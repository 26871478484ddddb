/** Usage in ClickHouse: line items as they are flushed, hourly totals beside them, and rollups of closed days. */

import { HOUR_MS } from '../../../foundation/domain/calendar.ts'
import { UNKNOWN_REVISION } from '../../../foundation/domain/attribution.ts'
import { toDecimal } from '../../../foundation/domain/decimal.ts'
import { ALL_KEPT, type KeptUsage } from '../retention.ts'
import { writtenWith, type Written } from '../flush-token.ts'
import type { LineItem, LineItemRow, UsageFilter, UsageStore } from '../usage-store.ts'
import { withAside } from './aside-tables.ts'
import { within, type ClickHouse } from './client.ts'
import { insertOnce } from './insert-once.ts'
import { requireLineItems } from './kept-usage.ts'
import { FIRST_CURSOR, parseCursor, toCursor, toCursorParams, type CursorRow } from './line-item-cursor.ts'
import { readQuery } from './migrations.ts'
import { createReaders, type Readers } from './readers.ts'
import { onAllReplicas } from './replicas.ts'
import { NOTHING_ROLLED, type Rollups } from './rollups.ts'
import { Summaries } from './summaries.ts'

interface Row extends CursorRow {
  readonly consumer_name: string
  readonly calls: string
  readonly units: string
  readonly amount: string
}

/** A page is looked for in ever longer stretches of time: merging a whole month to show fifty rows takes seconds. */
const SPAN_MS = HOUR_MS / 6
const SPAN_GROWTH = 4
/** No revision has this number. */
const ANY_REVISION = -1

export interface ClickHouseUsageOptions {
  /** Default: the connection of the inserts. */
  readonly readers?: Readers
  /** Default: summaries are read from the hourly totals only. */
  readonly rollups?: Rollups
  /** Default: nothing is removed. */
  readonly kept?: () => KeptUsage
}

export function createClickHouseUsageStore(client: ClickHouse, options: ClickHouseUsageOptions = {}): UsageStore {
  const { readers = createReaders([client]), rollups = NOTHING_ROLLED, kept = () => ALL_KEPT } = options
  const lineItemsSql = readQuery('line_items')
  const summaries = new Summaries(readers, rollups, kept)
  const inserting = (items: readonly LineItem[], insert: () => Promise<void>): Promise<void> =>
    rollups.inserting(
      items.map(({ windowStartMs }) => windowStartMs),
      insert,
    )

  return {
    insert: (token, items, signal) =>
      inserting(items, () => insertOnce(client, { table: 'line_items', token, rows: toRows(token, items), signal })),
    insertTotals: (token, items, signal) =>
      inserting(items, () =>
        insertOnce(client, { table: 'line_items_hourly', token, rows: toTotalsRows(token, items), signal }),
      ),
    insertWithoutTotals: (token, items, signal) =>
      client.newParts.verified(() => attachLineItems(client, { token, items, signal })),
    async lineItems(query, signal) {
      const { limit, toMs, tenant, customer } = query
      requireLineItems(query, kept())
      const after = query.after === undefined ? FIRST_CURSOR : parseCursor(query.after)
      const found: Row[] = []
      let fromMs = Math.max(query.fromMs, after[0] * 1_000)
      for (let spanMs = SPAN_MS; found.length <= limit && fromMs < toMs; spanMs *= SPAN_GROWTH) {
        const stretch = { ...query, fromMs, toMs: Math.min(toMs, fromMs + spanMs) }
        const params = { ...toParams(stretch), ...toCursorParams(after), limit: limit + 1 - found.length }
        const statement = { query: lineItemsSql, params, consumer: customer }
        found.push(...(await readers.read<Row>(tenant, statement, signal)))
        fromMs = stretch.toMs
      }
      // Rows may have been removed meanwhile.
      requireLineItems(query, kept())
      const shown = found.slice(0, limit)
      const last = shown.at(-1)
      return { rows: shown.map(toLineItemRow), next: found.length > limit && last ? toCursor(last) : null }
    },
    summaries: (query, signal) => summaries.read({ ...query, signal }),
  }
}

interface Attached {
  readonly token: string
  readonly items: readonly LineItem[]
  readonly signal: AbortSignal | undefined
}

/** An attached part, unlike an inserted row, is not seen by the view that makes the totals. */
async function attachLineItems(client: ClickHouse, { token, items, signal }: Attached): Promise<void> {
  const attach = async (aside: string): Promise<void> => {
    await insertOnce(client, { table: aside, token: 'rows', rows: toRows(token, items), signal })
    const months = new Set(items.map(({ windowStartMs }) => new Date(windowStartMs).toISOString().slice(0, 7)))
    for (const month of months) {
      const query = `ALTER TABLE line_items ATTACH PARTITION ID '${month.replace('-', '')}' FROM ${aside}${onAllReplicas(client)}`
      await client.command({ query, abort_signal: within(signal) })
    }
  }
  await withAside(client, 'line_items', attach, signal)
}

function toRows(token: string, items: readonly LineItem[]): readonly Record<string, unknown>[] {
  const written = writtenWith(token)
  return items.map((item) => toRow(item, written))
}

function toTotalsRows(token: string, items: readonly LineItem[]): readonly Record<string, unknown>[] {
  const written = writtenWith(token)
  return items.map((item) => toTotalsRow(item, written))
}

/** The store refuses half a surrogate pair, and one such name must not delay the bill of every consumer. */
function toRow(item: LineItem, { writer, flush_number }: Written): Record<string, unknown> {
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
    channel: item.channel ?? 'http',
    revision: item.revision ?? UNKNOWN_REVISION,
    writer,
    flush_number,
  }
}

/** The row that the view `line_items_to_hourly` makes of a line item. */
function toTotalsRow(item: LineItem, written: Written): Record<string, unknown> {
  const { window_start: _, consumer_name: __, variant: ___, price: ____, channel: _____, ...row } = toRow(item, written)
  const { flush_number: ______, revision: _______, ...totals } = row
  return { hour: Math.floor(item.windowStartMs / HOUR_MS) * (HOUR_MS / 1_000), ...totals }
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
    revision: filter.revision ?? ANY_REVISION,
  }
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
    channel: row.channel === 'mcp' ? 'mcp' : 'http',
    revision: row.revision,
    timeMs: Number(row.start_s) * 1_000,
  }
}

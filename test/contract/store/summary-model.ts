/** The summary that a list of line items has, computed by hand, and the one that a store returns. */

import { toDecimal } from '../../../src/foundation/domain/decimal.ts'
import type {
  GroupField,
  LineItem,
  SummaryQuery,
  SummaryRow,
  UsageStore,
} from '../../../src/storage/store/usage-store.ts'

type Shown = Pick<SummaryRow, 'group' | 'calls' | 'value' | 'amount' | 'currency' | 'fromMs' | 'toMs'>

/** Reads all pages. */
export async function readSummary(usage: UsageStore, query: SummaryQuery): Promise<readonly Shown[]> {
  const rows: SummaryRow[] = []
  for (let after: string | null | undefined; after !== null;) {
    const page = await usage.summaries({ ...query, ...(after !== undefined && { after }) })
    if (page.rows.length > query.limit) throw new Error(`a page of ${page.rows.length} rows`)
    rows.push(...page.rows)
    after = page.next
  }
  return rows
}

/** Groups in the order of the summary. */
export function sumUp(items: readonly LineItem[], query: SummaryQuery): readonly Shown[] {
  const groups = new Map<string, { key: readonly string[]; items: LineItem[] }>()
  for (const item of items.filter((each) => isOf(each, query))) {
    const key = [startOf(item, query), ...query.groupBy.map((field) => valueOf(item, field)), item.currency]
    const id = JSON.stringify(key)
    const group = groups.get(id) ?? { key, items: [] }
    group.items.push(item)
    groups.set(id, group)
  }
  return [...groups.values()]
    .toSorted((a, b) => compareKeys(a.key, b.key))
    .map(({ key, items: own }) => {
      const { fromMs, toMs } = rangeOf(own[0]!, query)
      return {
        group: Object.fromEntries(query.groupBy.map((field) => [field, groupOf(own[0]!, field)])),
        calls: own.reduce((sum, { calls }) => sum + calls, 0),
        value: toDecimal(
          own.reduce((sum, { unitsMicro }) => sum + unitsMicro, 0n),
          6,
        ),
        amount: toDecimal(
          own.reduce((sum, { unitsMicro, priceMicro }) => sum + unitsMicro * BigInt(priceMicro), 0n),
          12,
        ),
        currency: key.at(-1)!,
        fromMs,
        toMs,
      }
    })
}

function isOf(item: LineItem, query: SummaryQuery): boolean {
  const { tenant, fromMs, toMs, api, excludeApi, customer, subscription, operation, revision } = query
  return (
    item.tenant === tenant &&
    item.windowStartMs >= fromMs &&
    item.windowStartMs < toMs &&
    (api === undefined || item.api === api) &&
    item.api !== excludeApi &&
    (customer === undefined || item.consumer === customer) &&
    (subscription === undefined || item.subscription === subscription) &&
    (operation === undefined || item.operation === operation) &&
    (revision === undefined || (item.revision ?? 0) === revision)
  )
}

function groupOf(item: LineItem, field: GroupField): string | number {
  if (field === 'revision') return item.revision ?? 0
  return field === 'customer' ? item.consumer : item[field]
}

/** Sorts as the group does. */
function valueOf(item: LineItem, field: GroupField): string {
  return field === 'revision' ? String(item.revision ?? 0).padStart(10, '0') : String(groupOf(item, field))
}

function startOf(item: LineItem, query: SummaryQuery): string {
  return String(intervalOf(item, query)?.fromMs ?? 0).padStart(15, '0')
}

function rangeOf(item: LineItem, query: SummaryQuery): { fromMs: number; toMs: number } {
  const interval = intervalOf(item, query)
  return {
    fromMs: Math.max(query.fromMs, interval?.fromMs ?? 0),
    toMs: Math.min(query.toMs, interval?.toMs ?? Infinity),
  }
}

function intervalOf({ windowStartMs }: LineItem, { interval }: SummaryQuery): { fromMs: number; toMs: number } | null {
  if (interval === undefined) return null
  const at = new Date(windowStartMs)
  const [year, month, day] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()]
  if (interval === 'month') return { fromMs: Date.UTC(year, month, 1), toMs: Date.UTC(year, month + 1, 1) }
  if (interval === 'day') return { fromMs: Date.UTC(year, month, day), toMs: Date.UTC(year, month, day + 1) }
  const hour = at.getUTCHours()
  if (interval === 'minute') {
    const fromMs = Math.floor(windowStartMs / 60_000) * 60_000
    return { fromMs, toMs: fromMs + 60_000 }
  }
  return { fromMs: Date.UTC(year, month, day, hour), toMs: Date.UTC(year, month, day, hour + 1) }
}

function compareKeys(a: readonly string[], b: readonly string[]): number {
  const at = a.findIndex((part, index) => part !== b[index])
  return at < 0 ? 0 : a[at]! < b[at]! ? -1 : 1
}

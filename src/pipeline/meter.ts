/**
 * Adds call records up to line items: calls and units by 10-second window and key.
 *
 * The inner loop is arithmetic on arrays: an attribution is turned into a column number once per
 * segment, and a window holds one number for calls and one for units per column. Units are whole
 * millionths in doubles; a flush of nine billion units would be needed to lose one.
 *
 * Rows come out in a fixed order, so that a range of the spool gives the same rows each time.
 */

import type { Attribution } from '../domain/attribution.ts'
import { LINE_ITEM_WINDOW_MS } from '../domain/window.ts'
import { FLAG_FORWARDED } from '../record/call-record.ts'
import type { RecordBatch } from '../record/record-batch.ts'
import type { LineItem } from '../store/usage-store.ts'

interface WindowSums {
  readonly startMs: number
  calls: Float64Array
  units: Float64Array
  /** Columns with at least one call. */
  readonly touched: number[]
}

export interface Meter {
  add(batch: RecordBatch): void
  /** The line items of all that was added, and a fresh start. */
  take(): readonly LineItem[]
  /** How many line items there would be. */
  readonly rows: number
  readonly isEmpty: boolean
}

const COLUMNS_MIN = 1_024
/** Beyond this many keys columns are numbered afresh at the next take. */
const COLUMNS_MAX = 200_000

export function createMeter(): Meter {
  const columns = new Map<string, number>()
  const keys: Attribution[] = []
  const bySegment = new Map<number, { columns: Int32Array; filled: number }>()
  let windows = new Map<number, WindowSums>()
  let current: WindowSums | null = null
  let rows = 0
  let records = 0

  function add(batch: RecordBatch): void {
    const columnOf = columnsOf(batch)
    const { count } = batch
    records += count
    for (let index = 0; index < count; index++) {
      if ((batch.flags(index) & FLAG_FORWARDED) === 0) continue
      const startMs = batch.timeMs(index) - (batch.timeMs(index) % LINE_ITEM_WINDOW_MS)
      if (current === null || current.startMs !== startMs) current = windowAt(startMs)
      const column = columnOf[batch.attributionId(index)]!
      if (column >= current.calls.length) grow(current)
      if (current.calls[column] === 0) {
        current.touched.push(column)
        rows++
      }
      current.calls[column]! += 1
      current.units[column]! += batch.unitsMicro(index)
    }
  }

  /** Column of each attribution of the batch's segment; grown by doubling, filled as batches bring more. */
  function columnsOf({ segmentKey, attributions }: RecordBatch): Int32Array {
    let known = bySegment.get(segmentKey)
    if (known === undefined) bySegment.set(segmentKey, (known = { columns: new Int32Array(64), filled: 0 }))
    if (known.columns.length < attributions.length) {
      const grown = new Int32Array(attributions.length * 2)
      grown.set(known.columns)
      known.columns = grown
    }
    while (known.filled < attributions.length) {
      known.columns[known.filled] = columnFor(attributions[known.filled]!)
      known.filled++
    }
    return known.columns
  }

  function columnFor(attribution: Attribution): number {
    const key = keyOf(attribution)
    let column = columns.get(key)
    if (column === undefined) {
      column = keys.length
      columns.set(key, column)
      keys.push(attribution)
    }
    return column
  }

  function windowAt(startMs: number): WindowSums {
    let sums = windows.get(startMs)
    if (sums === undefined) {
      const size = Math.max(COLUMNS_MIN, keys.length * 2)
      sums = { startMs, calls: new Float64Array(size), units: new Float64Array(size), touched: [] }
      windows.set(startMs, sums)
    }
    return sums
  }

  function grow(sums: WindowSums): void {
    const [{ calls, units }, size] = [sums, Math.max(sums.calls.length * 2, keys.length)]
    sums.calls = new Float64Array(size)
    sums.units = new Float64Array(size)
    sums.calls.set(calls)
    sums.units.set(units)
  }

  function take(): readonly LineItem[] {
    const items = [...windows.values()]
      .flatMap((sums) => sums.touched.map((column) => toLineItem(sums, column, keys[column]!)))
      .sort(byKey)
    windows = new Map()
    current = null
    rows = 0
    records = 0
    // Segments come and go; what is known of the old ones goes with them.
    bySegment.clear()
    if (keys.length > COLUMNS_MAX) {
      columns.clear()
      keys.length = 0
    }
    return items
  }

  return {
    add,
    take,
    get rows() {
      return rows
    },
    get isEmpty() {
      return records === 0
    },
  }
}

/** The person is not part of the bill. */
function keyOf(attribution: Attribution): string {
  const { tenant, api, operation, consumer, subscription, agent, variant, currency, priceMicro } = attribution
  return JSON.stringify([tenant, api, operation, consumer, subscription, agent, variant, currency, priceMicro])
}

function toLineItem(sums: WindowSums, column: number, attribution: Attribution): LineItem {
  const { person: _, ...key } = attribution
  return { ...key, windowStartMs: sums.startMs, calls: sums.calls[column]!, unitsMicro: BigInt(sums.units[column]!) }
}

function byKey(a: LineItem, b: LineItem): number {
  return a.windowStartMs - b.windowStartMs || compare(sortKey(a), sortKey(b))
}

function sortKey({
  tenant,
  api,
  operation,
  consumer,
  subscription,
  agent,
  variant,
  currency,
  priceMicro,
}: LineItem): string {
  return [tenant, api, operation, consumer, subscription, agent, variant, currency, priceMicro].join('\0')
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

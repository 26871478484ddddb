/**
 * Sums call records into line items: calls and units by 10-second window and key.
 *
 * The inner loop is arithmetic on arrays: each attribution is mapped to a column once per segment, and each window maps
 * columns to rows of the sums. A sum of units stays below 2^53 millionths, where doubles are exact; larger sums overflow into
 * a `bigint`.
 *
 * The same records give the same line items in the same order, independent of batches and of what was metered before: an
 * interrupted flush is rebuilt from the spool.
 */

import type { Attribution } from '../domain/attribution.ts'
import { LINE_ITEM_WINDOW_MS } from '../domain/window.ts'
import { FLAG_FORWARDED } from '../record/call-record.ts'
import type { RecordBatch } from '../record/record-batch.ts'
import type { LineItem } from '../store/usage-store.ts'
import { createColumns, type Columns } from '../record/columns.ts'

export interface Meter {
  add(batch: RecordBatch): void
  /** Returns the line items of all records that were added, and starts anew. */
  take(): readonly LineItem[]
  /** The next flush has reached its size limit. */
  readonly isFull: boolean
  readonly isEmpty: boolean
}

interface Window {
  readonly startMs: number
  /** Row of the sums plus one, by column; 0 if the column has no row. */
  rowOf: Int32Array
}

const ROWS_MAX = 100_000
/** Upper bound of the records that are read again after a crash. */
const RECORDS_MAX = 2_000_000
/** Windows times columns: 64 MiB. */
const CELLS_MAX = 16 * 1024 * 1024
const ROWS_MIN = 1_024
/** Below 2^53 - 2^50: one more record, of at most 10^15 millionths, keeps the sum exact. */
const UNITS_MICRO_MAX = 7 * 2 ** 50

export function createMeter(): Meter {
  const columns: Columns = createColumns()
  let windows = new Map<number, Window>()
  let current: Window | null = null
  let columnOf: number[] = []
  let windowOf: number[] = []
  let calls = new Float64Array(ROWS_MIN)
  let unitsMicro = new Float64Array(ROWS_MIN)
  /** Units that overflowed the sums, by row. */
  let overflowed = new Map<number, bigint>()
  let rows = 0
  let records = 0
  let cells = 0

  function add(batch: RecordBatch): void {
    const columnsOfBatch = columns.of(batch)
    const { count } = batch
    records += count
    for (let index = 0; index < count; index++) {
      if ((batch.flags(index) & FLAG_FORWARDED) === 0) continue
      const timeMs = batch.timeMs(index)
      const startMs = timeMs - (timeMs % LINE_ITEM_WINDOW_MS)
      if (current === null || current.startMs !== startMs) current = windowAt(startMs)
      const column = columnsOfBatch[batch.attributionId(index)]!
      if (column >= current.rowOf.length) widen(current)
      const row = (current.rowOf[column]! || newRow(current, column)) - 1
      calls[row]! += 1
      const units = unitsMicro[row]! + batch.unitsMicro(index)
      unitsMicro[row] = units < UNITS_MICRO_MAX ? units : overflow(row, units)
    }
  }

  function windowAt(startMs: number): Window {
    let window = windows.get(startMs)
    if (window === undefined) {
      window = { startMs, rowOf: new Int32Array(columns.count + 64) }
      cells += window.rowOf.length
      windows.set(startMs, window)
    }
    return window
  }

  function widen(window: Window): void {
    const rowOf = new Int32Array(columns.count * 2)
    rowOf.set(window.rowOf)
    cells += rowOf.length - window.rowOf.length
    window.rowOf = rowOf
  }

  function newRow(window: Window, column: number): number {
    if (rows === calls.length) {
      calls = doubled(calls)
      unitsMicro = doubled(unitsMicro)
    }
    columnOf.push(column)
    windowOf.push(window.startMs)
    window.rowOf[column] = ++rows
    return rows
  }

  function overflow(row: number, units: number): number {
    overflowed.set(row, (overflowed.get(row) ?? 0n) + BigInt(units))
    return 0
  }

  function toLineItem(row: number): LineItem {
    const { person: _, ...key }: Attribution = columns.keyAt(columnOf[row]!)
    const units = BigInt(unitsMicro[row]!) + (overflowed.get(row) ?? 0n)
    return { ...key, windowStartMs: windowOf[row]!, calls: calls[row]!, unitsMicro: units }
  }

  function take(): readonly LineItem[] {
    const order = Array.from(columnOf, (_, row) => row).sort(
      (a, b) => windowOf[a]! - windowOf[b]! || columns.compare(columnOf[a]!, columnOf[b]!),
    )
    const items = order.map(toLineItem)
    windows = new Map()
    current = null
    columnOf = []
    windowOf = []
    calls = new Float64Array(ROWS_MIN)
    unitsMicro = new Float64Array(ROWS_MIN)
    overflowed = new Map()
    rows = records = cells = 0
    columns.tidy()
    return items
  }

  return {
    add,
    take,
    get isFull() {
      return rows >= ROWS_MAX || records >= RECORDS_MAX || cells >= CELLS_MAX
    },
    get isEmpty() {
      return records === 0
    },
  }
}

function doubled(values: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
  const grown = new Float64Array(values.length * 2)
  grown.set(values)
  return grown
}

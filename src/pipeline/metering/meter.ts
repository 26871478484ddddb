/**
 * Sums call records into line items: calls and units by 10-second window and key.
 *
 * The inner loop is arithmetic on arrays: each attribution is mapped to a column once per segment, and each window maps
 * columns to rows of the sums. A sum of units stays below 2^53 millionths, where doubles are exact; larger sums overflow into
 * a `bigint`.
 *
 * The same records give the same line items in the same order, independent of batches and of earlier records: an
 * interrupted flush is rebuilt from the spool.
 */

import type { Attribution } from '../../foundation/domain/attribution.ts'
import { LINE_ITEM_WINDOW_MS } from '../../foundation/domain/window.ts'
import { FLAG_FORWARDED } from '../../storage/spool/call-record.ts'
import type { RecordBatch } from '../../storage/spool/record-batch.ts'
import type { LineItem } from '../../storage/store/usage-store.ts'
import { createColumns, type Columns } from '../../storage/spool/columns.ts'

export interface Meter {
  add(batch: RecordBatch): void
  /** Returns the line items of all records that were added since the last `take`. */
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
  const sums = new LineItemSums()
  return {
    add: (batch) => sums.add(batch),
    take: () => sums.take(),
    get isFull() {
      return sums.isFull
    },
    get isEmpty() {
      return sums.isEmpty
    },
  }
}

class LineItemSums implements Meter {
  readonly #columns: Columns = createColumns()
  #windows = new Map<number, Window>()
  #current: Window | null = null
  #columnOf: number[] = []
  #windowOf: number[] = []
  #calls = new Float64Array(ROWS_MIN)
  #unitsMicro = new Float64Array(ROWS_MIN)
  /** Units that overflowed the sums, by row. */
  #overflowed = new Map<number, bigint>()
  #rows = 0
  #records = 0
  #cells = 0

  get isFull(): boolean {
    return this.#rows >= ROWS_MAX || this.#records >= RECORDS_MAX || this.#cells >= CELLS_MAX
  }

  get isEmpty(): boolean {
    return this.#records === 0
  }

  add(batch: RecordBatch): void {
    const columnsOfBatch = this.#columns.of(batch)
    const { count } = batch
    let current = this.#current
    this.#records += count
    for (let index = 0; index < count; index++) {
      if ((batch.flags(index) & FLAG_FORWARDED) === 0) continue
      const timeMs = batch.timeMs(index)
      const startMs = timeMs - (timeMs % LINE_ITEM_WINDOW_MS)
      if (current === null || current.startMs !== startMs) current = this.#windowAt(startMs)
      const column = columnsOfBatch[batch.attributionId(index)]!
      if (column >= current.rowOf.length) this.#widen(current)
      const row = (current.rowOf[column]! || this.#newRow(current, column)) - 1
      this.#calls[row]! += 1
      const units = this.#unitsMicro[row]! + batch.unitsMicro(index)
      this.#unitsMicro[row] = units < UNITS_MICRO_MAX ? units : this.#overflow(row, units)
    }
    this.#current = current
  }

  take(): readonly LineItem[] {
    const [windowOf, columnOf] = [this.#windowOf, this.#columnOf]
    const order = Array.from(columnOf, (_, row) => row).sort(
      (a, b) => windowOf[a]! - windowOf[b]! || this.#columns.compare(columnOf[a]!, columnOf[b]!),
    )
    const items = order.map((row) => this.#toLineItem(row))
    this.#windows = new Map()
    this.#current = null
    this.#columnOf = []
    this.#windowOf = []
    this.#calls = new Float64Array(ROWS_MIN)
    this.#unitsMicro = new Float64Array(ROWS_MIN)
    this.#overflowed = new Map()
    this.#rows = this.#records = this.#cells = 0
    this.#columns.tidy()
    return items
  }

  #windowAt(startMs: number): Window {
    let window = this.#windows.get(startMs)
    if (window === undefined) {
      window = { startMs, rowOf: new Int32Array(this.#columns.count + 64) }
      this.#cells += window.rowOf.length
      this.#windows.set(startMs, window)
    }
    return window
  }

  #widen(window: Window): void {
    const rowOf = new Int32Array(this.#columns.count * 2)
    rowOf.set(window.rowOf)
    this.#cells += rowOf.length - window.rowOf.length
    window.rowOf = rowOf
  }

  #newRow(window: Window, column: number): number {
    if (this.#rows === this.#calls.length) {
      this.#calls = doubled(this.#calls)
      this.#unitsMicro = doubled(this.#unitsMicro)
    }
    this.#columnOf.push(column)
    this.#windowOf.push(window.startMs)
    window.rowOf[column] = ++this.#rows
    return this.#rows
  }

  #overflow(row: number, units: number): number {
    this.#overflowed.set(row, (this.#overflowed.get(row) ?? 0n) + BigInt(units))
    return 0
  }

  #toLineItem(row: number): LineItem {
    const { person: _, ...key }: Attribution = this.#columns.keyAt(this.#columnOf[row]!)
    const unitsMicro = BigInt(this.#unitsMicro[row]!) + (this.#overflowed.get(row) ?? 0n)
    return { ...key, windowStartMs: this.#windowOf[row]!, calls: this.#calls[row]!, unitsMicro }
  }
}

function doubled(values: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
  const grown = new Float64Array(values.length * 2)
  grown.set(values)
  return grown
}

/**
 * Measures the service level of providers from call records: responses, failures and latency by minute, operation and
 * revision.
 *
 * The inner loop is arithmetic on arrays, as in the meter. Calls that were refused before the backend, or that the client
 * aborted, do not count. The same records give the same rows in the same order, independent of batches.
 */

import type { Attribution } from '../../foundation/domain/attribution.ts'
import { BUCKETS, bucketOf } from '../../foundation/domain/latency-buckets.ts'
import { IS_UNANSWERED } from '../../foundation/domain/outcome.ts'
import { FLAG_FORWARDED } from '../../storage/spool/call-record.ts'
import type { RecordBatch } from '../../storage/spool/record-batch.ts'
import { SERVICE_WINDOW_MS, type ServiceLevelRow } from '../../storage/store/service-level-store.ts'
import { createColumns } from '../../storage/spool/columns.ts'

export interface ServiceMeter {
  add(batch: RecordBatch): void
  /** Returns and removes the rows of all minutes, or of those that begin before `beforeMs`. */
  take(beforeMs?: number): readonly ServiceLevelRow[]
  /** Minutes with at least one call. */
  readonly minutesMs: Iterable<number>
  /** The next flush has reached its size limit. */
  readonly isFull: boolean
}

interface Cell {
  readonly column: number
  readonly minuteMs: number
  calls: number
  unanswered: number
  errors: number
  successes: number
  latencyUs: number
  readonly latency: Uint32Array
}

interface Minute {
  readonly startMs: number
  readonly cells: (Cell | undefined)[]
}

/** About 18 MB. */
const CELLS_MAX = 10_000
const SERVED = 0

export interface ServiceMeterOptions {
  /** Start of the first minute that is not complete; a call of an earlier one goes to `onLate`. */
  readonly fromMs?: () => number
  readonly onLate?: () => void
}

export function createServiceMeter({
  fromMs = () => -Infinity,
  onLate = () => {},
}: ServiceMeterOptions = {}): ServiceMeter {
  const measures = new ServiceMeasures(fromMs, onLate)
  return {
    add: (batch) => measures.add(batch),
    take: (beforeMs) => measures.take(beforeMs),
    get minutesMs() {
      return measures.minutesMs
    },
    get isFull() {
      return measures.isFull
    },
  }
}

class ServiceMeasures implements ServiceMeter {
  readonly #fromMs: () => number
  readonly #onLate: () => void
  readonly #columns = createColumns(textOf)
  readonly #minutes = new Map<number, Minute>()
  #current: Minute | null = null
  #cells: Cell[] = []

  constructor(fromMs: () => number, onLate: () => void) {
    this.#fromMs = fromMs
    this.#onLate = onLate
  }

  get minutesMs(): Iterable<number> {
    return this.#minutes.keys()
  }

  get isFull(): boolean {
    return this.#cells.length >= CELLS_MAX
  }

  add(batch: RecordBatch): void {
    const columnsOfBatch = this.#columns.of(batch)
    const { count } = batch
    const opensAtMs = this.#fromMs()
    let current = this.#current
    for (let index = 0; index < count; index++) {
      const outcome = batch.outcome(index)
      const isUnanswered = IS_UNANSWERED[outcome]!
      if (!isUnanswered && (outcome !== SERVED || (batch.flags(index) & FLAG_FORWARDED) === 0)) continue
      const timeMs = batch.timeMs(index)
      const startMs = timeMs - (timeMs % SERVICE_WINDOW_MS)
      if (startMs < opensAtMs) {
        this.#onLate()
        continue
      }
      if (current === null || current.startMs !== startMs) current = this.#minuteAt(startMs)
      const column = columnsOfBatch[batch.attributionId(index)]!
      const cell = current.cells[column] ?? this.#newCell(current, column)
      cell.calls++
      if (isUnanswered) cell.unanswered++
      else countAnswer(cell, batch.status(index), batch.upstreamUs(index))
    }
    this.#current = current
  }

  take(beforeMs = Infinity): readonly ServiceLevelRow[] {
    const columns = this.#columns
    const rows = this.#cells
      .filter(({ minuteMs }) => minuteMs < beforeMs)
      .sort((a, b) => a.minuteMs - b.minuteMs || columns.compare(a.column, b.column))
      .map((cell) => toRow(cell, columns.keyAt(cell.column)))
    this.#cells = this.#cells.filter(({ minuteMs }) => minuteMs >= beforeMs)
    for (const startMs of this.#minutes.keys()) if (startMs < beforeMs) this.#minutes.delete(startMs)
    this.#current = null
    if (this.#cells.length === 0) columns.tidy()
    return rows
  }

  #minuteAt(startMs: number): Minute {
    let minute = this.#minutes.get(startMs)
    if (minute === undefined) this.#minutes.set(startMs, (minute = { startMs, cells: [] }))
    return minute
  }

  #newCell(minute: Minute, column: number): Cell {
    const counts = { calls: 0, unanswered: 0, errors: 0, successes: 0, latencyUs: 0 }
    const cell = { column, minuteMs: minute.startMs, ...counts, latency: new Uint32Array(BUCKETS) }
    this.#cells.push(cell)
    return (minute.cells[column] = cell)
  }
}

function countAnswer(cell: Cell, status: number, upstreamUs: number): void {
  if (status >= 500) cell.errors++
  else if (status < 400) {
    cell.successes++
    cell.latencyUs += upstreamUs
    cell.latency[bucketOf(upstreamUs)]!++
  }
}

function toRow({ column: _, latency, ...counts }: Cell, attribution: Attribution): ServiceLevelRow {
  const { tenant, api, operation, revision } = attribution
  const buckets = new Map<number, number>()
  for (let bucket = 0; bucket < BUCKETS; bucket++) if (latency[bucket]! > 0) buckets.set(bucket, latency[bucket]!)
  return { ...counts, tenant, api, operation, latency: buckets, ...(revision !== undefined && { revision }) }
}

/** Attributions of earlier versions, which name no revision, keep their text. */
function textOf({ tenant, api, operation, revision }: Attribution): string {
  return JSON.stringify([tenant, api, operation, ...(revision === undefined ? [] : [revision])])
}

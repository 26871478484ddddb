/**
 * Measures the service level of providers from call records: responses, failures and latency by minute and operation.
 *
 * The inner loop is arithmetic on arrays, as in the meter. Calls that were refused before the backend, or that the client
 * aborted, do not count. The same records give the same rows in the same order, independent of batches.
 */

import type { Attribution } from '../domain/attribution.ts'
import { BUCKETS, bucketOf } from '../domain/latency-buckets.ts'
import { OUTCOMES } from '../domain/outcome.ts'
import { FLAG_FORWARDED } from '../record/call-record.ts'
import type { RecordBatch } from '../record/record-batch.ts'
import { SERVICE_WINDOW_MS, type ServiceLevelRow } from '../store/service-level-store.ts'
import { createColumns } from '../record/columns.ts'

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
const UNANSWERED: readonly boolean[] = OUTCOMES.map((outcome) => outcome.startsWith('upstream_'))

export interface ServiceMeterOptions {
  /** Start of the first minute that is not complete; a call of an earlier one goes to `onLate`. */
  readonly fromMs?: () => number
  readonly onLate?: () => void
}

export function createServiceMeter({
  fromMs = () => -Infinity,
  onLate = () => {},
}: ServiceMeterOptions = {}): ServiceMeter {
  const columns = createColumns(textOf)
  const minutes = new Map<number, Minute>()
  let current: Minute | null = null
  let cells: Cell[] = []

  function add(batch: RecordBatch): void {
    const columnsOfBatch = columns.of(batch)
    const { count } = batch
    const opensAtMs = fromMs()
    for (let index = 0; index < count; index++) {
      const outcome = batch.outcome(index)
      const isUnanswered = UNANSWERED[outcome]!
      if (!isUnanswered && (outcome !== SERVED || (batch.flags(index) & FLAG_FORWARDED) === 0)) continue
      const timeMs = batch.timeMs(index)
      const startMs = timeMs - (timeMs % SERVICE_WINDOW_MS)
      if (startMs < opensAtMs) {
        onLate()
        continue
      }
      if (current === null || current.startMs !== startMs) current = minuteAt(startMs)
      const column = columnsOfBatch[batch.attributionId(index)]!
      const cell = current.cells[column] ?? newCell(current, column)
      cell.calls++
      if (isUnanswered) {
        cell.unanswered++
        continue
      }
      const status = batch.status(index)
      if (status >= 500) cell.errors++
      else if (status < 400) {
        const us = batch.upstreamUs(index)
        cell.successes++
        cell.latencyUs += us
        cell.latency[bucketOf(us)]!++
      }
    }
  }

  function minuteAt(startMs: number): Minute {
    let minute = minutes.get(startMs)
    if (minute === undefined) minutes.set(startMs, (minute = { startMs, cells: [] }))
    return minute
  }

  function newCell(minute: Minute, column: number): Cell {
    const counts = { calls: 0, unanswered: 0, errors: 0, successes: 0, latencyUs: 0 }
    const cell = { column, minuteMs: minute.startMs, ...counts, latency: new Uint32Array(BUCKETS) }
    cells.push(cell)
    return (minute.cells[column] = cell)
  }

  return {
    add,
    take(beforeMs = Infinity) {
      const taken = cells.filter(({ minuteMs }) => minuteMs < beforeMs)
      const rows = taken
        .sort((a, b) => a.minuteMs - b.minuteMs || columns.compare(a.column, b.column))
        .map((cell) => toRow(cell, columns.keyAt(cell.column)))
      cells = cells.filter(({ minuteMs }) => minuteMs >= beforeMs)
      for (const startMs of minutes.keys()) if (startMs < beforeMs) minutes.delete(startMs)
      current = null
      if (cells.length === 0) columns.tidy()
      return rows
    },
    get minutesMs() {
      return minutes.keys()
    },
    get isFull() {
      return cells.length >= CELLS_MAX
    },
  }
}

function toRow({ column: _, latency, ...counts }: Cell, { tenant, api, operation }: Attribution): ServiceLevelRow {
  const buckets = new Map<number, number>()
  for (let bucket = 0; bucket < BUCKETS; bucket++) if (latency[bucket]! > 0) buckets.set(bucket, latency[bucket]!)
  return { ...counts, tenant, api, operation, latency: buckets }
}

function textOf({ tenant, api, operation }: Attribution): string {
  return JSON.stringify([tenant, api, operation])
}

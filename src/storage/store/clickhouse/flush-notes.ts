/** Notes of flushes in ClickHouse, and the rows that they are compared with. */

import type { FlushNote, FlushTotals } from '../flush-log.ts'
import { within, type ClickHouse } from './client.ts'
import { insertOnce } from './insert-once.ts'

interface Row {
  readonly instance: string
  readonly number: string | number
  readonly done: number
  readonly at_ms: string | number
  readonly from_position: string
  readonly to_position: string
  readonly totals: string
  readonly registry_end: string | number
}

const COLUMNS = `instance, number, done, toUnixTimestamp64Milli(at) AS at_ms, from_position, to_position, totals, registry_end`
/** Part of the statement, as in `insert-once.ts`: settings beside it would stay with the embedded session. */
const BOUNDED = 'SETTINGS max_execution_time = 20'

/** The last note of each instance. */
export async function lastNotes(client: ClickHouse): Promise<readonly FlushNote[]> {
  return select(
    client,
    `SELECT ${COLUMNS} FROM flushes
     WHERE (instance, number) IN (SELECT instance, max(number) FROM flushes GROUP BY instance)
     ORDER BY instance, done DESC, at DESC LIMIT 1 BY instance`,
  )
}

/** Returns the latest note of a flush; null if there is none. */
export async function noteOf(client: ClickHouse, instance: string, number: number): Promise<FlushNote | null> {
  const notes = await notesFrom(client, instance, number, 1)
  return notes.find((note) => note.number === number) ?? null
}

/** Notes of an instance from `number` on, the last of each flush, in order. */
export async function notesFrom(
  client: ClickHouse,
  instance: string,
  number: number,
  limit: number,
): Promise<readonly FlushNote[]> {
  const where = `WHERE instance = {instance:String} AND number >= {number:UInt64}`
  return select(
    client,
    `SELECT ${COLUMNS} FROM flushes ${where} ORDER BY number, done DESC, at DESC LIMIT 1 BY number LIMIT {limit:UInt32}`,
    { instance, number: Math.max(0, number), limit },
  )
}

/** How many flushes of an instance in `[from, to]` are noted. */
export async function countFlushes(client: ClickHouse, instance: string, from: number, to: number): Promise<number> {
  const rows = await rowsOf<{ flushes: string | number }>(
    client,
    `SELECT uniqExact(number) AS flushes FROM flushes
     WHERE instance = {instance:String} AND number >= {from:UInt64} AND number <= {to:UInt64}`,
    { instance, from, to },
  )
  return Number(rows[0]?.flushes ?? 0)
}

/** Tables and views of the database. */
export async function tablesOf(client: ClickHouse): Promise<readonly string[]> {
  const rows = await rowsOf<{ name: string }>(
    client,
    'SELECT name FROM system.tables WHERE database = currentDatabase()',
  )
  return rows.map(({ name }) => name)
}

/**
 * Writes a note, which replaces earlier ones of the same flush.
 *
 * Its token names its time, so a repetition is written again: in a copy of a running folder the store may have the token of a note that
 * it lacks.
 */
export async function writeNote(client: ClickHouse, note: FlushNote, signal?: AbortSignal): Promise<FlushNote> {
  const token = `flush-base-${note.instance}-${note.number}-${note.isDone ? 1 : 0}-${note.atMs}`
  await insertNote(client, token, note, signal)
  return note
}

/** Rows and calls that are there now, by month; rows come from metadata. */
export async function countRows(client: ClickHouse): Promise<FlushTotals> {
  const rows = await rowsOf<{ name: string; total: string | number }>(
    client,
    `SELECT concat(table, '/', partition) AS name, sum(rows) AS total FROM system.parts
     WHERE active AND database = currentDatabase() AND table IN ('line_items', 'service_levels') GROUP BY name
     UNION ALL
     SELECT concat('calls/', toString(toYYYYMM(hour))) AS name, sum(calls) AS total FROM line_items_hourly GROUP BY name`,
  )
  return Object.fromEntries(rows.map(({ name, total }) => [name, Number(total)]))
}

/** Whether there is usage, from metadata. */
export async function storesRows(client: ClickHouse): Promise<boolean> {
  const rows = await rowsOf<{ has_rows: number }>(
    client,
    `SELECT count() > 0 AS has_rows FROM system.parts WHERE active AND rows > 0 AND database = currentDatabase()
     AND table IN ('line_items', 'line_items_hourly', 'service_levels')`,
  )
  return rows[0]?.has_rows === 1
}

export function sumOf(totals: readonly FlushTotals[]): FlushTotals {
  const sum: Record<string, number> = {}
  for (const each of totals) for (const [name, value] of Object.entries(each)) sum[name] = (sum[name] ?? 0) + value
  return sum
}

/** Never below zero. */
export function subtract(totals: FlushTotals, others: FlushTotals): FlushTotals {
  return Object.fromEntries(
    Object.entries(totals).map(([name, value]) => [name, Math.max(0, value - (others[name] ?? 0))]),
  )
}

async function insertNote(client: ClickHouse, token: string, note: FlushNote, signal?: AbortSignal): Promise<void> {
  const row = {
    instance: note.instance,
    number: note.number,
    done: note.isDone ? 1 : 0,
    at: note.atMs,
    from_position: JSON.stringify(note.from),
    to_position: JSON.stringify(note.to),
    totals: JSON.stringify(note.totals),
    registry_end: note.registryEnd,
  }
  await insertOnce(client, { table: 'flushes', token, rows: [row], signal })
}

async function select(client: ClickHouse, query: string, params: Record<string, unknown> = {}): Promise<FlushNote[]> {
  return (await rowsOf<Row>(client, query, params)).map(toNote)
}

export async function rowsOf<T>(client: ClickHouse, query: string, params: Record<string, unknown> = {}): Promise<T[]> {
  const result = await client.query({
    query: `${query} ${BOUNDED}`,
    query_params: params,
    format: 'JSONEachRow',
    abort_signal: within(undefined),
  })
  return result.json<T>()
}

function toNote(row: Row): FlushNote {
  return {
    instance: row.instance,
    number: Number(row.number),
    from: JSON.parse(row.from_position) as FlushNote['from'],
    to: JSON.parse(row.to_position) as FlushNote['to'],
    isDone: row.done === 1,
    atMs: Number(row.at_ms),
    totals: JSON.parse(row.totals) as FlushTotals,
    registryEnd: Number(row.registry_end),
  }
}

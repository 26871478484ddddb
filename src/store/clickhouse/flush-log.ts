/**
 * Notes of flushes in ClickHouse.
 *
 * Totals add up over flushes, so the last note alone says what must be there. The first flush of a data folder on a store that has
 * rows already (of versions before this table, or of other data folders) is preceded by a note of those rows: the baseline.
 */

import type { PendingFlush } from '../checkpoint.ts'
import type { FlushLog, FlushNote, FlushTotals, HeldFlush, Presence } from '../flush-log.ts'
import { within, type ClickHouse } from './client.ts'
import { insertOnce } from './insert-once.ts'

export interface FlushLogOptions {
  readonly client: ClickHouse
  readonly instance: () => string
  readonly nowMs: () => number
  /** Hash of the range of a flush, for the tokens. */
  readonly tokenOf: (table: string, flush: PendingFlush) => string
  readonly registryEnd: () => Promise<number>
}

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
/** Notes are kept for some days of constant traffic: a checkpoint that went back further is not repaired by itself. */
const KEPT = 300_000
const FORGOTTEN_EVERY = 100_000
/** Part of the statement, as in `insert-once.ts`: settings beside it would stay with the embedded session. */
const BOUNDED = 'SETTINGS max_execution_time = 20'

export function createFlushLog({ client, instance, nowMs, tokenOf, registryEnd }: FlushLogOptions): FlushLog {
  let before: FlushNote | null = null

  async function precedingOf({ number, from }: PendingFlush): Promise<FlushNote> {
    const isPreceding = before?.instance === instance() && before.number === number - 1
    const found = isPreceding ? before : await noteOf(client, instance(), number - 1)
    if (found !== null) return (before = found)
    const notes = await lastNotes(client)
    const others = sumOf(notes.filter((note) => note.instance !== instance()).map(({ totals }) => totals))
    const totals = subtract(await countRows(client), others)
    return (before = await writeNote(client, {
      instance: instance(),
      number: number - 1,
      from,
      to: from,
      isDone: true,
      atMs: nowMs(),
      totals,
      registryEnd: 0,
    }))
  }

  async function note(flush: PendingFlush, rows: FlushTotals, isDone: boolean, signal?: AbortSignal) {
    const { totals } = await precedingOf(flush)
    const made: FlushNote = {
      instance: instance(),
      number: flush.number,
      from: flush.from,
      to: flush.to,
      isDone,
      atMs: nowMs(),
      totals: sumOf([totals, rows]),
      registryEnd: await registryEnd(),
    }
    await insertNote(client, tokenOf(isDone ? 'flush-done' : 'flush-begin', flush), made, signal)
    return made
  }

  async function held(flush: PendingFlush): Promise<HeldFlush | null> {
    const found = await noteOf(client, instance(), flush.number)
    if (found === null || JSON.stringify([found.from, found.to]) !== JSON.stringify([flush.from, flush.to])) return null
    const { isDone, registryEnd } = found
    if (isDone) return { isDone, registryEnd, items: 'there', levels: 'there' }
    return { isDone, registryEnd, ...(await presenceOf(found)) }
  }

  /** Compares the months that the flush adds to with what was noted before and after it. */
  async function presenceOf(noted: FlushNote): Promise<Pick<HeldFlush, 'items' | 'levels'>> {
    const earlier = (await noteOf(client, noted.instance, noted.number - 1))?.totals ?? {}
    const others = (await lastNotes(client)).filter((each) => each.instance !== noted.instance)
    const expected = sumOf([noted.totals, ...others.map(({ totals }) => totals)])
    const rows = await countRows(client)

    function presence(tables: RegExp): Presence {
      const grown = Object.keys(noted.totals)
        .filter((name) => tables.test(name))
        .map((name) => ({ name, by: noted.totals[name]! - (earlier[name] ?? 0) }))
        .filter(({ by }) => by !== 0)
      if (grown.length === 0) return 'unknown'
      if (grown.every(({ name }) => rows[name] === expected[name])) return 'there'
      const isAbsent = grown.every(({ name, by }) => (rows[name] ?? 0) === expected[name]! - by)
      return isAbsent ? 'absent' : 'unknown'
    }

    const items = itemsPresence(presence(/^line_items\//), presence(/^calls\//))
    return { items, levels: presence(/^service_levels\//) }
  }

  return {
    held,
    begin: async (flush, rows, signal) => void (await note(flush, rows, false, signal)),
    async done(flush, rows, signal) {
      before = await note(flush, rows, true, signal)
      if (flush.number % FORGOTTEN_EVERY === 0) await forget(client, instance(), flush.number - KEPT)
      return before.registryEnd
    },
  }
}

/** Of a flush in several months, each table may have some months: the tokens of the rows decide. */
function itemsPresence(lineItems: Presence, totals: Presence): HeldFlush['items'] {
  if (lineItems === totals) return lineItems
  if (lineItems === 'there' && totals === 'absent') return 'without-totals'
  if (lineItems === 'absent' && totals === 'there') return 'without-line-items'
  return 'unknown'
}

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

/** A note in place of those of the same flush before: what is there is accepted as what should be there. */
export async function writeNote(client: ClickHouse, note: FlushNote): Promise<FlushNote> {
  await insertNote(client, `flush-base-${note.instance}-${note.number}-${note.isDone ? 1 : 0}-${note.atMs}`, note)
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

/** The table removes them in the background. */
async function forget(client: ClickHouse, instance: string, before: number): Promise<void> {
  if (before <= 0) return
  await client.command({
    query: 'ALTER TABLE flushes DELETE WHERE instance = {instance:String} AND number < {before:UInt64}',
    query_params: { instance, before },
    abort_signal: within(undefined),
  })
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

async function rowsOf<T>(client: ClickHouse, query: string, params: Record<string, unknown> = {}): Promise<T[]> {
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

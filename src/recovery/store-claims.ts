/** Reads the state of the store at startup: its flush notes, the row totals that they imply, and the totals that are present. */

import {
  countFlushes,
  countRows,
  lastNotes,
  noteOf,
  notesFrom,
  sumOf,
  tablesOf,
} from '../store/clickhouse/flush-notes.ts'
import { readKeptUsage } from '../store/clickhouse/kept-usage.ts'
import type { ClickHouse } from '../store/clickhouse/client.ts'
import type { CheckpointClaims } from '../store/checkpoint.ts'
import type { FlushNote, FlushTotals } from '../store/flush-log.ts'
import type { KeptUsage } from '../store/retention.ts'

export interface StoreClaims {
  /** True if the store had no tables before this start. */
  readonly isNew: boolean
  readonly hasRows: boolean
  readonly missingTables: readonly string[]
  /** The last note of the checkpoint's instance; null: none. */
  readonly last: FlushNote | null
  /** The last note of each other instance. */
  readonly others: readonly FlushNote[]
  /** The note of the flush after the checkpoint's last. */
  readonly next: FlushNote | null
  /** Number of flushes noted after the checkpoint's last one. */
  readonly notedAfter: number
  /** Tables and months that have fewer rows or calls than noted, as text. */
  readonly missing: readonly string[]
  /** Tables and months that have more rows or calls than any flush noted, as text. */
  readonly excess: readonly string[]
  /** True if the numbers of rows and calls match the flushes exactly. */
  readonly isExact: boolean
}

export const TABLES = [
  'line_items',
  'line_items_hourly',
  'line_items_to_hourly',
  'risk_events',
  'service_levels',
  'request_log',
  'flushes',
  'statement_lines',
  'statement_corrections',
  'kept_usage',
]
/** The engine removes older service levels: `TTL` of the table in `sql/schema`. */
const LEVELS_KEPT_MONTHS = 13

export async function readStoreClaims(
  client: ClickHouse,
  checkpoint: Pick<CheckpointClaims, 'instance' | 'flushes'>,
  { isNew, nowMs }: { readonly isNew: boolean; readonly nowMs: number },
): Promise<StoreClaims> {
  const { instance, flushes } = checkpoint
  const tables = await tablesOf(client)
  const missingTables = TABLES.filter((table) => !tables.includes(table))
  if (missingTables.length > 0) {
    return {
      isNew,
      hasRows: true,
      missingTables,
      last: null,
      others: [],
      next: null,
      notedAfter: 0,
      missing: [],
      excess: [],
      isExact: false,
    }
  }
  const notes = await lastNotes(client)
  const last = notes.find((note) => note.instance === instance) ?? null
  const rows = await countRows(client)
  const done = await Promise.all(notes.map((note) => doneTotals(client, note)))
  const expected = sumOf(done)
  // Read after the rows: another service of the same server may have stored rows meanwhile, and it notes a flush before its rows.
  const expectedMost = sumOf((await lastNotes(client)).map(({ totals }) => totals))
  const kept = await readKeptUsage(client)
  const all = [...new Set([...Object.keys(rows), ...Object.keys(expectedMost)])]
  const names = all.filter((name) => isKept(name, kept, nowMs))
  const missing = names.filter((name) => at(rows, name) < at(expected, name))
  const excess = names.filter((name) => at(rows, name) > at(expectedMost, name))
  return {
    isNew,
    hasRows: Object.keys(rows).length > 0,
    missingTables,
    last,
    others: notes.filter((note) => note !== last),
    next: (await notesFrom(client, instance, flushes + 1, 1))[0] ?? null,
    notedAfter: last === null ? 0 : await countFlushes(client, instance, flushes + 1, last.number),
    missing: missing.map((name) => `${at(expected, name) - at(rows, name)} of ${at(expected, name)} ${inWords(name)}`),
    excess: excess.map((name) => `${at(rows, name) - at(expectedMost, name)} ${inWords(name)}`),
    isExact: missing.length === 0 && excess.length === 0,
  }
}

/** Returns the totals up to the last flush whose rows are all stored. */
async function doneTotals(client: ClickHouse, note: FlushNote): Promise<FlushTotals> {
  if (note.isDone) return note.totals
  return (await noteOf(client, note.instance, note.number - 1))?.totals ?? {}
}

function at(totals: FlushTotals, name: string): number {
  return totals[name] ?? 0
}

function inWords(name: string): string {
  const [table = '', month = ''] = name.split('/')
  const what = table === 'calls' ? 'calls in the hourly totals' : `rows of ${table}`
  return `${what} in ${month.slice(0, 4)}-${month.slice(4)}`
}

function isKept(name: string, { lineItemsFromMs, sumsFromMs }: KeptUsage, nowMs: number): boolean {
  const [table = '', month = ''] = name.split('/')
  const [year, index] = [Number(month.slice(0, 4)), Number(month.slice(4)) - 1]
  if (table === 'line_items') return Date.UTC(year, index) >= lineItemsFromMs
  if (table === 'calls') return Date.UTC(year, index) >= sumsFromMs
  return Date.UTC(year, index + LEVELS_KEPT_MONTHS) > nowMs + 86_400_000
}

/**
 * Reads the state of the store at startup: its flush notes, the row totals that they imply, and the totals that are present.
 *
 * The embedded store is compared as a whole. A server stores rows of other instances meanwhile, so that the own rows are compared, by
 * their writer, of this month and the one before: a server is responsible for its own files, and the columns of years would take long.
 */

import {
  countFlushes,
  countRows,
  lastNotes,
  noteOf,
  notesFrom,
  storesRows,
  sumOf,
} from '../store/clickhouse/flush-notes.ts'
import { compareSums, type ComparedSums } from '../store/clickhouse/compare-sums.ts'
import { countOwnRows, isOwn } from '../store/clickhouse/own-rows.ts'
import { readKeptUsage } from '../store/clickhouse/kept-usage.ts'
import type { ClickHouse } from '../store/clickhouse/client.ts'
import type { CheckpointClaims } from '../store/checkpoint.ts'
import type { FlushNote, FlushTotals } from '../store/flush-log.ts'
import type { KeptUsage } from '../store/retention.ts'

export interface StoreClaims {
  /** True if the store had no tables before this start. */
  readonly isNew: boolean
  readonly hasRows: boolean
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
  /** Months in which line items and hourly totals have other sums, as text. */
  readonly differing: readonly string[]
  /** True if the numbers of rows and calls match the flushes exactly. */
  readonly isExact: boolean
}

/** Those without which a start is refused. */
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
  const notes = await lastNotes(client)
  const last = notes.find((note) => note.instance === instance) ?? null
  const compared = client.isEmbedded ? await compareAll(client, notes) : await compareOwn(client, instance, last, nowMs)
  const { rows, expected, expectedMost } = compared
  const kept = await readKeptUsage(client)
  const names = compared.names.filter((name) => isKept(name, kept, nowMs))
  const missing = names.filter((name) => at(rows, name) < at(expected, name))
  const excess = names.filter((name) => at(rows, name) > at(expectedMost, name))
  const differing = client.isEmbedded ? await compareSums(client, await comparedSums(client, notes, nowMs)) : []
  return {
    isNew,
    hasRows: await storesRows(client),
    last,
    others: notes.filter((note) => note !== last),
    next: (await notesFrom(client, instance, flushes + 1, 1))[0] ?? null,
    notedAfter: last === null ? 0 : await countFlushes(client, instance, flushes + 1, last.number),
    missing: missing.map((name) => `${at(expected, name) - at(rows, name)} of ${at(expected, name)} ${inWords(name)}`),
    excess: excess.map((name) => `${at(rows, name) - at(expectedMost, name)} ${inWords(name)}`),
    differing: differing.map(({ inWords: each }) => each),
    isExact: missing.length === 0 && excess.length === 0 && differing.length === 0,
  }
}

/** Returns what the sums of the embedded store are compared with. */
export async function comparedSums(
  client: ClickHouse,
  notes: readonly FlushNote[],
  nowMs: number,
): Promise<ComparedSums & { readonly interrupted: NonNullable<ComparedSums['interrupted']> }> {
  const kept = await readKeptUsage(client)
  return {
    expected: sumOf(await Promise.all(notes.map((note) => doneTotals(client, note)))),
    interrupted: { flushes: notes.filter(({ isDone }) => !isDone), expected: sumOf(notes.map(({ totals }) => totals)) },
    isKept: (month) => ['line_items', 'calls'].every((table) => isKept(`${table}/${month}`, kept, nowMs)),
  }
}

interface Compared {
  readonly rows: FlushTotals
  /** Totals of the flushes whose rows are all stored. */
  readonly expected: FlushTotals
  /** Totals with those of a flush that was interrupted. */
  readonly expectedMost: FlushTotals
  readonly names: readonly string[]
}

async function compareAll(client: ClickHouse, notes: readonly FlushNote[]): Promise<Compared> {
  const rows = await countRows(client)
  const expected = sumOf(await Promise.all(notes.map((note) => doneTotals(client, note))))
  const expectedMost = sumOf(notes.map(({ totals }) => totals))
  const names = [...new Set([...Object.keys(rows), ...Object.keys(expectedMost)])].filter((name) => !isOwn(name))
  return { rows, expected, expectedMost, names }
}

async function compareOwn(
  client: ClickHouse,
  instance: string,
  last: FlushNote | null,
  nowMs: number,
): Promise<Compared> {
  const now = new Date(nowMs)
  const before = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1))
  const fromMonth = before.getUTCFullYear() * 100 + before.getUTCMonth() + 1
  const rows = await countOwnRows(client, instance, fromMonth)
  const expected = last === null ? {} : await doneTotals(client, last)
  const expectedMost = last?.totals ?? {}
  const noted = Object.keys(expectedMost).filter((name) => isOwn(name) && Number(name.split('/')[1]) >= fromMonth)
  return { rows, expected, expectedMost, names: [...new Set([...Object.keys(rows), ...noted])] }
}

/** Returns the totals up to the last flush whose rows are all stored. */
async function doneTotals(client: ClickHouse, note: FlushNote): Promise<FlushTotals> {
  if (note.isDone) return note.totals
  return (await noteOf(client, note.instance, note.number - 1))?.totals ?? {}
}

function at(totals: FlushTotals, name: string): number {
  return totals[name] ?? 0
}

const WORDS: Readonly<Record<string, string>> = {
  calls: 'calls in the hourly totals',
  own_calls: 'calls of this service in the hourly totals',
  own_items: 'rows of this service in line_items',
  own_levels: 'rows of this service in service_levels',
}

function inWords(name: string): string {
  const [table = '', month = ''] = name.split('/')
  const what = WORDS[table] ?? `rows of ${table}`
  return `${what} in ${month.slice(0, 4)}-${month.slice(4)}`
}

function isKept(name: string, { lineItemsFromMs, sumsFromMs }: KeptUsage, nowMs: number): boolean {
  const [table = '', month = ''] = name.split('/')
  const [year, index] = [Number(month.slice(0, 4)), Number(month.slice(4)) - 1]
  if (table === 'line_items' || table === 'own_items') return Date.UTC(year, index) >= lineItemsFromMs
  if (table === 'calls' || table === 'own_calls') return Date.UTC(year, index) >= sumsFromMs
  return Date.UTC(year, index + LEVELS_KEPT_MONTHS) > nowMs + 86_400_000
}

/**
 * Finds which rows of an interrupted flush a server has, by their writer and the number of the flush.
 *
 * The server recognises a repeated insert by its token only within a window of inserts, which others fill as well. The columns of
 * the rows are not limited. Hourly totals add up, so that their calls are compared with the notes of the instance, which flushes one at a time.
 *
 * An insert whose answer was lost may still be executed. While that is possible, an absence is no proof, and the first tokens decide.
 */

import type { PendingFlush } from '../checkpoint.ts'
import type { FlushNote, FlushTotals, HeldFlush, ItemsPresence, Presence } from '../flush-log.ts'
import type { ClickHouse } from './client.ts'
import { noteOf } from './flush-notes.ts'
import { INSERT_MAX_S } from './insert-once.ts'
import { keptFrom, readHeldFlush, startOf } from './held-flush.ts'
import { readKeptUsage } from './kept-usage.ts'
import { requireQuorum, synchronise } from './replicas.ts'
import { countOwnRows, countRowsOfFlush, isOwn } from './own-rows.ts'

export interface OwnFlush {
  readonly instance: string
  readonly flush: PendingFlush
  /** For how long no insert of the flush can have begun. */
  readonly quietMs: number
}

/** Tables that tell whether a flush is stored. */
const TABLES = ['flushes', 'line_items', 'line_items_hourly', 'service_levels', 'request_log', 'kept_usage']
/** The server ends an insert after `INSERT_MAX_S`. */
const SETTLED_MS = 2 * INSERT_MAX_S * 1_000

/** `lacksWriter`: a version before that column began the flush, so that stored rows of it may have none. */
export type OwnHeldFlush = HeldFlush & { readonly lacksWriter?: true }

/** Returns null if the store has no note of the flush. Throws while an insert that the server may still execute would decide. */
export async function readOwnFlush(
  client: ClickHouse,
  { instance, flush, quietMs }: OwnFlush,
): Promise<OwnHeldFlush | null> {
  await synchronise(client, TABLES)
  const note = await noteOf(client, instance, flush.number)
  if (note === null || JSON.stringify([note.from, note.to]) !== JSON.stringify([flush.from, flush.to])) return null
  const { isDone, registryEnd } = note
  if (isDone) return { isDone, registryEnd, items: 'there', levels: 'there', requests: 'there', stored: {} }
  const earlier = (await noteOf(client, instance, flush.number - 1))?.totals ?? {}
  const grown = differences(note, earlier)
  if (!hasOwn(grown)) return withoutWriter(await readHeldFlush(client, instance, flush))
  const rows = await countRowsOfFlush(client, instance, flush.number)
  await requireQuorum(client, { instance, number: flush.number })
  const months = monthsOf(grown)
  const calls = months.length === 0 ? {} : await countOwnRows(client, instance, Math.min(...months.map(Number)))
  const kept = await readKeptUsage(client)
  const isSettled = quietMs >= SETTLED_MS

  const presence = (name: string, found: FlushTotals, expected: number): Presence => {
    if ((found[name] ?? 0) === expected) return 'there'
    return (found[name] ?? 0) === expected - (grown[name] ?? 0) ? 'absent' : 'unknown'
  }
  const itemsOf = (month: string): ItemsPresence => {
    const name = `own_calls/${month}`
    const totals = presence(name, calls, note.totals[name] ?? 0)
    if (startOf(name) < keptFrom('line_items', kept)) return totals === 'absent' && !isSettled ? 'unknown' : totals
    const items = presence(`own_items/${month}`, rows, grown[`own_items/${month}`] ?? 0)
    return presenceOfItems(items, totals, isSettled)
  }
  const levelsOf = (month: string): Presence => {
    const name = `own_levels/${month}`
    const levels = presence(name, rows, grown[name] ?? 0)
    return levels === 'absent' && !isSettled ? 'unknown' : levels
  }
  const items = new Map(months.filter((month) => `own_items/${month}` in grown).map((month) => [month, itemsOf(month)]))
  const levels = new Map(
    months.filter((month) => `own_levels/${month}` in grown).map((month) => [month, levelsOf(month)]),
  )
  return {
    isDone,
    registryEnd,
    items,
    levels,
    ...((rows['requests'] ?? 0) > 0 && { requests: 'there' as const }),
    stored: storedTotals(note.totals, earlier, { items, levels }),
  }
}

/** Rows that are there without the others are completed once no insert of the flush can add them. */
function presenceOfItems(items: Presence, totals: Presence, isSettled: boolean): ItemsPresence {
  if (items === totals) return items === 'absent' && !isSettled ? 'unknown' : items
  if (items === 'unknown' || totals === 'unknown') return 'unknown'
  if (!isSettled) throw new FlushUnsettled()
  return items === 'there' ? 'without-totals' : 'without-line-items'
}

/** Thrown while an earlier insert of a flush may still be executed, and only its end tells what is missing. */
class FlushUnsettled extends Error {
  override readonly name = 'FlushUnsettled'

  constructor() {
    super(
      'line items of the flush are stored without their hourly totals, or the other way round; completing them later',
    )
  }
}

function differences({ totals }: Pick<FlushNote, 'totals'>, earlier: FlushTotals): FlushTotals {
  return Object.fromEntries(
    Object.entries(totals)
      .map(([name, total]) => [name, total - (earlier[name] ?? 0)] as const)
      .filter(([, by]) => by !== 0),
  )
}

/** A version before the own totals began the flush otherwise. */
function hasOwn(grown: FlushTotals): boolean {
  const names = Object.keys(grown)
  return names.length === 0 || names.some(isOwn)
}

/** Rows that are absent may still be on their way to a server, so the tokens decide. */
function withoutWriter(held: HeldFlush | null): OwnHeldFlush | null {
  if (held === null) return null
  return {
    ...held,
    lacksWriter: true,
    items: held.items === 'there' ? 'there' : 'unknown',
    levels: held.levels === 'there' ? 'there' : 'unknown',
  }
}

function monthsOf(grown: FlushTotals): readonly string[] {
  return [...new Set(Object.keys(grown).map((name) => name.split('/')[1] ?? ''))]
}

/** Totals of tables that have some rows of the flush are those of its note. */
function storedTotals(
  totals: FlushTotals,
  earlier: FlushTotals,
  { items, levels }: { items: ReadonlyMap<string, ItemsPresence>; levels: ReadonlyMap<string, Presence> },
): FlushTotals {
  const hasSome = (found: ReadonlyMap<string, ItemsPresence>): boolean =>
    [...found.values()].some((presence) => presence !== 'absent' && presence !== 'unknown')
  const tables = [...(hasSome(items) ? ['line_items', 'calls'] : []), ...(hasSome(levels) ? ['service_levels'] : [])]
  return Object.fromEntries(
    Object.entries(differences({ totals }, earlier)).filter(([name]) => tables.includes(name.split('/')[0] ?? '')),
  )
}

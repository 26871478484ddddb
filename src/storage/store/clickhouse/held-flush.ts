/**
 * Finds which rows of an interrupted flush the store has.
 *
 * Compares the rows of each month that the flush adds to with the totals that were noted before and after it.
 */

import type { PendingFlush } from '../checkpoint.ts'
import type { FlushNote, HeldFlush, ItemsPresence, Presence } from '../flush-log.ts'
import type { KeptUsage } from '../retention.ts'
import type { ClickHouse } from './client.ts'
import { countRows, lastNotes, noteOf, sumOf } from './flush-notes.ts'
import { readKeptUsage } from './kept-usage.ts'

/** Returns null if the store has no note of the flush. */
export async function readHeldFlush(
  client: ClickHouse,
  instance: string,
  flush: PendingFlush,
): Promise<HeldFlush | null> {
  const note = await noteOf(client, instance, flush.number)
  if (note === null || JSON.stringify([note.from, note.to]) !== JSON.stringify([flush.from, flush.to])) return null
  const { isDone, registryEnd } = note
  if (isDone) return { isDone, registryEnd, items: 'there', levels: 'there', stored: {} }
  return { isDone, registryEnd, ...(await presenceOf(client, note)) }
}

async function presenceOf(
  client: ClickHouse,
  { instance, number, totals }: FlushNote,
): Promise<Pick<HeldFlush, 'items' | 'levels' | 'stored'>> {
  const earlier = (await noteOf(client, instance, number - 1))?.totals ?? {}
  const others = (await lastNotes(client)).filter((each) => each.instance !== instance)
  const expected = sumOf([totals, ...others.map((each) => each.totals)])
  const rows = await countRows(client)
  const grown = Object.entries(totals)
    .map(([name, total]) => ({ name, by: total - (earlier[name] ?? 0) }))
    .filter(({ by }) => by !== 0)

  const kept = await readKeptUsage(client)

  function presence(table: string): Presence {
    // Rows of earlier months may have been removed.
    const months = grown.filter(({ name }) => tableOf(name) === table && startOf(name) >= keptFrom(table, kept))
    if (months.length === 0) return 'unknown'
    if (months.every(({ name }) => rows[name] === expected[name])) return 'there'
    return months.every(({ name, by }) => (rows[name] ?? 0) === expected[name]! - by) ? 'absent' : 'unknown'
  }

  const ofItems = grown.filter(({ name }) => tableOf(name) === 'line_items')
  const areItemsRemoved = ofItems.length > 0 && ofItems.every(({ name }) => startOf(name) < kept.lineItemsFromMs)
  const levels = presence('service_levels')
  const stored = grown.filter(({ name }) => presence(tableOf(name)) === 'there')
  return {
    items: areItemsRemoved ? presence('calls') : presenceOfItems(presence('line_items'), presence('calls')),
    levels,
    stored: Object.fromEntries(stored.map(({ name, by }) => [name, by])),
  }
}

/** A flush that spans two months may be there in one of them only: then the tokens of the rows decide. */
function presenceOfItems(lineItems: Presence, totals: Presence): ItemsPresence {
  if (lineItems === totals) return lineItems
  if (lineItems === 'there' && totals === 'absent') return 'without-totals'
  if (lineItems === 'absent' && totals === 'there') return 'without-line-items'
  return 'unknown'
}

function tableOf(name: string): string {
  return name.split('/')[0] ?? ''
}

/** First millisecond of the month of a total, such as `line_items/202611`. */
export function startOf(name: string): number {
  const month = name.split('/')[1] ?? ''
  return Date.UTC(Number(month.slice(0, 4)), Number(month.slice(4)) - 1)
}

export function keptFrom(table: string, { lineItemsFromMs, sumsFromMs }: KeptUsage): number {
  return table === 'line_items' ? lineItemsFromMs : table === 'calls' ? sumsFromMs : 0
}

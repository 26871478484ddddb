/** Inserts the rows of a flush, or those that the store lacks, between two notes in its flush log. */

import type { Checkpoint, PendingFlush } from '../../storage/store/checkpoint.ts'
import type { ByMonth, FlushLog, HeldFlush, ItemsPresence } from '../../storage/store/flush-log.ts'
import { flushToken } from '../../storage/store/flush-token.ts'
import type { RequestStore } from '../../storage/store/request-store.ts'
import type { ServiceLevelStore } from '../../storage/store/service-level-store.ts'
import type { UsageStore } from '../../storage/store/usage-store.ts'
import { monthOf, totalsOf, withStored } from './flush-totals.ts'
import type { Metered } from './metering.ts'

export interface FlushTargets {
  readonly checkpoint: Checkpoint & { readonly instance: string }
  readonly usage: Pick<UsageStore, 'insert' | 'insertTotals' | 'insertWithoutTotals'>
  readonly levels: Pick<ServiceLevelStore, 'insert'>
  readonly requests: Pick<RequestStore, 'insert'>
  readonly flushLog: FlushLog
}

/** The rows of a flush that the store has, and whether it has a note of the flush. */
export type StoredRows = HeldFlush & { readonly isNoted: boolean }

/** A flush that this process began: if it is retried, its tokens make the store drop the rows that it already has. */
export const NOTHING_STORED: StoredRows = {
  isDone: false,
  isNoted: false,
  items: 'unknown',
  levels: 'unknown',
  stored: {},
  registryEnd: 0,
}
/** The note precedes the rows, so without it there are none. */
const ABSENT: StoredRows = { ...NOTHING_STORED, items: 'absent', levels: 'absent' }

/** `quietMs`: for how long no insert of the flush can have begun. */
export async function readStoredRows(flushLog: FlushLog, flush: PendingFlush, quietMs: number): Promise<StoredRows> {
  if (flush.tokens !== 'range') return NOTHING_STORED
  const held = await flushLog.held(flush, quietMs)
  return held === null ? ABSENT : { ...held, isNoted: true }
}

/** Whether absent rows must be inserted under other tokens. Rows of unknown presence need their first tokens. */
export function needsNewTokens({ items, levels }: StoredRows): boolean {
  const ofItems = presencesOf(items)
  if (ofItems.includes('unknown')) return false
  return ofItems.includes('absent') || presencesOf(levels).includes('absent')
}

function presencesOf<Of>(found: ByMonth<Of>): readonly Of[] {
  return found instanceof Map ? [...found.values()] : [found as Of]
}

export interface Insertion {
  readonly flush: PendingFlush
  readonly metered: Metered
  readonly stored: StoredRows
}

const WHOLE: ReadonlySet<ItemsPresence> = new Set(['there', 'absent'])

/** Returns the recorded position of the registry; undefined if an earlier version began the flush, which recorded none. */
export async function insertFlush(
  { checkpoint, flushLog, usage, levels, requests }: FlushTargets,
  { flush, metered, stored }: Insertion,
  signal: AbortSignal,
): Promise<number | undefined> {
  const hasNotes = flush.tokens === 'range'
  const token = (table: string): string => flushToken(table, checkpoint.instance, flush)
  const totals = withStored(totalsOf(metered), stored.stored)
  // The first note is kept: it has the totals of the rows that are there.
  if (hasNotes && !stored.isNoted) await flushLog.begin(flush, totals, signal)
  for (const [presence, items] of byPresence(metered.items, stored.items, ({ windowStartMs }) => windowStartMs))
    await insertItems(usage, { items, presence, token }, signal)
  for (const [presence, rows] of byPresence(metered.levels, stored.levels, ({ minuteMs }) => minuteMs))
    if (presence !== 'there') await levels.insert(token('levels'), rows, signal)
  if (stored.requests !== 'there') await requests.insert(token('requests'), metered.requests, signal)
  if (!hasNotes) return undefined
  const isPartial = stored.isNoted && presencesOf(stored.items).some((presence) => !WHOLE.has(presence))
  return flushLog.done(flush, isPartial ? await flushLog.complete(flush, totals) : totals, signal)
}

/** Groups rows by their presence, in their order. */
function byPresence<Row, Of>(
  rows: readonly Row[],
  found: ByMonth<Of>,
  timeMsOf: (row: Row) => number,
): Iterable<readonly [Of | 'unknown', readonly Row[]]> {
  if (!(found instanceof Map)) return [[found as Of, rows]]
  return Map.groupBy(
    rows,
    (row): Of | 'unknown' => (found as ReadonlyMap<string, Of>).get(monthOf(timeMsOf(row))) ?? 'unknown',
  )
}

interface ItemsInsertion {
  readonly items: Metered['items']
  readonly presence: ItemsPresence
  readonly token: (table: string) => string
}

function insertItems(
  usage: FlushTargets['usage'],
  { items, presence, token }: ItemsInsertion,
  signal: AbortSignal,
): Promise<void> {
  switch (presence) {
    case 'there':
      return Promise.resolve()
    case 'without-totals':
      return usage.insertTotals(token('usage-totals'), items, signal)
    case 'without-line-items':
      return usage.insertWithoutTotals(token('usage'), items, signal)
    case 'absent':
    case 'unknown':
      return usage.insert(token('usage'), items, signal)
  }
}

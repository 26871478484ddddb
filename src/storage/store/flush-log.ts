/**
 * The log of flushes in the store: one note before the rows of each flush and one after them.
 *
 * A start compares the notes with the checkpoint and with the present rows. It detects an older checkpoint, a replaced store and
 * missing rows.
 */

import type { PendingFlush, SpoolPosition } from './checkpoint.ts'

/**
 * Totals by name and month (`line_items/202611`): rows of `line_items` and `service_levels`, and `calls` of the line items. Only
 * partitions are compared, so a total is a sum over months.
 */
export type FlushTotals = Readonly<Record<string, number>>

export interface FlushNote {
  readonly instance: string
  readonly number: number
  readonly from: SpoolPosition
  readonly to: SpoolPosition
  /** All rows are in the store; false: they were about to be inserted. */
  readonly isDone: boolean
  readonly atMs: number
  /** Totals of all flushes of the instance up to this one, and of the rows that the store held before them. */
  readonly totals: FlushTotals
  /** Position of the registry's last change. */
  readonly registryEnd: number
}

/** Whether all rows of a flush are in a table, or none, by their number. */
export type Presence = 'there' | 'absent' | 'unknown'

/** Line items may be there without the hourly totals that are made from them, and the other way round. */
export type ItemsPresence = Presence | 'without-totals' | 'without-line-items'

/** The same for all rows of a flush, or by month, such as `202611`: an insert is atomic in each partition only. */
export type ByMonth<Of> = Of | ReadonlyMap<string, Of>

/** The state of an interrupted flush in the store. */
export interface HeldFlush {
  /** All of it. */
  readonly isDone: boolean
  /**
   * Line items and the hourly totals made from them. One may be there without the other after a power cut and in a copy of a running
   * folder.
   */
  readonly items: ByMonth<ItemsPresence>
  readonly levels: ByMonth<Presence>
  /** Missing: unknown. */
  readonly requests?: 'there'
  /** Noted totals of the tables that have the rows of this flush. */
  readonly stored: FlushTotals
  readonly registryEnd: number
}

export interface FlushLog {
  /**
   * Returns the state of a flush before it is repeated; null: the store has no note of it. The store does not sync its list of
   * tokens: after a power cut it may lack the token of stored rows. In a copy of a running folder it may have the token of rows that
   * it lacks. `quietMs`: for how long no insert of the flush can have begun.
   */
  held(flush: PendingFlush, quietMs: number): Promise<HeldFlush | null>
  /**
   * Counts the repairs of the store since it was opened. After a repair it may lack the tokens of stored rows, so a flush that is
   * repeated is compared with the store first.
   */
  repairs(): number
  /** Whether each retry is compared with the store first, because it may have dropped tokens meanwhile: a server stores for others too. */
  readonly comparesRetries: boolean
  /** Notes that the rows of `flush` follow. A repetition changes nothing. */
  begin(flush: PendingFlush, rows: FlushTotals, signal?: AbortSignal): Promise<void>
  /**
   * Completes line items and hourly totals from each other, after a flush of which the store had a part. Some of its records may be
   * missing from the spool meanwhile, as in a copy of a running folder. Returns the rows of the flush that are in the store.
   */
  complete(flush: PendingFlush, rows: FlushTotals): Promise<FlushTotals>
  /** Notes that its rows are in the store. Answers the registry's position that was noted. */
  done(flush: PendingFlush, rows: FlushTotals, signal?: AbortSignal): Promise<number>
}

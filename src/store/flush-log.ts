/**
 * What the store knows of the flushes that filled it: a note before the rows of each flush and one after them.
 *
 * A start compares these notes with the checkpoint and with the rows that are there: a checkpoint that went back, another store in
 * place of the one before, and rows that are missing are recognised.
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
  /** Of all flushes of the instance up to this one, and of what the store held before them. */
  readonly totals: FlushTotals
  /** Position of the registry's last change. */
  readonly registryEnd: number
}

/** Whether all rows of a flush are in a table, or none, by their number. */
export type Presence = 'there' | 'absent' | 'unknown'

/** What the store holds of a flush that was cut off. */
export interface HeldFlush {
  /** All of it. */
  readonly isDone: boolean
  readonly items: Presence
  readonly levels: Presence
  readonly registryEnd: number
}

export interface FlushLog {
  /**
   * Null: the store knows nothing of it. Asked before a flush is repeated: the store's list of tokens is not synced, so after
   * a power cut it may have forgotten the token of rows that it has. In a copy of a running folder it may remember the token
   * of rows that it lacks.
   */
  held(flush: PendingFlush): Promise<HeldFlush | null>
  /** Notes that the rows of `flush` follow. A repetition changes nothing. */
  begin(flush: PendingFlush, rows: FlushTotals, signal?: AbortSignal): Promise<void>
  /** Notes that its rows are in the store. Answers the registry's position that was noted. */
  done(flush: PendingFlush, rows: FlushTotals, signal?: AbortSignal): Promise<number>
}

/**
 * How long stored rows are kept, and the bounds of these settings.
 *
 * Line items and sums are removed by whole months (UTC): a month goes once its last day is older than the setting. Risk events and
 * requests are removed by the day.
 */

import { Problem } from '../../foundation/domain/problem.ts'

export interface RetentionDays {
  readonly lineItems: number
  /** Hourly, daily and monthly sums. */
  readonly sums: number
  readonly risks: number
  readonly requests: number
}

export interface RetentionBounds {
  readonly min: number
  readonly max: number
  readonly fallback: number
}

/** Line items are kept at least until the statement of their month is closed, and for the default range of a summary. */
export const RETENTION: Readonly<Record<keyof RetentionDays, RetentionBounds>> = {
  lineItems: { min: 31, max: 3_660, fallback: 800 },
  sums: { min: 31, max: 3_660, fallback: 3_660 },
  risks: { min: 1, max: 3_660, fallback: 30 },
  requests: { min: 1, max: 400, fallback: 7 },
}

/** The times from which on everything is kept that was ever stored; 0: nothing was removed. */
export interface KeptUsage {
  readonly lineItemsFromMs: number
  readonly sumsFromMs: number
  readonly statementsFromMs: number
}

/** A store from which nothing is removed. */
export const ALL_KEPT: KeptUsage = { lineItemsFromMs: 0, sumsFromMs: 0, statementsFromMs: 0 }

/** Returns the refusal of a read that would lack removed rows. `sentence` precedes the time from which on rows are kept. */
export function notKept(pointer: string, sentence: string, keptFromMs: number): Problem {
  const keptFrom = new Date(keptFromMs).toISOString()
  const detail = sentence.replace('{keptFrom}', keptFrom)
  return new Problem('payload_invalid', detail, { errors: [{ pointer, detail }], extensions: { keptFrom } })
}

/**
 * Counters of limits and quotas as they stand at a position of the spool, so that no limit begins anew when
 * the process dies.
 */

import type { LimitKind } from '../domain/limit-rule.ts'
import type { SpoolPosition } from './checkpoint.ts'

/** One counter, by what it counts; what its numbers mean is the limiter's. */
export interface SavedCounter {
  readonly key: string
  readonly meaning: string
  readonly kind: LimitKind
  readonly slots: readonly number[]
}

/** Counters of a subscription at an API. */
export interface SavedCounters {
  readonly subscription: string
  readonly api: string
  readonly counters: readonly SavedCounter[]
  /** When its latest breaches of a limit began, oldest first. */
  readonly breachesMs: readonly number[]
  /** The last refusal by a limit; 0: there was none. */
  readonly refusedMs: number
}

export interface LimitCheckpoint {
  /** All that precedes this is in the counters. */
  limitPosition(): SpoolPosition
  countersOf(subscription: string, api: string): SavedCounters | null
  /** One transaction. */
  saveCounters(position: SpoolPosition, counters: readonly SavedCounters[], nowMs: number): void
}

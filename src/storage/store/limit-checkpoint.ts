/** Counters of limits and quotas at a position of the spool, so that a crash does not reset them. */

import type { LimitKind } from '../../foundation/domain/limit-rule.ts'
import type { SpoolPosition } from './checkpoint.ts'

/** One counter, identified by what it counts; only the limiter interprets its fields. */
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
  /** Start times of its latest breaches of a limit, oldest first. */
  readonly breachesMs: readonly number[]
  /** Time of the last refusal by a limit; 0: none. */
  readonly refusedMs: number
}

export interface LimitCheckpoint {
  /** The counters include all records before this position. */
  limitPosition(): SpoolPosition
  countersOf(subscription: string, api: string): SavedCounters | null
  /** Saves position and counters in one transaction. */
  saveCounters(position: SpoolPosition, counters: readonly SavedCounters[], nowMs: number): void
}

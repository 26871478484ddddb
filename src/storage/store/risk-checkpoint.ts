/**
 * Durable state of risks: episodes, the spool position that they reflect, and the resulting events, committed together. Events are
 * published after the commit, so a replay from the position neither repeats nor loses an event.
 */

import type { RiskEvent } from '../../foundation/domain/risk.ts'
import type { SpoolPosition } from './checkpoint.ts'
import type { RiskPosition, RiskPositionQuery } from './risk-store.ts'

export interface SavedEpisode {
  readonly riskId: string
  readonly tenant: string
  readonly state: 'open' | 'cleared'
  /** The latest event of the episode. */
  readonly event: RiskEvent
  /** State from which the pipeline resumes; opaque to the store. */
  readonly resume: unknown
}

export interface OutboxBatch {
  readonly number: number
  readonly events: readonly RiskEvent[]
  /** True if an earlier version claimed the batch; its token contains only the number. */
  readonly isNumbered: boolean
}

/** Progress of service level evaluation. */
export interface LevelMark {
  /** Position of the first record of the first minute that is not evaluated. */
  readonly position: SpoolPosition
  /** Minutes that begin before this time were evaluated. */
  readonly closedMs: number
  readonly lastJudgedMs: number
  /** Number of consecutive minutes in which an API broke a promise. */
  readonly streaks: Readonly<Record<string, number>>
}

export interface RiskCheckpoint {
  levelMark(): LevelMark | null
  riskPosition(): SpoolPosition
  openEpisodes(): readonly SavedEpisode[]
  /** Id of the latest committed event; '' before the first. */
  lastEventId(): string
  /**
   * Commits in one transaction. Deletes episodes that cleared before `clearedBeforeMs`, and the oldest outbox events above the limit.
   * Returns the number of deleted events. `level`, if given, replaces the stored mark.
   */
  commitRisk(
    position: SpoolPosition,
    episodes: readonly SavedEpisode[],
    events: readonly RiskEvent[],
    clearedBeforeMs: number,
    level?: LevelMark | null,
  ): number
  /** Returns a cleared episode; null if the tenant has none with this id. */
  clearedEpisode(tenant: string, riskId: string): RiskEvent | null
  clearedEpisodes(query: RiskPositionQuery): readonly RiskPosition[]
  /** Returns the next batch of outbox events; the same batch again until `sent`. */
  nextBatch(): OutboxBatch | null
  sent(batch: OutboxBatch): void
  /** Returns outbox events of a tenant after `afterId`, oldest first. */
  waiting(tenant: string, afterId: string): readonly RiskEvent[]
}

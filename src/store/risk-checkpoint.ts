/**
 * What the pipeline's risks need to survive a crash: state, the spool position it stands for, and the
 * events that followed from it, committed together. Nothing is published before it is committed, so a
 * replay from the position repeats no event and loses none.
 */

import type { RiskEvent } from '../domain/risk.ts'
import type { SpoolPosition } from './checkpoint.ts'
import type { RiskPosition, RiskPositionQuery } from './risk-store.ts'

export interface SavedEpisode {
  readonly riskId: string
  readonly tenant: string
  readonly state: 'open' | 'cleared'
  /** Last word about the episode. */
  readonly event: RiskEvent
  /** Opaque to the store: what the pipeline goes on with. */
  readonly resume: unknown
}

export interface OutboxBatch {
  readonly number: number
  readonly events: readonly RiskEvent[]
  /** Claimed by a version whose tokens name the number alone. */
  readonly isNumbered: boolean
}

/** How far promises were judged. */
export interface LevelMark {
  /** Where the first minute begins that is not judged. */
  readonly position: SpoolPosition
  /** Minutes that begin before it were judged. */
  readonly closedMs: number
  readonly lastJudgedMs: number
  /** Minutes on end in which an API broke a promise. */
  readonly streaks: Readonly<Record<string, number>>
}

export interface RiskCheckpoint {
  levelMark(): LevelMark | null
  riskPosition(): SpoolPosition
  openEpisodes(): readonly SavedEpisode[]
  /** The latest event that was committed; '' before the first. */
  lastEventId(): string
  /**
   * One transaction. Episodes that cleared before `forgetBeforeMs` are let go of; of events that wait for
   * the store the oldest are, where they have become too many. Answers how many. `level` replaces the mark
   * where it is given.
   */
  commitRisk(
    position: SpoolPosition,
    episodes: readonly SavedEpisode[],
    events: readonly RiskEvent[],
    forgetBeforeMs: number,
    level?: LevelMark | null,
  ): number
  /** One that has cleared; null where the tenant has none of this id. */
  clearedEpisode(tenant: string, riskId: string): RiskEvent | null
  clearedEpisodes(query: RiskPositionQuery): readonly RiskPosition[]
  /** Events that wait for the store, in batches that stay as they are until `sent`. */
  nextBatch(): OutboxBatch | null
  sent(batch: OutboxBatch): void
  /** Events of a tenant after `afterId` that wait, oldest first. */
  waiting(tenant: string, afterId: string): readonly RiskEvent[]
}

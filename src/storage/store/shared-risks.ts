/**
 * Ports of risks that several nodes share: signals of each node, episodes by partition, and the feed of events.
 *
 * A signal stands for the calls of one attributed party in a range of one node's spool. It is added together with the position of that
 * range, and removed together with the change of the episode that counts it, so that no call is lost or counted twice.
 */

import type { AttributedTo, RiskEvent, RiskEvidence, RiskType } from '../../foundation/domain/risk.ts'
import type { SpoolPosition } from './checkpoint.ts'
import type { SavedEpisode } from './risk-checkpoint.ts'
import type { RiskPosition } from './risk-store.ts'

export interface RiskSignal {
  readonly tenant: string
  readonly type: RiskType
  readonly api: string
  readonly attributedTo: AttributedTo
  readonly firstMs: number
  readonly lastMs: number
  /** Occurrences, and how many of them are grave, by second; in the order of time. */
  readonly seconds: readonly (readonly [second: number, count: number, grave: number])[]
  /** Operation of the latest call. */
  readonly operation: string
  readonly evidence: RiskEvidence
}

/** How far a source of signals has come. */
export interface SourceState {
  /** Counts up by one with each batch. */
  readonly sequence: number
  /** Everything before this position has been sent. */
  readonly position: SpoolPosition
}

export interface SignalBatch {
  readonly source: string
  /** Sequence of the source before this batch. */
  readonly expected: number
  readonly position: SpoolPosition
  readonly signals: readonly RiskSignal[]
}

export interface SignalStore {
  /** Returns the state of a source; a new one begins at `initial`. */
  openSource(source: string, initial: SpoolPosition): Promise<SourceState>
  /** Adds signals and moves the source, both or neither. Returns whether it did: not if the source is not at `expected`. */
  send(batch: SignalBatch): Promise<boolean>
}

/** A partition that is locked for one transaction. */
export interface ClaimedPartition {
  readonly number: number
  /** Random; changes with each commit. */
  readonly version: string
  /** Time of the store. */
  readonly nowMs: number
  /** In the order in which they were added; some of them if there are many. */
  readonly signals: readonly RiskSignal[]
  openEpisodes(): Promise<readonly SavedEpisode[]>
}

export interface PartitionChanges {
  readonly episodes: readonly SavedEpisode[]
  /** Their ids are assigned at the commit, in the order of their positions, and are not before `fromMs`. */
  readonly events: readonly RiskEvent[]
  readonly fromMs: number
}

export interface PartitionStore {
  /**
   * Claims a partition that has signals, or was not advanced for a second, and commits what `advance` returns, together with the removal
   * of the signals. A node prefers the partitions that it had before. Returns the number and the new version; null if there is
   * nothing to do. If it rejects, the changes may have been committed or not.
   */
  advance(
    holder: string,
    advance: (claimed: ClaimedPartition) => Promise<PartitionChanges>,
  ): Promise<Pick<ClaimedPartition, 'number' | 'version'> | null>
  /** Lets other nodes claim the partitions of `holder` at once. */
  leave(holder: string): Promise<void>
}

export interface EventPage {
  /** In order; a position that is missing was removed. */
  readonly events: readonly { readonly position: number; readonly event: RiskEvent }[]
  /** Position and id of the latest event, also if it is not in the page. */
  readonly end: number
  readonly lastId: string
}

export interface EventsAfter {
  readonly tenant: string
  readonly position: number
  readonly id: string
  readonly limit: number
}

/** The events of all partitions in one order, which is also that of their ids. Old events that the history has are removed. */
export interface RiskEventFeed {
  read(after: number, limit: number): Promise<EventPage>
  /** Returns a position up to which every reader of the history finds all events. */
  inHistory(): Promise<number>
  /** Returns events of a tenant after a position and an id, oldest first. */
  eventsAfter(query: EventsAfter): Promise<readonly RiskEvent[]>
  /** Returns the latest events of an episode that are not removed yet, oldest first. */
  eventsOf(tenant: string, riskId: string, limit: number): Promise<readonly RiskEvent[]>
}

/** Events that the history receives next; the same batch again until `stored`. */
export interface HistoryBatch {
  readonly from: number
  readonly to: number
  readonly events: readonly RiskEvent[]
}

export interface RiskOutbox {
  nextBatch(): Promise<HistoryBatch | null>
  stored(batch: HistoryBatch): Promise<void>
  /** Removes stored events that are old, the oldest ones above a limit, and episodes that cleared before a time. Returns the number of events that were not stored. */
  prune(clearedBeforeMs: number): Promise<number>
}

export interface EpisodeQuery {
  readonly tenant: string
  readonly state: RiskPosition['state']
  readonly after: string
  readonly limit: number
}

export interface EpisodeReader {
  /** Returns episodes after a risk id, in the order of their ids. */
  list(query: EpisodeQuery): Promise<readonly SavedEpisode[]>
  /** Returns an episode; null if the tenant has none with this id. */
  get(tenant: string, riskId: string): Promise<SavedEpisode | null>
}

export interface SharedRisks extends SignalStore, PartitionStore {
  readonly feed: RiskEventFeed
  readonly outbox: RiskOutbox
  readonly episodes: EpisodeReader
  /** Calls `onSignals` and `onEvents` soon after others were added; only a hint. */
  onHint(hints: { readonly onSignals: () => void; readonly onEvents: () => void }): () => void
}

/** Port of the backends that nodes report as failing, so that several nodes publish one event, and show the same. */

import type { Commit } from './registry.ts'

export interface UpstreamReport {
  readonly tenant: string
  readonly api: string
  /** Text, since a node of another version may know other states. */
  readonly state: string
  /** How badly the backend fails; 0 while it recovers. */
  readonly severity: number
}

export interface OwnUpstreamReport extends UpstreamReport {
  /** The node has an event about the backend that it has not published. */
  readonly isPending: boolean
}

/** An event of a node about a failing backend. */
export interface UpstreamEvent {
  readonly api: string
  readonly severity: number
  readonly commit: Commit
  /** Time since the failure, if the event could not be published at once; null: the backend has failed just now. */
  readonly delayedMs: number | null
}

export interface UpstreamReports {
  /**
   * Stores how the backend of an API is for a node; null: healthy. `pending` is the severity of the event that the node has not
   * published; 0: there is none. Returns whether no other live node has published one that is as severe.
   */
  report(node: string, api: string, report: UpstreamReport | null, pending: number): Promise<boolean>
  /**
   * Commits the event of a node, unless another live node has published one that is as severe; a delayed event also if one was
   * published since the failure. The commit and the note of it are one transaction.
   */
  publish(node: string, event: UpstreamEvent): Promise<void>
  /** Replaces all reports of a node. */
  restate(node: string, reports: readonly OwnUpstreamReport[]): Promise<void>
  /** Returns the reports of all live nodes on the backends of a tenant: as many as nodes for an API. */
  list(tenant: string): Promise<readonly UpstreamReport[]>
}

/**
 * Ports to read risks: stored events (from ClickHouse), and the latest event of each episode (from the checkpoint).
 */

import type { Category, RiskEvent, RiskType, Severity } from '../../foundation/domain/risk.ts'

export interface RiskEventFilter {
  readonly category?: Category
  /** At least this severity. */
  readonly severity?: Severity
  readonly api?: string
}

export interface RiskStore {
  /** Adds events once per token, like `UsageStore.insert`. */
  insert(token: string, events: readonly RiskEvent[], signal?: AbortSignal): Promise<void>
  /** Returns events of a tenant after `afterId`, oldest first. */
  eventsAfter(tenant: string, afterId: string, limit: number, signal?: AbortSignal): Promise<readonly RiskEvent[]>
  /** Returns the events of one episode, oldest first. */
  eventsOf(tenant: string, riskId: string, limit: number, signal?: AbortSignal): Promise<readonly RiskEvent[]>
}

/** One item of `GET /v1/risks`: the latest event of an episode. */
export interface RiskPosition {
  readonly event: RiskEvent
  readonly state: 'open' | 'cleared'
}

export interface RiskPositionQuery extends RiskEventFilter {
  readonly tenant: string
  readonly type?: RiskType
  /** Id of the attributed party. */
  readonly attributedTo?: string
  /** Only risks of this consumer, itself or through an agent. */
  readonly consumer?: string
  readonly state: 'open' | 'cleared'
  /** A further filter. */
  readonly selects?: (event: RiskEvent) => boolean
  /** Only risks with an id after this one; results are in id order. */
  readonly after?: string
  readonly limit: number
}

/** Port of the platform API to risks: the episodes and the live feed. */
export interface RiskFeed {
  position(query: RiskPositionQuery): Promise<readonly RiskPosition[]>
  /** Returns an episode with its events, oldest first; null if the tenant has none with this id. */
  episode(tenant: string, riskId: string): Promise<(RiskPosition & { readonly timeline: readonly RiskEvent[] }) | null>
  /**
   * Calls `listener` with every event of the tenant after `afterId`, stored ones first, then live ones, without gaps or duplicates.
   * If `afterId` is null, only live events follow. Stored events are delivered in pages, with a wait for `drained` between them.
   * Returns a function that unsubscribes.
   */
  subscribe(
    tenant: string,
    afterId: string | null,
    listener: (event: RiskEvent) => void,
    drained?: () => Promise<void>,
  ): Promise<() => void>
}

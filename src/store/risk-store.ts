/**
 * Risk events and episodes as they are read later: history from ClickHouse, the position from the
 * checkpoint's episodes.
 */

import type { Category, RiskEvent, RiskType, Severity } from '../domain/risk.ts'

export interface RiskEventFilter {
  readonly category?: Category
  /** At least this severity. */
  readonly severity?: Severity
  readonly api?: string
}

export interface RiskStore {
  /** Adds events once per token, like `UsageStore.insert`. */
  insert(token: string, events: readonly RiskEvent[], signal?: AbortSignal): Promise<void>
  /** Events of a tenant after `afterId`, oldest first. */
  eventsAfter(tenant: string, afterId: string, limit: number, signal?: AbortSignal): Promise<readonly RiskEvent[]>
  /** What was told of one episode, oldest first. */
  eventsOf(tenant: string, riskId: string, limit: number, signal?: AbortSignal): Promise<readonly RiskEvent[]>
}

/** One item of `GET /v1/risks`: the last word about an episode. */
export interface RiskPosition {
  readonly event: RiskEvent
  readonly state: 'open' | 'cleared'
}

export interface RiskPositionQuery extends RiskEventFilter {
  readonly tenant: string
  readonly type?: RiskType
  /** Id of the attributed party. */
  readonly attributedTo?: string
  readonly state: 'open' | 'cleared'
  /** `riskId`s after this one, in order. */
  readonly after?: string
  readonly limit: number
}

/** What the platform API needs of the pipeline's risks: the position now and the live feed. */
export interface RiskFeed {
  position(query: RiskPositionQuery): Promise<readonly RiskPosition[]>
  /** One episode with what was told of it, oldest first; null where the tenant has none of this id. */
  episode(tenant: string, riskId: string): Promise<(RiskPosition & { readonly timeline: readonly RiskEvent[] }) | null>
  /**
   * Calls `listener` with every event of the tenant after `afterId` (from history and memory, without
   * gap or repeat), or from now where it is null, then live. Of the past it tells a page at a time and
   * waits for `drained` between them. Returns how to stop.
   */
  subscribe(
    tenant: string,
    afterId: string | null,
    listener: (event: RiskEvent) => void,
    drained?: () => Promise<void>,
  ): Promise<() => void>
}

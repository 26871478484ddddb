/** Port of the request log, which stores single calls for some days. */

import type { Channel } from '../../foundation/domain/attribution.ts'

export interface LoggedRequest {
  readonly timeMs: number
  readonly tenant: string
  readonly api: string
  readonly operation: string
  readonly requestId: string
  readonly status: number
  /** `served`, or the code of the refusal. */
  readonly outcome: string
  readonly consumer: string
  readonly consumerName: string
  readonly subscription: string
  readonly agent: string
  readonly person: string
  readonly durationUs: number
  readonly upstreamUs: number
  readonly requestBytes: number
  readonly responseBytes: number
  readonly unitsMicro: number
  /** Why the call was refused, as JSON (`foundation/domain/explanation.ts`); `''` if no explanation is stored. */
  readonly explanation: string
  readonly channel: Channel
  /** Revision of the API; 0: the record named none. */
  readonly revision: number
}

export interface RequestQuery {
  readonly tenant: string
  readonly fromMs: number
  readonly toMs: number
  readonly api?: string
  readonly customer?: string
  readonly outcome?: string
  /** Only calls that were not served. */
  readonly isRefused?: true
  readonly requestId?: string
  readonly revision?: number
  /** Only calls after this one in the list, which begins with the latest call. */
  readonly before?: { readonly timeMs: number; readonly requestId: string }
  readonly limit: number
}

/** Calls that a subscriber receives; all that are given must match. */
export interface RequestFilter {
  readonly tenant: string
  readonly api?: string
  readonly customer?: string
  readonly outcome?: string
  /** Only calls that were not served. */
  readonly isRefused?: true
  readonly revision?: number
}

export interface RequestFeedListener {
  readonly onRequest: (request: LoggedRequest) => void
  /** Called about once a second with the number of calls that were left out, if any. */
  readonly onSkipped: (count: number) => void
}

/** Calls as they are recorded. */
export interface RequestFeed {
  /** A subscription can begin with earlier calls. */
  readonly isResumable: boolean
  /** Returns a function that ends the subscription. `sinceMs`: begins with the calls since then, as far as the feed has them. */
  subscribe(filter: RequestFilter, listener: RequestFeedListener, sinceMs?: number): () => void
}

/** A filter of those who follow the log. */
export interface FollowedFilter extends RequestFilter {
  readonly sinceMs: number
  /** It gets calls of flushes up to the position as well. */
  readonly isFresh: boolean
}

export interface FollowQuery {
  readonly filters: readonly FollowedFilter[]
  /** The last flush that was read of each writer. */
  readonly position: ReadonlyMap<string, number>
  /** Calls of each filter and writer. */
  readonly limit: number
}

/** Calls of one writer that one filter selects. */
export interface FollowedRequests {
  /** Index of the filter. */
  readonly filter: number
  readonly writer: string
  readonly lastFlush: number
  /** Calls that the filter selects; more than `requests` if the limit is reached. */
  readonly found: number
  readonly requests: readonly LoggedRequest[]
}

export interface RequestStore {
  /** Adds rows once: a second insert with the same token changes nothing. */
  insert(token: string, rows: readonly LoggedRequest[], signal?: AbortSignal): Promise<void>
  find(query: RequestQuery, signal?: AbortSignal): Promise<readonly Omit<LoggedRequest, 'tenant'>[]>
}

/** The log as it grows. */
export interface FollowedLog {
  /** Reads the calls that were stored after a position, for all filters at once; without their explanations. */
  follow(query: FollowQuery, signal?: AbortSignal): Promise<readonly FollowedRequests[]>
}

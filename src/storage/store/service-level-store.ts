/** Port of the measured service levels by minute and operation, which the stream writes. */

import type { ServiceMeasure } from '../../foundation/domain/service-level.ts'

export const SERVICE_WINDOW_MS = 60_000

export interface ServiceLevelRow extends ServiceMeasure {
  readonly minuteMs: number
  readonly tenant: string
  readonly api: string
  readonly operation: string
  /** Revision of the API; missing if the records named none, and in sums over revisions. */
  readonly revision?: number
}

export interface ServiceLevelQuery {
  readonly tenant: string
  /** Null: all but `excludeApi`. */
  readonly api: string | null
  readonly excludeApi?: string
  /** Minutes that begin in `[fromMs, toMs)`. */
  readonly fromMs: number
  readonly toMs: number
  /** Null: all. */
  readonly operationIds: readonly string[] | null
  /** Minutes that begin in one of these spans of the day; empty: all. */
  readonly spans: readonly { readonly startMs: number; readonly endMs: number }[]
  /** Loads in calls per second, ascending: minutes are grouped by the first load that they do not exceed. */
  readonly loads: readonly number[]
  /** Length of the windows of the result; null: one window. */
  readonly stepMs: number | null
}

export interface MeasuredStretch extends ServiceMeasure {
  /** Start of the window; 0 if `stepMs` is null. */
  readonly startMs: number
  /** Position in `loads`; the length of `loads` if every load was exceeded. */
  readonly load: number
}

export interface RevisionMeasure extends ServiceMeasure {
  /** 0: the records named none. */
  readonly revision: number
}

export interface RevisionsQuery {
  readonly tenant: string
  readonly api: string
  /** Minutes that begin in `[fromMs, toMs)`. */
  readonly fromMs: number
  readonly toMs: number
}

export interface MinutesQuery {
  readonly apis: readonly string[]
  /** Minutes that begin in `[fromMs, toMs)`. */
  readonly fromMs: number
  readonly toMs: number
}

export interface ServiceLevelStore {
  /** Adds rows once: a second insert with the same token changes nothing. */
  insert(token: string, rows: readonly ServiceLevelRow[], signal?: AbortSignal): Promise<void>
  measure(query: ServiceLevelQuery, signal?: AbortSignal): Promise<readonly MeasuredStretch[]>
  /** Measures each revision of an API that was called, the highest number first; at most 1,000. */
  revisions(query: RevisionsQuery, signal?: AbortSignal): Promise<readonly RevisionMeasure[]>
  /** Returns the sums of all nodes by minute and operation, in this order; for the work of the service, not for a tenant. */
  minutes(query: MinutesQuery): Promise<readonly ServiceLevelRow[]>
}

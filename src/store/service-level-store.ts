/** Port of the provider's measurements by minute and operation, which the stream writes. */

import type { ServiceMeasure } from '../domain/service-level.ts'

export const SERVICE_WINDOW_MS = 60_000

export interface ServiceLevelRow extends ServiceMeasure {
  readonly minuteMs: number
  readonly tenant: string
  readonly api: string
  readonly operation: string
}

export interface ServiceLevelQuery {
  readonly tenant: string
  readonly api: string
  /** Whole minutes that begin in it. */
  readonly fromMs: number
  readonly toMs: number
  /** Null: all. */
  readonly operationIds: readonly string[] | null
  /** Minutes that begin in one of these spans of the day; empty: all. */
  readonly spans: readonly { readonly startMs: number; readonly endMs: number }[]
  /** Loads in calls a second, rising: minutes are told apart by the first that is not exceeded. */
  readonly loads: readonly number[]
  /** How the time is divided; null: not at all. */
  readonly stepMs: number | null
}

export interface MeasuredStretch extends ServiceMeasure {
  /** Where the stretch begins; 0 where the time is not divided. */
  readonly startMs: number
  /** Position in `loads`; its length where every one was exceeded. */
  readonly load: number
}

export interface ServiceLevelStore {
  /** Adds rows once: a second insert with the same token changes nothing. */
  insert(token: string, rows: readonly ServiceLevelRow[], signal?: AbortSignal): Promise<void>
  measure(query: ServiceLevelQuery, signal?: AbortSignal): Promise<readonly MeasuredStretch[]>
}

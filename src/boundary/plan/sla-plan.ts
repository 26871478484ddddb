/**
 * An OpenSLA declaration as plain data, resolved per operation: everything that a gateway thread needs to limit, meter and price the
 * calls of one variant of one API.
 */

import type { LimitRule } from '../../foundation/domain/limit-rule.ts'

export type QuotaPeriod = 'Daily' | 'Monthly' | 'Quarterly' | 'Annual' | 'PayAsYouGo'

/** A span of the day in UTC, in milliseconds after midnight; `endMs <= startMs` spans midnight. */
export interface Validity {
  readonly startMs: number
  readonly endMs: number
}

/** One counter of a subscription. */
export interface LimitPlan {
  /** Name of the definition, shown to callers. */
  readonly name: string
  /** Identifies the counter over versions of the declaration: definition name and property. */
  readonly key: string
  /** Equal for limits that count the same calls in the same way, whatever their name: operations, times and property. */
  readonly meaning: string
  readonly rule: LimitRule
  /** Empty for all times. */
  readonly validity: readonly Validity[]
}

export interface QuotaPlan {
  readonly period: QuotaPeriod
  readonly unitsMicro: number
}

/** Promises of the provider; null if none are declared. */
export interface RuntimePlan {
  readonly name: string
  /** Null for all operations. */
  readonly operationIds: readonly string[] | null
  readonly validity: readonly Validity[]
  readonly availabilityPercent: number | null
  readonly concurrency: number | null
  readonly throughput: readonly ThroughputPromise[]
  readonly errorPercentMax: number | null
}

export interface ThroughputPromise {
  /** Highest load in calls per second at which the promise holds; null for any load. */
  readonly rps: number | null
  readonly latency: readonly LatencyPromise[]
}

export interface LatencyPromise {
  readonly percentile: number
  readonly maximumMs: number | null
  readonly meanMs: number | null
}

export interface SlaPlan {
  readonly api: string
  /** `''` for the default tier. */
  readonly variant: string
  readonly version: string
  /** Counts the declarations of the API, those of all its variants together: a later plan has a higher number. */
  readonly number: number
  readonly limits: readonly LimitPlan[]
  /**
   * operationId → for each property (`rate`, `concurrent`, `totals.minute` …) the positions in
   * `limits` of the definitions that name it, in order: the first that is valid at the time applies.
   * `'*'` means every operation that is not listed.
   */
  readonly byOperation: Readonly<Record<string, readonly (readonly number[])[]>>
  readonly quota: QuotaPlan | null
  readonly alertShare: number
  /** operationId → cost of one call in millionths of a unit; `'*'` is the default. */
  readonly unitsMicro: Readonly<Record<string, number>>
  readonly runtime: readonly RuntimePlan[]
  readonly currency: string
  readonly priceMicro: number
}

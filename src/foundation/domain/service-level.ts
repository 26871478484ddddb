/**
 * Measured service level of a backend over a period, in counts that can be added.
 *
 * Availability is the share of calls that the backend answered; the error rate is the share of 5xx among its responses. Only
 * successful calls, below 400, count for latency (OpenSLA 1.0.0, "runtime"): from the first byte sent to the backend to the head
 * of its response.
 */

import { percentileOf } from './latency-buckets.ts'

export interface ServiceMeasure {
  /** Calls that were sent to the backend; calls that the gateway refused do not count. */
  readonly calls: number
  readonly unanswered: number
  /** 5xx responses. */
  readonly errors: number
  readonly successes: number
  /** Sum over successful calls. */
  readonly latencyUs: number
  /** Successful calls by bucket (`latency-buckets.ts`). */
  readonly latency: ReadonlyMap<number, number>
}

export function availabilityPercent({ calls, unanswered }: ServiceMeasure): number | null {
  return calls === 0 ? null : ((calls - unanswered) / calls) * 100
}

export function errorPercent({ calls, unanswered, errors }: ServiceMeasure): number | null {
  const answered = calls - unanswered
  return answered === 0 ? null : (errors / answered) * 100
}

export function meanMs({ successes, latencyUs }: ServiceMeasure): number | null {
  return successes === 0 ? null : latencyUs / successes / 1_000
}

export function percentileMs({ latency }: ServiceMeasure, percent: number): number | null {
  const us = percentileOf(latency, percent)
  return us === null ? null : us / 1_000
}

export const NOTHING_MEASURED: ServiceMeasure = {
  calls: 0,
  unanswered: 0,
  errors: 0,
  successes: 0,
  latencyUs: 0,
  latency: new Map(),
}

export function sumOfMeasures(measures: readonly ServiceMeasure[]): ServiceMeasure {
  const latency = new Map<number, number>()
  for (const measure of measures) {
    for (const [bucket, count] of measure.latency) latency.set(bucket, (latency.get(bucket) ?? 0) + count)
  }
  const total = (of: (measure: ServiceMeasure) => number): number =>
    measures.reduce((sum, measure) => sum + of(measure), 0)
  return {
    calls: total(({ calls }) => calls),
    unanswered: total(({ unanswered }) => unanswered),
    errors: total(({ errors }) => errors),
    successes: total(({ successes }) => successes),
    latencyUs: total(({ latencyUs }) => latencyUs),
    latency,
  }
}

/**
 * Promises of providers (`runtime` of OpenSLA 1.0.0), one number each, and whether they are kept.
 *
 * A latency that is promised for a number of calls per second applies up to that load; if several apply, the one with the
 * lowest load. `concurrency` and `rps` alone are no promises: they limit what consumers may request, and capacity is allocated
 * by them.
 */

import {
  availabilityPercent,
  errorPercent,
  meanMs,
  percentileMs,
  type ServiceMeasure,
} from '../../foundation/domain/service-level.ts'
import type { RuntimePlan, Validity } from '../../boundary/plan/sla-plan.ts'

export interface ServicePromise {
  readonly name: string
  /** Minimum percentage, maximum percentage, maximum milliseconds (both latencies). */
  readonly measure: 'availability' | '5xxResponsePercent' | 'latency' | 'meanLatency'
  readonly promised: number
  /** Only of a latency. */
  readonly percentile: number | null
  /** Highest load, in calls per second, at which the promise applies; null: at any load. */
  readonly rps: number | null
  /** Position in `loadsOf`; null: at any load. */
  readonly load: number | null
  /** Null: all operations. */
  readonly operationIds: readonly string[] | null
  readonly validity: readonly Validity[]
}

/** Null if there was nothing to measure. */
export interface Evaluation {
  readonly measured: number | null
  readonly isKept: boolean | null
}

export function promisesOf(plan: RuntimePlan): readonly ServicePromise[] {
  const { name, operationIds, validity, availabilityPercent: availability, errorPercentMax, throughput } = plan
  const loads = loadsOf(plan)
  const of = { name, operationIds, validity, percentile: null, rps: null, load: null }
  return [
    ...(availability === null ? [] : [{ ...of, measure: 'availability' as const, promised: availability }]),
    ...(errorPercentMax === null ? [] : [{ ...of, measure: '5xxResponsePercent' as const, promised: errorPercentMax }]),
    ...throughput.flatMap(({ rps, latency }) => {
      const load = rps === null ? loads.length : loads.indexOf(rps)
      return latency.flatMap(({ percentile, maximumMs, meanMs: mean }): ServicePromise[] => [
        ...(maximumMs === null
          ? []
          : [{ ...of, measure: 'latency' as const, promised: maximumMs, percentile, rps, load }]),
        ...(mean === null ? [] : [{ ...of, measure: 'meanLatency' as const, promised: mean, rps, load }]),
      ])
    }),
  ]
}

/** Returns the loads that the plan distinguishes, in calls per second, ascending. A higher load has the position after the last. */
export function loadsOf({ throughput }: RuntimePlan): readonly number[] {
  const loads = throughput.flatMap(({ rps }) => (rps === null ? [] : [rps]))
  return [...new Set(loads)].sort((a, b) => a - b)
}

export function evaluate({ measure, promised, percentile }: ServicePromise, of: ServiceMeasure): Evaluation {
  if (measure === 'availability') return toEvaluation(availabilityPercent(of), (percent) => percent >= promised)
  if (measure === '5xxResponsePercent') return toEvaluation(errorPercent(of), (percent) => percent <= promised)
  return toEvaluation(measure === 'latency' ? percentileMs(of, percentile ?? 100) : meanMs(of), (ms) => ms <= promised)
}

function toEvaluation(measured: number | null, isKept: (measured: number) => boolean): Evaluation {
  return { measured, isKept: measured === null ? null : isKept(measured) }
}

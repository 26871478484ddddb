/**
 * What providers promise (`runtime` of OpenSLA 1.0.0), one number at a time, and whether it was kept.
 *
 * A promise of latency at so many calls a second holds where there is no more load; of several, that of
 * the least load which covers the moment. `concurrency` and `rps` by themselves say what may be asked of
 * the provider, and are what capacity is given out by.
 */

import {
  availabilityPercent,
  errorPercent,
  meanMs,
  percentileMs,
  type ServiceMeasure,
} from '../domain/service-level.ts'
import type { RuntimePlan, Validity } from '../plan/sla-plan.ts'

export interface ServicePromise {
  readonly name: string
  /** Per cent at least, per cent at most, milliseconds at most. */
  readonly measure: 'availability' | '5xxResponsePercent' | 'latency' | 'meanLatency'
  readonly promised: number
  /** Of a latency. */
  readonly percentile: number | null
  /** Calls a second up to which it holds; null: at any load. */
  readonly rps: number | null
  /** Position in `loadsOf`; null: whatever the load. */
  readonly load: number | null
  /** Null: all operations. */
  readonly operationIds: readonly string[] | null
  readonly validity: readonly Validity[]
}

/** Null where nothing was there to measure. */
export interface Judgement {
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

/** Loads that the plan tells apart, in calls a second, rising; what exceeds all of them comes after the last. */
export function loadsOf({ throughput }: RuntimePlan): readonly number[] {
  const loads = throughput.flatMap(({ rps }) => (rps === null ? [] : [rps]))
  return [...new Set(loads)].sort((a, b) => a - b)
}

export function judge({ measure, promised, percentile }: ServicePromise, of: ServiceMeasure): Judgement {
  if (measure === 'availability') return judged(availabilityPercent(of), (percent) => percent >= promised)
  if (measure === '5xxResponsePercent') return judged(errorPercent(of), (percent) => percent <= promised)
  return judged(measure === 'latency' ? percentileMs(of, percentile ?? 100) : meanMs(of), (ms) => ms <= promised)
}

function judged(measured: number | null, isKept: (measured: number) => boolean): Judgement {
  return { measured, isKept: measured === null ? null : isKept(measured) }
}

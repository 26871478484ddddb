/**
 * Reports the measured service level of an API, and whether its declarations keep their promises.
 *
 * Measured over all traffic of the API, by minute. A minute belongs to a validity period by its start.
 */

import {
  availabilityPercent,
  errorPercent,
  meanMs,
  percentileMs,
  sumOfMeasures,
  type ServiceMeasure,
} from '../../foundation/domain/service-level.ts'
import { evaluate, loadsOf, promisesOf, type ServicePromise } from '../../pipeline/service-level/promises.ts'
import type { RuntimePlan } from '../../boundary/plan/sla-plan.ts'
import type { Registry } from '../../storage/store/registry.ts'
import {
  SERVICE_WINDOW_MS,
  type RevisionMeasure,
  type ServiceLevelQuery,
  type ServiceLevelStore,
} from '../../storage/store/service-level-store.ts'
import { find, toTime } from '../command/commands.ts'
import type { LatestPlans } from '../publishing/latest-plans.ts'
import { API_KIND } from '../publishing/apis.ts'

export interface ServiceLevels {
  of(tenant: string, api: string, range: MeasuredRange): Promise<ServiceLevel>
  /** Measures each revision of an API that was called, the highest number first. */
  ofRevisions(
    tenant: string,
    api: string,
    range: MeasuredRange,
    signal?: AbortSignal,
  ): Promise<readonly RevisionLevel[]>
  /** Measures all APIs of a tenant together, except `excludeApi`. */
  ofTenant(tenant: string, range: MeasuredRange, excludeApi: string, signal?: AbortSignal): Promise<MeasuredLevel>
}

export interface MeasuredRange {
  readonly fromMs: number
  readonly toMs: number
}

export interface MeasuredLevel {
  readonly from: string
  readonly to: string
  readonly measured: Measured
  /** The range in windows of equal length; windows without a call are left out. */
  readonly windows: readonly (Measured & { readonly from: string; readonly to: string })[]
}

export interface ServiceLevel extends MeasuredLevel {
  readonly api: string
  readonly promises: readonly EvaluatedPromise[]
}

/** Null if there was nothing to measure. */
export interface Measured {
  readonly calls: number
  readonly availabilityPercent: number | null
  readonly errorPercent: number | null
  readonly latency: { readonly meanMs: number | null } & Readonly<Record<'p50Ms' | 'p95Ms' | 'p99Ms', number | null>>
}

export interface RevisionLevel extends Measured {
  readonly revision: number
  readonly unanswered: number
  readonly errors: number
}

export interface EvaluatedPromise extends Pick<
  ServicePromise,
  'name' | 'measure' | 'percentile' | 'rps' | 'operationIds' | 'promised'
> {
  readonly variant: string | null
  readonly measured: number | null
  readonly calls: number
  readonly isKept: boolean | null
}

export interface ServiceLevelsOptions {
  readonly registry: Registry
  readonly plans: LatestPlans
  readonly store: Pick<ServiceLevelStore, 'measure' | 'revisions'>
}

const WINDOWS_MAX = 100
const STEPS_MS = [1, 5, 15, 60, 360, 1_440].map((minutes) => minutes * SERVICE_WINDOW_MS)

export function createServiceLevels({ registry, plans, store }: ServiceLevelsOptions): ServiceLevels {
  async function evaluatedOf(tenant: string, api: string, range: MeasuredRange): Promise<readonly EvaluatedPromise[]> {
    const found: EvaluatedPromise[] = []
    for (const { variant, runtime } of await plans.of(api)) {
      for (const plan of runtime) {
        const byLoad = await measuresOf(tenant, api, plan, range)
        const all = sumOfMeasures(byLoad)
        for (const promise of promisesOf(plan)) {
          const measure = promise.load === null ? all : byLoad[promise.load]!
          found.push(describe(promise, variant, measure))
        }
      }
    }
    return found
  }

  /** Returns one measure for each load, and one for calls above all of them. */
  async function measuresOf(tenant: string, api: string, plan: RuntimePlan, range: MeasuredRange) {
    const { operationIds, validity: spans } = plan
    const loads = loadsOf(plan)
    const stretches = await store.measure({ tenant, api, ...range, operationIds, spans, loads, stepMs: null })
    return Array.from({ length: loads.length + 1 }, (_, load) =>
      sumOfMeasures(stretches.filter((stretch) => stretch.load === load)),
    )
  }

  async function measuredOf(
    of: Pick<ServiceLevelQuery, 'tenant' | 'api' | 'excludeApi'>,
    { fromMs, toMs }: MeasuredRange,
    signal?: AbortSignal,
  ): Promise<MeasuredLevel> {
    const stepMs = STEPS_MS.find((each) => (toMs - fromMs) / each <= WINDOWS_MAX) ?? STEPS_MS.at(-1)!
    const all = { fromMs, toMs, operationIds: null, spans: [], loads: [] }
    const stretches = await store.measure({ ...of, ...all, stepMs }, signal)
    return {
      from: toTime(fromMs),
      to: toTime(toMs),
      measured: show(sumOfMeasures(stretches)),
      windows: stretches.map((stretch) => ({
        from: toTime(Math.max(fromMs, stretch.startMs)),
        to: toTime(Math.min(toMs, stretch.startMs + stepMs)),
        ...show(stretch),
      })),
    }
  }

  return {
    async of(tenant, api, range) {
      await find(registry, tenant, API_KIND, api)
      const level = await measuredOf({ tenant, api }, range)
      return { api, ...level, promises: await evaluatedOf(tenant, api, range) }
    },
    async ofRevisions(tenant, api, range, signal) {
      return (await store.revisions({ tenant, api, ...range }, signal)).map(showRevision)
    },
    ofTenant: (tenant, range, excludeApi, signal) => measuredOf({ tenant, api: null, excludeApi }, range, signal),
  }
}

function describe(promise: ServicePromise, variant: string, measure: ServiceMeasure): EvaluatedPromise {
  const { name, measure: what, percentile, rps, operationIds, promised } = promise
  const { measured, isKept } = evaluate(promise, measure)
  const { calls } = measure
  return {
    variant: variant === '' ? null : variant,
    name,
    measure: what,
    percentile,
    rps,
    operationIds,
    promised,
    measured: rounded(measured),
    calls,
    isKept,
  }
}

function show(measure: ServiceMeasure): Measured {
  return {
    calls: measure.calls,
    availabilityPercent: rounded(availabilityPercent(measure)),
    errorPercent: rounded(errorPercent(measure)),
    latency: {
      meanMs: rounded(meanMs(measure)),
      p50Ms: rounded(percentileMs(measure, 50)),
      p95Ms: rounded(percentileMs(measure, 95)),
      p99Ms: rounded(percentileMs(measure, 99)),
    },
  }
}

function showRevision(measure: RevisionMeasure): RevisionLevel {
  const { revision, unanswered, errors } = measure
  return { revision, unanswered, errors, ...show(measure) }
}

function rounded(value: number | null): number | null {
  return value === null ? null : Number(value.toFixed(3))
}

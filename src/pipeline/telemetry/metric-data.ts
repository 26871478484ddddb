/** The metrics of `/metrics` and the durations of calls, as the serializers of OpenTelemetry take them. All are cumulative. */

import type { Registry } from 'prom-client'
import { BOUNDARIES, type DurationSeries } from './duration-histogram.ts'
import type { Origin } from './origin.ts'
import { toHrTime } from './hr-time.ts'

type HrTime = [number, number]
type Labels = Readonly<Record<string, string | number | boolean>>

interface Point<T> {
  readonly startTime: HrTime
  readonly endTime: HrTime
  readonly attributes: Labels
  readonly value: T
}

interface Descriptor {
  readonly name: string
  readonly description: string
  readonly unit: string
  readonly valueType: 1
}

interface Histogram {
  readonly buckets: { readonly boundaries: number[]; readonly counts: number[] }
  readonly sum: number
  readonly count: number
}

interface MetricOf<Type extends number, T> {
  readonly descriptor: Descriptor
  readonly aggregationTemporality: 1
  readonly dataPointType: Type
  readonly dataPoints: Point<T>[]
}

export type Metric =
  | MetricOf<0, Histogram>
  | MetricOf<2, number>
  | (MetricOf<3, number> & { readonly isMonotonic: boolean })

const CUMULATIVE = 1
const DOUBLE = 1
const HISTOGRAM = 0
const GAUGE = 2
const SUM = 3

export interface MetricSources {
  readonly registry: Pick<Registry, 'getMetricsAsJSON'>
  readonly durations: { read(): readonly DurationSeries[] }
  /** When the counters began at 0. */
  readonly sinceMs: number
  readonly nowMs: number
}

export async function readMetrics(sources: MetricSources, origin: Origin) {
  const metrics = [...(await registered(sources)), ...durations(sources)]
  return { resource: origin.resource, scopeMetrics: [{ scope: origin.instrumentationScope, metrics }] }
}

async function registered({ registry, sinceMs, nowMs }: MetricSources): Promise<Metric[]> {
  const startTime = toHrTime(sinceMs)
  const endTime = toHrTime(nowMs)
  const found = await registry.getMetricsAsJSON()
  return found.flatMap(({ name, help, type, values }): Metric[] => {
    // JSON has no infinity, and an infinite lag says no more than a missing one.
    const finite = values.filter(({ value }) => Number.isFinite(value))
    const dataPoints = finite.map(({ labels, value }) => {
      return { startTime, endTime, attributes: labels as Labels, value }
    })
    const common = { descriptor: describe(name, help, ''), aggregationTemporality: CUMULATIVE, dataPoints } as const
    const kind = String(type)
    if (dataPoints.length === 0) return []
    if (kind === 'counter') return [{ ...common, dataPointType: SUM, isMonotonic: true }]
    return kind === 'gauge' ? [{ ...common, dataPointType: GAUGE }] : []
  })
}

function durations({ durations: source, sinceMs, nowMs }: MetricSources): Metric[] {
  const dataPoints = source.read().map(({ attributes, counts, sum, count }) => ({
    startTime: toHrTime(sinceMs),
    endTime: toHrTime(nowMs),
    attributes,
    value: { buckets: { boundaries: [...BOUNDARIES], counts: [...counts] }, sum, count },
  }))
  if (dataPoints.length === 0) return []
  const descriptor = describe('http.server.request.duration', 'Duration of HTTP server requests.', 's')
  return [{ descriptor, aggregationTemporality: CUMULATIVE, dataPointType: HISTOGRAM, dataPoints }]
}

function describe(name: string, description: string, unit: string): Descriptor {
  return { name, description, unit, valueType: DOUBLE }
}

/**
 * Metrics in Prometheus' text format. Label values are words of ours or technical names of published
 * APIs, never anything a caller chose: the number of series is bounded by the catalogue.
 */

import { Counter, Gauge, Histogram, Registry } from 'prom-client'

export interface Metrics {
  readonly registry: Registry
  counter<L extends string = never>(name: string, help: string, labels?: readonly L[]): Counter<L>
  gauge<L extends string = never>(name: string, help: string, labels?: readonly L[]): Gauge<L>
  /** A gauge that is asked for its value when it is read. */
  measured(name: string, help: string, read: () => number): void
  histogram(name: string, help: string, buckets: number[]): Histogram
}

/** Counts events by reason: words of ours, which the docs list. */
export function createEventCounter(metrics: Metrics): (reason: string, by?: number) => void {
  const help = 'Drops, retries, refusals without a record and the like, by reason'
  const counter = metrics.counter('events_total', help, ['reason'])
  return (reason, by = 1) => counter.inc({ reason }, by)
}

/** Names are given without the `tollgate_` they get. */
export function createMetrics(): Metrics {
  const registry = new Registry()
  const options = { registers: [registry] }

  return {
    registry,
    counter: (name, help, labels = []) =>
      new Counter({ name: `tollgate_${name}`, help, labelNames: [...labels], ...options }),
    gauge: (name, help, labels = []) =>
      new Gauge({ name: `tollgate_${name}`, help, labelNames: [...labels], ...options }),
    measured(name, help, read) {
      new Gauge({
        name: `tollgate_${name}`,
        help,
        ...options,
        collect() {
          this.set(read())
        },
      })
    },
    histogram: (name, help, buckets) => new Histogram({ name: `tollgate_${name}`, help, buckets, ...options }),
  }
}

/** Counts events that no other metric shows, by reason. */
export function countEvents(metrics: Pick<Metrics, 'counter'>): (reason: string, by?: number) => void {
  const help = 'Drops, retries, refusals without a record and the like, by reason'
  const counted = metrics.counter('events_total', help, ['reason'])
  return (reason, by = 1) => counted.inc({ reason }, by)
}

/**
 * Metrics in the text format of Prometheus.
 *
 * Label values are constants of the code or names of published APIs, never input of a caller, so the catalogue bounds the number of
 * series.
 */

import { Counter, Gauge, Registry } from 'prom-client'
import type { CountEvent } from './event-reasons.ts'

export interface Metrics {
  readonly registry: Registry
  counter<L extends string = never>(name: string, help: string, labels?: readonly L[]): Counter<L>
  /** Registers a gauge; `read` returns its value at each scrape, null for none. */
  measured(name: string, help: string, read: () => number | null): void
}

/** Creates the registry. Names are given without their prefix `tollgate_`. */
export function createMetrics(): Metrics {
  const registry = new Registry()
  const options = { registers: [registry] }

  return {
    registry,
    counter: (name, help, labels = []) =>
      new Counter({ name: `tollgate_${name}`, help, labelNames: [...labels], ...options }),
    measured(name, help, read) {
      new Gauge({
        name: `tollgate_${name}`,
        help,
        ...options,
        collect() {
          const value = read()
          if (value === null) this.remove()
          else this.set(value)
        },
      })
    },
  }
}

/** Registers `tollgate_events_total` and returns the function that adds to it. */
export function createEventCounter(metrics: Pick<Metrics, 'counter'>): CountEvent {
  const help = 'Drops, retries, refusals without a record and the like, by reason'
  const counter = metrics.counter('events_total', help, ['reason'])
  return (reason, by = 1) => counter.inc({ reason }, by)
}

/**
 * Gates of one thread by API, and the reports of their counts to the main thread.
 *
 * Reports with failures are sent every 100 ms, all others once per second.
 */

import type { Clock } from '../../runtime/clock.ts'
import { UpstreamGate, type UpstreamReport } from './upstream-gate.ts'

export interface UpstreamGates {
  of(api: string): UpstreamGate
  close(): void
}

export interface UpstreamGatesOptions {
  readonly clock: Clock
  readonly send: (reports: readonly UpstreamReport[]) => void
}

const PERIOD_MS = 100
const PERIODS_PER_FULL_REPORT = 10

export function createUpstreamGates({ clock, send }: UpstreamGatesOptions): UpstreamGates {
  const gates = new Map<string, UpstreamGate>()
  let period = 0

  const stop = clock.every(PERIOD_MS, () => {
    const isFull = ++period % PERIODS_PER_FULL_REPORT === 0
    const reports: UpstreamReport[] = []
    for (const [api, gate] of gates) {
      const report = isFull || gate.hasFailed ? gate.takeReport(api) : null
      if (report !== null) reports.push(report)
    }
    if (reports.length > 0) send(reports)
  })

  return {
    of(api) {
      let gate = gates.get(api)
      if (gate === undefined) gates.set(api, (gate = new UpstreamGate()))
      return gate
    },
    close: stop,
  }
}

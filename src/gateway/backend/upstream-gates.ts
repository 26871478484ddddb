/** The gates of one thread, by API, and its reports to the main thread: failures at once, the rest once a second. */

import type { Clock } from '../../runtime/clock.ts'
import { UpstreamGate, type UpstreamReport } from './upstream-gate.ts'

export interface UpstreamGates {
  of(api: string): UpstreamGate
  close(): void
}

export interface UpstreamGatesOptions {
  readonly clock: Clock
  readonly tell: (reports: readonly UpstreamReport[]) => void
}

const FAILURES_EVERY_MS = 100
const ALL_EVERY = 10

export function createUpstreamGates({ clock, tell }: UpstreamGatesOptions): UpstreamGates {
  const gates = new Map<string, UpstreamGate>()
  let beat = 0

  const stop = clock.every(FAILURES_EVERY_MS, () => {
    const isAll = ++beat % ALL_EVERY === 0
    const reports: UpstreamReport[] = []
    for (const [api, gate] of gates) {
      const report = isAll || gate.hasFailed ? gate.take(api) : null
      if (report !== null) reports.push(report)
    }
    if (reports.length > 0) tell(reports)
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

/**
 * Gates of one thread by key (`gate-key.ts`), and the reports of their counts to the main thread.
 *
 * Reports with failures are sent every 100 ms, all others once per second.
 */

import type { Clock } from '../../foundation/runtime/clock.ts'
import { UpstreamGate, type GatePlan, type UpstreamReport } from './upstream-gate.ts'

export interface UpstreamGates {
  of(key: string): UpstreamGate
  set(key: string, plan: GatePlan): void
  /** Evicts the gate to a target that no revision has any more. */
  drop(key: string): void
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
    for (const [key, gate] of gates) {
      const report = isFull || gate.hasFailed ? gate.takeReport(key) : null
      if (report !== null) reports.push(report)
    }
    if (reports.length > 0) send(reports)
  })

  function of(key: string): UpstreamGate {
    let gate = gates.get(key)
    if (gate === undefined) gates.set(key, (gate = new UpstreamGate()))
    return gate
  }

  return {
    of,
    set(key, plan) {
      // The main thread opens the gate to a target that it monitors no longer; gates are open from the start.
      const gate = plan.mode === 'open' ? gates.get(key) : of(key)
      gate?.set(plan)
    },
    drop: (key) => void gates.delete(key),
    close: stop,
  }
}

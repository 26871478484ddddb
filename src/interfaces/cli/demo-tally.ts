/**
 * Counts the demo's calls by outcome with their recent rate, and holds the latest bill and up to 200 open risk episodes.
 *
 * Times are in milliseconds of any monotonic clock.
 */

import { OUTCOMES, type CustomerRow, type DemoView, type Outcome, type OutcomeRow, type RiskRow } from './demo-view.ts'

/** The fields of a risk event that the demo reads. */
export interface RiskNews {
  readonly riskId: string
  readonly phase: string
  readonly severity: RiskRow['severity']
  readonly type: string
  readonly operation: string
  readonly count: number
  readonly attributedTo: { readonly kind: string; readonly id: string; readonly name: string }
}

export interface Tally {
  called(outcome: Outcome, nowMs: number): void
  billed(customers: readonly CustomerRow[]): void
  heard(news: RiskNews): void
  view(nowMs: number, facts: Pick<DemoView, 'secondsMax' | 'gatewayUrl' | 'trouble'>): DemoView
}

const RATE_SECONDS = 5
const RISKS_MAX = 200
const SEVERITIES = ['Critical', 'Warning', 'Info']

export function createTally(startMs: number): Tally {
  const totals = new Map<Outcome, number>()
  /** Number of calls per outcome in each recent second. */
  const recent = new Map<number, Map<Outcome, number>>()
  const risks = new Map<string, RiskRow>()
  let customers: readonly CustomerRow[] = []
  let events = 0

  function secondOf(nowMs: number): number {
    return Math.floor((nowMs - startMs) / 1000)
  }

  function rateOf(outcome: Outcome, second: number): number {
    const whole = Math.min(RATE_SECONDS, second)
    let calls = 0
    for (let back = 1; back <= whole; back++) calls += recent.get(second - back)?.get(outcome) ?? 0
    return whole === 0 ? 0 : calls / whole
  }

  return {
    called(outcome, nowMs) {
      totals.set(outcome, (totals.get(outcome) ?? 0) + 1)
      const second = secondOf(nowMs)
      let calls = recent.get(second)
      if (calls === undefined) {
        recent.set(second, (calls = new Map()))
        for (const old of recent.keys()) if (old < second - RATE_SECONDS) recent.delete(old)
      }
      calls.set(outcome, (calls.get(outcome) ?? 0) + 1)
    },

    billed(rows) {
      customers = rows
    },

    heard({ riskId, phase, severity, type, operation, count, attributedTo: { kind, id, name } }) {
      events++
      risks.delete(riskId)
      if (phase === 'cleared') return
      if (risks.size >= RISKS_MAX) {
        const [oldest] = risks.keys()
        if (oldest !== undefined) risks.delete(oldest)
      }
      risks.set(riskId, { severity, type, who: name || id || kind, operation, count })
    },

    view(nowMs, facts) {
      const second = secondOf(nowMs)
      const outcomes = OUTCOMES.flatMap((outcome): OutcomeRow[] => {
        const total = totals.get(outcome)
        return total === undefined ? [] : [{ outcome, total, perSecond: rateOf(outcome, second) }]
      })
      return { ...facts, elapsedSeconds: second, outcomes, customers, risks: bySeverity([...risks.values()]), events }
    },
  }
}

function bySeverity(risks: RiskRow[]): RiskRow[] {
  return risks.sort((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) || b.count - a.count)
}

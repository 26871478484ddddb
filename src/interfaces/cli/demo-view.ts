/**
 * The content of the demo's screen at one moment, as plain data: `demo-tally.ts` fills it, `demo-screen.ts`
 * draws it.
 */

export const OUTCOMES = [
  'served',
  'unauthenticated',
  'forbidden',
  'invalid',
  'over a limit',
  'quota used up',
  'other refusal',
  'failed',
] as const
export type Outcome = (typeof OUTCOMES)[number]

export interface OutcomeRow {
  readonly outcome: Outcome
  readonly perSecond: number
  readonly total: number
}

export interface CustomerRow {
  readonly name: string
  readonly calls: number
  readonly units: number
  /** Decimal string, as the platform sends it. */
  readonly amount: string
  readonly currency: string
}

export interface RiskRow {
  readonly severity: 'Info' | 'Warning' | 'Critical'
  readonly type: string
  readonly who: string
  readonly operation: string
  readonly count: number
}

export interface DemoView {
  readonly elapsedSeconds: number
  readonly secondsMax: number
  readonly gatewayUrl: string
  readonly outcomes: readonly OutcomeRow[]
  readonly customers: readonly CustomerRow[]
  readonly risks: readonly RiskRow[]
  readonly events: number
  /** The last request to the platform failed. */
  readonly trouble: string
}

export function outcomeOf(status: number): Outcome {
  if (status >= 200 && status < 400) return 'served'
  if (status === 400 || status === 413 || status === 415) return 'invalid'
  if (status === 401) return 'unauthenticated'
  if (status === 402) return 'quota used up'
  if (status === 403) return 'forbidden'
  if (status === 429) return 'over a limit'
  return status >= 400 && status < 500 ? 'other refusal' : 'failed'
}

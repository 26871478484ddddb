/**
 * Severity of a risk episode over its life.
 *
 *   new ──first window──▶ Info | Warning | Critical ──five quiet minutes──▶ cleared
 *
 * The severity rises immediately to that of the window. It falls one step at a time, and only after ten seconds at the
 * current severity, so that a count that alternates around a threshold does not flood subscribers with events.
 */

import { severityOf, type RiskRule } from './risk-rules.ts'
import { SEVERITIES, type Phase, type Severity } from '../../foundation/domain/risk.ts'

/** Stored in the checkpoint under these names. */
export type EpisodeState = 'new' | Severity | 'cleared'

export interface CountedWindow {
  readonly count: number
  /** Number of events of which one makes the episode Critical. */
  readonly grave: number
  /** Time since the last change of severity. */
  readonly heldMs: number
}

export interface EpisodeChange {
  readonly phase: Phase
  readonly severity: Severity
}

const STEP_DOWN_AFTER_MS = 10_000

/** Returns the change that a counted window causes; null if there is none. */
export function changeOnWindow(rule: RiskRule, state: EpisodeState, window: CountedWindow): EpisodeChange | null {
  if (state === 'cleared') return null
  const severity = severityOf(rule, window.count, window.grave)
  if (state === 'new') return { phase: 'opened', severity }
  const from = SEVERITIES.indexOf(state)
  const to = SEVERITIES.indexOf(severity)
  if (to > from) return { phase: 'escalated', severity }
  if (to === from || window.heldMs < STEP_DOWN_AFTER_MS) return null
  return { phase: 'deescalated', severity: SEVERITIES[from - 1]! }
}

/** Returns the change that silence causes; null if there is no open episode. */
export function changeOnQuiet(state: EpisodeState): EpisodeChange | null {
  return state === 'new' || state === 'cleared' ? null : { phase: 'cleared', severity: state }
}

export function stateAfter({ phase, severity }: EpisodeChange): EpisodeState {
  return phase === 'cleared' ? 'cleared' : severity
}

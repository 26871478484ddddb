/** Shows one logged call with the stage that refused it, and why. */

import { readExplanation, type Stage } from '../domain/explanation.ts'
import { PROBLEMS } from '../domain/problem.ts'
import type { Outcome } from '../record/call-record.ts'
import type { LoggedRequest } from '../store/request-store.ts'

/** Days for which single calls are kept; `sql/schema/0004_request_log.sql` removes them after that. */
export const KEPT_DAYS = 7

/** The stage at which a call with this outcome ended; null: none refused it, or it may have been any. */
const STAGE_OF: Readonly<Record<Outcome, Stage | null>> = {
  served: null,
  path_not_canonical: 'route',
  not_found: 'route',
  method_not_allowed: 'route',
  api_retired: 'route',
  loop_detected: 'route',
  credential_missing: 'authenticate',
  credential_invalid: 'authenticate',
  operation_forbidden: 'authorise',
  subscription_required: 'authorise',
  rate_limited: 'limit',
  quota_exhausted: 'limit',
  payload_invalid: 'validate',
  payload_too_large: 'validate',
  media_type_unsupported: 'validate',
  request_timeout: 'validate',
  upstream_refused: 'forward',
  upstream_broken: 'forward',
  upstream_timeout: 'forward',
  upstream_unhealthy: 'forward',
  backend_busy: 'forward',
  client_aborted: null,
  client_too_slow: null,
  unavailable: 'record',
  internal: null,
  retirement_blocked: null,
  self_approval: null,
  undeclared_operation: null,
  undeclared_status: null,
  undeclared_media_type: null,
  undeclared_body: null,
  score_low: null,
  score_critical: null,
  spool_high: null,
  spool_critical: null,
  records_damaged: null,
}

/** Meaning of outcomes for which no problem document exists. */
const MEANINGS: Readonly<Record<string, string>> = {
  served: 'The call was served.',
  client_aborted: 'The client disconnected before the answer was complete.',
  client_too_slow: 'The client read its answer too slowly and was disconnected.',
  backend_busy: 'No connection to the backend became free in time.',
}

export type ShownRequest = Omit<LoggedRequest, 'tenant'>

/** Returns what `GET /v1/requests/{id}` adds to the fields of the list. */
export function explainRequest({ outcome, explanation }: ShownRequest): Record<string, unknown> {
  // Calls recorded by earlier versions have no explanation, so the outcome supplies it.
  const {
    detail = meaningOf(outcome),
    stage = stageOf(outcome),
    errors = [],
    limit = null,
  } = readExplanation(explanation) ?? {}
  return { stage, detail, errors, limit }
}

/** Returns why a call is not stored; `mode` is `REQUEST_LOG`. */
export function whyNotKept(mode: 'off' | 'refused' | 'all'): string {
  if (mode === 'off') return 'REQUEST_LOG is off, so single calls are not stored. Set it to refused or all.'
  const kept = mode === 'all' ? 'calls' : 'refused calls (REQUEST_LOG=refused)'
  return (
    `No such call is stored. The log holds ${kept} of the last ${KEPT_DAYS} days, sampled under high load. ` +
    'A call appears some seconds after it has ended.'
  )
}

function isOutcome(text: string): text is Outcome {
  return Object.hasOwn(STAGE_OF, text)
}

function stageOf(outcome: string): Stage | null {
  return isOutcome(outcome) ? STAGE_OF[outcome] : null
}

function meaningOf(outcome: string): string {
  const problems: Readonly<Record<string, { readonly title: string }>> = PROBLEMS
  return MEANINGS[outcome] ?? `${problems[outcome]?.title ?? outcome}.`
}

/** Shows one logged call with the stage that refused it, and why. */

import { readExplanation, STAGES, type Stage } from '../../foundation/domain/explanation.ts'
import { PROBLEMS } from '../../foundation/domain/problem.ts'
import { isOutcome, OUTCOME_TABLE, outcomeIndex } from '../../foundation/domain/outcome.ts'
import type { LoggedRequest } from '../../storage/store/request-store.ts'

function resultOf(stage: Stage, index: number, at: number): string {
  if (index === at) return 'Refused'
  return at === -1 || index < at || stage === 'record' ? 'Passed' : 'NotReached'
}

/** Outcomes of calls that were forwarded and recorded. */
const PASSING: ReadonlySet<string> = new Set(['served', 'client_aborted', 'client_too_slow'])

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
  return { stage, stages: stagesOf(outcome, stage), detail, errors, limit }
}

/** The results of all stages. A call that is in the log was recorded, unless the record is what refused it. */
function stagesOf(outcome: string, refusing: Stage | null): readonly Record<'stage' | 'result', string>[] {
  const at = refusing === null ? -1 : STAGES.indexOf(refusing)
  const isKnown = refusing !== null || PASSING.has(outcome)
  return STAGES.map((stage, index) => ({
    stage,
    result: isKnown ? resultOf(stage, index, at) : 'Unknown',
  }))
}

/** Returns why a call is not stored; `mode` is `REQUEST_LOG`, `days` is `RETENTION_REQUESTS_DAYS`. */
export function reasonNotStored(mode: 'off' | 'refused' | 'all', days: number): string {
  if (mode === 'off') return 'REQUEST_LOG is off, so single calls are not stored. Set it to refused or all.'
  const stored = mode === 'all' ? 'calls' : 'refused calls (REQUEST_LOG=refused)'
  return (
    `No such call is stored. The log holds ${stored} of the last ${days} ${days === 1 ? 'day' : 'days'}, sampled under high load. ` +
    'A call appears some seconds after it has ended.'
  )
}

function stageOf(outcome: string): Stage | null {
  return isOutcome(outcome) ? OUTCOME_TABLE[outcomeIndex[outcome]]!.stage : null
}

function meaningOf(outcome: string): string {
  const row = isOutcome(outcome) ? OUTCOME_TABLE[outcomeIndex[outcome]]! : null
  if (row !== null && 'meaning' in row) return row.meaning
  const problems: Readonly<Record<string, { readonly title: string }>> = PROBLEMS
  return `${problems[outcome]?.title ?? outcome}.`
}

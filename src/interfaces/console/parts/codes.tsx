/** Codes of the API beside their titles. */

import { PROBLEMS } from '../../../foundation/domain/problem.ts'
import type { RiskType } from '../../../foundation/domain/risk.ts'
import { texts } from '../texts.ts'

const titles: Readonly<Record<RiskType, string>> = texts.risks.types

export function RiskTitle({ of }: { readonly of: RiskType }) {
  return (
    <>
      {titles[of]} <code class="quiet">{of}</code>
    </>
  )
}

/** "Limit exceeded (RateLimitBreach)". */
export function riskTitle(of: RiskType): string {
  return `${titles[of]} (${of})`
}

interface OutcomeProps {
  readonly of: string
  readonly status?: number
}

export function Outcome({ of, status }: OutcomeProps) {
  return (
    <>
      {outcomeTitle(of)} <code class="quiet">{status === undefined ? of : `${of} (${status})`}</code>
    </>
  )
}

/** Returns '' for a code without a title. */
export function outcomeTitle(of: string): string {
  const others: Readonly<Record<string, string>> = texts.requests.outcomes
  const problems: Readonly<Record<string, { readonly title: string }>> = PROBLEMS
  if (Object.hasOwn(others, of)) return others[of]!
  return Object.hasOwn(problems, of) ? problems[of]!.title : ''
}

/** Reasons that the evidence of a risk names: an outcome, a flag of a call record, or a measure of the service level. */

import type { Outcome, RISK_FLAGS, RiskWithoutOutcome } from '../../foundation/domain/outcome.ts'

/** A new type of risk that neither an outcome nor a flag raises does not compile. */
const REASONS_WITHOUT_OUTCOME = {
  ServiceLevelBreach: ['availability', '5xxResponsePercent', 'latency', 'meanLatency'],
} as const satisfies { readonly ServiceLevelBreach: readonly string[] } & {
  readonly [Type in Exclude<RiskWithoutOutcome, 'ServiceLevelBreach'>]: never
}

export type RiskReason =
  | Outcome
  | keyof typeof RISK_FLAGS
  | (typeof REASONS_WITHOUT_OUTCOME)[RiskWithoutOutcome][number]

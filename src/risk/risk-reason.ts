/** Reasons that the evidence of a risk names: an outcome, a flag of a call record, or a measure of the service level. */

import type { Outcome, RiskWithoutOutcome } from '../domain/outcome.ts'

/** A new type of risk that no outcome raises does not compile until its reasons are listed here. */
const REASONS_WITHOUT_OUTCOME = {
  ApproachingLimit: ['approaching_limit'],
  DeprecatedVersionInUse: ['past_retirement'],
  ServiceLevelBreach: ['availability', '5xxResponsePercent', 'latency', 'meanLatency'],
} as const satisfies Record<RiskWithoutOutcome, readonly string[]>

export type RiskReason = Outcome | (typeof REASONS_WITHOUT_OUTCOME)[RiskWithoutOutcome][number]

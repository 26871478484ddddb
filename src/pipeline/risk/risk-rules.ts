/**
 * Classification of each type of risk: category, severity thresholds, text.
 *
 * An episode has at least the severity of its type; it is `Warning` from `warningFrom` events in the sliding window, and
 * `Critical` from `criticalFrom`. A type with a single severity keeps it until the episode clears.
 */

import type { Category, RiskType, Severity } from '../../foundation/domain/risk.ts'

export interface RiskRule {
  readonly category: Category
  /** The severity of a single event. */
  readonly base: Severity
  /** Null if the type has a single severity. */
  readonly warningFrom: number | null
  readonly criticalFrom: number | null
  readonly windowSeconds: number
  /** Whether events can be grave. The episode is Critical while a grave event is in the window. */
  readonly isGraded: boolean
  /** Text of the message; follows the name of the party. */
  readonly phrase: string
  /** Text of the message of an episode that clears, if it is about something else than its party. */
  readonly clearedPhrase?: string
}

export type RiskRules = Readonly<Record<RiskType, RiskRule>>

const BY_COUNT = { base: 'Info', windowSeconds: 60, isGraded: false } as const
const ESCALATES_FAST = { ...BY_COUNT, warningFrom: 3, criticalFrom: 10 } as const
const ESCALATES_SLOWLY = { ...BY_COUNT, warningFrom: 10, criticalFrom: 50 } as const
const ONE = { warningFrom: null, criticalFrom: null, windowSeconds: 60, isGraded: false } as const
/** A window as long as the quiet time, so that the severity stays until the episode clears. */
const GRADED = { base: 'Warning', warningFrom: null, criticalFrom: null, windowSeconds: 300, isGraded: true } as const

export const DEFAULT_RISK_RULES: RiskRules = {
  ProtectionViolation: {
    category: 'Security',
    base: 'Critical',
    ...ONE,
    phrase: 'sent requests that break the contract',
  },
  AuthFailure401: { category: 'Security', ...ESCALATES_FAST, phrase: 'failed to authenticate' },
  AuthFailure403: { category: 'Security', ...ESCALATES_FAST, phrase: 'called operations without permission' },
  ApproachingLimit: { category: 'Performance', base: 'Warning', ...ONE, phrase: 'approaches a limit' },
  RateLimitBreach: { category: 'Performance', ...ESCALATES_SLOWLY, phrase: 'exceeds a limit' },
  RetirementBlocked: {
    category: 'Governance',
    base: 'Warning',
    ...ONE,
    phrase: 'still serves after the retirement date, because subscriptions are active',
  },
  SelfApprovalAttempt: {
    category: 'Governance',
    base: 'Critical',
    ...ONE,
    phrase: 'tried to decide on its own request',
  },
  ServiceLevelBreach: { category: 'Performance', ...GRADED, phrase: 'breaks its service level' },
  DesignDrift: { category: 'Design', ...GRADED, phrase: 'does not match the published contract' },
  ComplianceScoreLow: { category: 'Compliance', ...GRADED, phrase: 'activated a revision with a low compliance score' },
  DeprecatedVersionInUse: {
    category: 'Governance',
    base: 'Warning',
    ...ONE,
    phrase: 'still calls after the retirement date',
  },
  SpoolPressure: {
    category: 'Governance',
    ...GRADED,
    windowSeconds: 60,
    phrase: 'has unstored call records, and the spool is almost full',
  },
  RecordsDamaged: {
    category: 'Governance',
    base: 'Critical',
    ...ONE,
    windowSeconds: 300,
    phrase: 'has lost call records',
    clearedPhrase: 'No further damage was found in five minutes.',
  },
  LimitsUnavailable: {
    category: 'Governance',
    base: 'Critical',
    ...ONE,
    phrase: 'cannot count the limits that nodes share',
  },
  CertificateExpiring: {
    category: 'Governance',
    ...GRADED,
    phrase: 'has a certificate that expires soon or has expired',
    clearedPhrase: 'It has been replaced, or is not used any more.',
  },
  CanaryFailing: {
    category: 'Performance',
    base: 'Warning',
    ...ONE,
    windowSeconds: 300,
    phrase: 'has a canary that fails more often than the active revision',
    clearedPhrase: 'It has ended, or has not failed for five minutes.',
  },
}

/** Returns the severity for `count` events in the window, of which `grave` are grave. */
export function severityOf({ base, warningFrom, criticalFrom }: RiskRule, count: number, grave: number): Severity {
  if (grave > 0) return 'Critical'
  if (criticalFrom !== null && count >= criticalFrom) return 'Critical'
  if (warningFrom !== null && count >= warningFrom) return 'Warning'
  return base
}

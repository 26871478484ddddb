/**
 * How each type of risk is classified: category, thresholds of severity, what to say of it.
 *
 * An episode is at least `Info` (or its one severity); it is `Warning` from `warningFrom` events in the
 * sliding window, and `Critical` from `criticalFrom`. A type of one severity keeps it until it clears.
 */

import type { Category, RiskType, Severity } from '../domain/risk.ts'

export interface RiskRule {
  readonly category: Category
  /** The severity of a single event. */
  readonly base: Severity
  /** Null: the type has one severity. */
  readonly warningFrom: number | null
  readonly criticalFrom: number | null
  readonly windowSeconds: number
  /** Some of its events are grave, and make it Critical for as long as one is in the window. */
  readonly isGraded: boolean
  /** What the party did, in words that follow its name. */
  readonly phrase: string
}

export type RiskRules = Readonly<Record<RiskType, RiskRule>>

const BY_COUNT = { base: 'Info', windowSeconds: 60, isGraded: false } as const
const ESCALATES_FAST = { ...BY_COUNT, warningFrom: 3, criticalFrom: 10 } as const
const ESCALATES_SLOWLY = { ...BY_COUNT, warningFrom: 10, criticalFrom: 50 } as const
const ONE = { warningFrom: null, criticalFrom: null, windowSeconds: 60, isGraded: false } as const
/** Until it clears. */
const GRADED = { base: 'Warning', warningFrom: null, criticalFrom: null, windowSeconds: 300, isGraded: true } as const

export const DEFAULT_RISK_RULES: RiskRules = {
  ProtectionViolation: {
    category: 'Security',
    base: 'Critical',
    ...ONE,
    phrase: 'sent requests that break the contract',
  },
  AuthFailure401: { category: 'Security', ...ESCALATES_FAST, phrase: 'failed to authenticate' },
  AuthFailure403: { category: 'Security', ...ESCALATES_FAST, phrase: 'called what it may not call' },
  ApproachingLimit: { category: 'Performance', base: 'Warning', ...ONE, phrase: 'is near a limit' },
  RateLimitBreach: { category: 'Performance', ...ESCALATES_SLOWLY, phrase: 'is over a limit' },
  RetirementBlocked: {
    category: 'Governance',
    base: 'Warning',
    ...ONE,
    phrase: 'serves on after the retirement date, since subscriptions are active',
  },
  SelfApprovalAttempt: {
    category: 'Governance',
    base: 'Critical',
    ...ONE,
    phrase: 'tried to decide on a request of its own',
  },
  ServiceLevelBreach: { category: 'Performance', ...GRADED, phrase: 'does not keep what it promises' },
  DesignDrift: { category: 'Design', ...GRADED, phrase: 'is at odds with the published contract' },
  ComplianceScoreLow: { category: 'Compliance', ...GRADED, phrase: 'activated a revision of low compliance' },
  DeprecatedVersionInUse: {
    category: 'Governance',
    base: 'Warning',
    ...ONE,
    phrase: 'calls on after the retirement date',
  },
  SpoolPressure: {
    category: 'Governance',
    ...GRADED,
    windowSeconds: 60,
    phrase: 'has calls that wait to be stored, and little room is left for more',
  },
  RecordsDamaged: {
    category: 'Governance',
    base: 'Critical',
    ...ONE,
    windowSeconds: 300,
    phrase: 'has lost call records',
  },
}

/** The severity that `count` events in the window call for, `grave` of them grave. */
export function severityOf({ base, warningFrom, criticalFrom }: RiskRule, count: number, grave: number): Severity {
  if (grave > 0) return 'Critical'
  if (criticalFrom !== null && count >= criticalFrom) return 'Critical'
  if (warningFrom !== null && count >= warningFrom) return 'Warning'
  return base
}

/** Risks: categories, severities, types, and the event that subscribers see. */

export const SEVERITIES = ['Info', 'Warning', 'Critical'] as const
export type Severity = (typeof SEVERITIES)[number]

export const CATEGORIES = ['Security', 'Governance', 'Compliance', 'Performance', 'Design'] as const
export type Category = (typeof CATEGORIES)[number]

export const RISK_TYPES = [
  'ProtectionViolation',
  'AuthFailure401',
  'AuthFailure403',
  'ApproachingLimit',
  'RateLimitBreach',
  'RetirementBlocked',
  'SelfApprovalAttempt',
  'ServiceLevelBreach',
  'DesignDrift',
  'ComplianceScoreLow',
  'DeprecatedVersionInUse',
  'SpoolPressure',
  'RecordsDamaged',
  'LimitsUnavailable',
  'CertificateExpiring',
  'CanaryFailing',
] as const
export type RiskType = (typeof RISK_TYPES)[number]

export type Phase = 'opened' | 'escalated' | 'deescalated' | 'updated' | 'cleared'

export interface AttributedTo {
  /** `others`: many parties together, while there are too many for an episode each. */
  readonly kind: 'consumer' | 'agent' | 'person' | 'provider' | 'anonymous' | 'others'
  readonly id: string
  readonly name: string
  /** The consumer through which an agent calls that is not itself a consumer. */
  readonly consumer?: string
  readonly onBehalfOf?: string
}

export interface RiskEvent {
  /** Sortable by time; the `id` of the event stream. */
  readonly id: string
  readonly riskId: string
  readonly tenant: string
  readonly phase: Phase
  readonly type: RiskType
  readonly category: Category
  readonly severity: Severity
  readonly attributedTo: AttributedTo
  readonly api: string
  readonly operation: string
  /** Events inside the sliding window. */
  readonly count: number
  readonly windowSeconds: number
  readonly firstSeenMs: number
  readonly lastSeenMs: number
  readonly message: string
  readonly evidence: RiskEvidence
}

export interface RiskEvidence {
  /** Events of the whole episode. */
  readonly total: number
  readonly statuses: Readonly<Record<string, number>>
  /** Events by reason: an outcome, a flag of a call record, or a measure of the service level. */
  readonly reasons: Readonly<Record<string, number>>
  readonly operations: Readonly<Record<string, number>>
  /** Number of tool calls over MCP among the events; missing if there are none. */
  readonly channels?: Readonly<Record<string, number>>
  /** The latest five. */
  readonly requestIds: readonly string[]
}

/** An episode clears after this long without an event. */
export const QUIET_MS = 300_000

/** Returns the consumer that a risk is attributed to, itself or through an agent; `''` if there is none. */
export function consumerOf({ kind, id, consumer }: AttributedTo): string {
  if (kind === 'agent') return consumer ?? id
  return kind === 'consumer' ? id : ''
}

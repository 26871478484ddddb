/** Which outcomes are risks: the outcome's word, and the type it counts for. */

import type { RiskType } from '../domain/risk.ts'

export const OUTCOME_RISKS: Readonly<Record<string, RiskType>> = {
  credential_missing: 'AuthFailure401',
  credential_invalid: 'AuthFailure401',
  operation_forbidden: 'AuthFailure403',
  subscription_required: 'AuthFailure403',
  payload_invalid: 'ProtectionViolation',
  payload_too_large: 'ProtectionViolation',
  media_type_unsupported: 'ProtectionViolation',
  path_not_canonical: 'ProtectionViolation',
  rate_limited: 'RateLimitBreach',
  quota_exhausted: 'RateLimitBreach',
  retirement_blocked: 'RetirementBlocked',
  self_approval: 'SelfApprovalAttempt',
  undeclared_operation: 'DesignDrift',
  undeclared_status: 'DesignDrift',
  undeclared_media_type: 'DesignDrift',
  undeclared_body: 'DesignDrift',
  score_low: 'ComplianceScoreLow',
  score_critical: 'ComplianceScoreLow',
  spool_high: 'SpoolPressure',
  spool_critical: 'SpoolPressure',
  records_damaged: 'RecordsDamaged',
}

/** Each of these makes its episode Critical by itself. */
export const GRAVE_OUTCOMES: ReadonlySet<string> = new Set([
  'undeclared_operation',
  'undeclared_status',
  'score_critical',
  'spool_critical',
])

/** What is the provider's, whoever was near. */
export const PROVIDER_OUTCOMES: ReadonlySet<string> = new Set([
  'retirement_blocked',
  'undeclared_status',
  'undeclared_media_type',
  'undeclared_body',
  'score_low',
  'score_critical',
  'spool_high',
  'spool_critical',
  'records_damaged',
])

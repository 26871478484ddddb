/** Which refusals are risks: the refusal's code, and the type it counts for. */

import type { RiskType } from './risk.ts'

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
}

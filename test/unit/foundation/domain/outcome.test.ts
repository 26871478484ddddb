/** Fixes what stored records and the docs rely on: the number, the stage and the risk of each outcome. */

import { expect, it } from 'vitest'
import {
  IS_NOTE,
  isOutcome,
  OUTCOME_TABLE,
  outcomeIndex,
  OUTCOMES,
  type OutcomeRow,
} from '../../../../src/foundation/domain/outcome.ts'
import { RISK_TYPES } from '../../../../src/foundation/domain/risk.ts'

/** Name, stage and risk by number. Rows are added at the end; a change of another row breaks existing data folders. */
const STORED: readonly (readonly [name: string, stage: string | null, risk: string])[] = [
  ['served', null, 'none'],
  ['path_not_canonical', 'route', 'ProtectionViolation verified'],
  ['not_found', 'route', 'none'],
  ['method_not_allowed', 'route', 'none'],
  ['api_retired', 'route', 'none'],
  ['credential_missing', 'authenticate', 'AuthFailure401 caller'],
  ['credential_invalid', 'authenticate', 'AuthFailure401 caller'],
  ['operation_forbidden', 'authorise', 'AuthFailure403 caller'],
  ['subscription_required', 'authorise', 'AuthFailure403 caller'],
  ['rate_limited', 'limit', 'RateLimitBreach caller'],
  ['quota_exhausted', 'limit', 'RateLimitBreach caller'],
  ['payload_invalid', 'validate', 'ProtectionViolation caller'],
  ['payload_too_large', 'validate', 'ProtectionViolation caller'],
  ['media_type_unsupported', 'validate', 'ProtectionViolation caller'],
  ['upstream_refused', 'forward', 'none'],
  ['upstream_broken', 'forward', 'none'],
  ['upstream_timeout', 'forward', 'none'],
  ['upstream_unhealthy', 'forward', 'none'],
  ['unavailable', 'record', 'none'],
  ['client_aborted', null, 'none'],
  ['retirement_blocked', null, 'RetirementBlocked provider'],
  ['self_approval', null, 'SelfApprovalAttempt caller'],
  ['undeclared_operation', null, 'DesignDrift caller grave'],
  ['undeclared_status', null, 'DesignDrift provider grave'],
  ['undeclared_media_type', null, 'DesignDrift provider'],
  ['undeclared_body', null, 'DesignDrift provider'],
  ['score_low', null, 'ComplianceScoreLow provider'],
  ['score_critical', null, 'ComplianceScoreLow provider grave'],
  ['spool_high', null, 'SpoolPressure provider'],
  ['spool_critical', null, 'SpoolPressure provider grave'],
  ['request_timeout', 'validate', 'none'],
  ['backend_busy', 'forward', 'none'],
  ['client_too_slow', null, 'none'],
  ['internal', null, 'none'],
  ['loop_detected', 'route', 'none'],
  ['records_damaged', null, 'RecordsDamaged provider'],
  ['limits_unavailable', 'limit', 'none'],
  ['limits_not_shared', null, 'LimitsUnavailable provider'],
  ['revision_unavailable', 'route', 'none'],
  ['registry_stale', 'route', 'none'],
  ['certificate_expiring', null, 'CertificateExpiring provider'],
  ['certificate_expired', null, 'CertificateExpiring provider grave'],
  ['upgrade_required', 'validate', 'none'],
  ['canary_failing', null, 'CanaryFailing provider'],
]

it('keeps the number, stage and risk of each outcome', () => {
  const rows = OUTCOME_TABLE.map(({ name, stage, risk }) => [name, stage, risk === 'none' ? risk : textOf(risk)])
  expect(rows).toEqual(STORED)
})

it('maps each outcome name to its number and back', () => {
  expect(OUTCOMES.map((outcome) => outcomeIndex[outcome])).toEqual(OUTCOMES.map((_, index) => index))
  expect(OUTCOMES.every(isOutcome)).toBe(true)
  expect(['', 'retired', 'toString'].some(isOutcome)).toBe(false)
})

it('marks records as notes exactly if no call ended with their outcome', () => {
  expect(OUTCOMES.filter((_, index) => IS_NOTE[index])).toEqual([
    'retirement_blocked',
    'self_approval',
    'undeclared_operation',
    'undeclared_status',
    'undeclared_media_type',
    'undeclared_body',
    'score_low',
    'score_critical',
    'spool_high',
    'spool_critical',
    'records_damaged',
    'limits_not_shared',
    'certificate_expiring',
    'certificate_expired',
    'canary_failing',
  ])
})

it('raises every type of risk from an outcome, except those of flags and of the service level', () => {
  const raised = new Set(OUTCOME_TABLE.flatMap(({ risk }) => (risk === 'none' ? [] : [risk.type])))
  expect(RISK_TYPES.filter((type) => !raised.has(type))).toEqual([
    'ApproachingLimit',
    'ServiceLevelBreach',
    'DeprecatedVersionInUse',
  ])
})

it('does not compile an outcome without a stage or a risk, with a misspelt code, or a note with a stage', () => {
  const rows: readonly OutcomeRow[] = [
    { name: 'not_found', stage: 'route', risk: 'none' },
    // @ts-expect-error: no risk
    { name: 'not_found', stage: 'route' },
    // @ts-expect-error: no stage
    { name: 'not_found', risk: 'none' },
    // @ts-expect-error: neither the code of a problem, nor explained, nor a note
    { name: 'not_fuond', stage: 'route', risk: 'none' },
    // @ts-expect-error: a note has no stage
    { name: 'spool_low', isNote: true, stage: 'route', risk: 'none' },
  ]
  expect(rows).toHaveLength(5)
})

function textOf({ type, attributedTo, isGrave }: Exclude<OutcomeRow['risk'], 'none'>): string {
  return `${type} ${attributedTo}${isGrave ? ' grave' : ''}`
}

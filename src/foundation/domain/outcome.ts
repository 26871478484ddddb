/**
 * Outcomes of call records: the stage that ends a call with each of them, and the risk that it raises.
 *
 * A new outcome is one row here. It does not compile until its stage and its risk (or `none`) are given, and its name must be the
 * code of a problem document unless the row has a sentence that explains it.
 */

import type { Stage } from './explanation.ts'
import type { ProblemCode } from './problem.ts'
import type { RiskType } from './risk.ts'

/** The risk that a record with this outcome raises. */
export interface OutcomeRisk<Type extends RiskType = RiskType> {
  readonly type: Type
  /** Makes its episode Critical. */
  readonly isGrave: boolean
  /** `verified` means the caller if its credential was verified; other calls raise no risk. */
  readonly attributedTo: 'caller' | 'verified' | 'provider'
}

interface OutcomeFields {
  /** The stage that ends the call. Null if the call was served, any stage can end it, or there is no call. */
  readonly stage: Stage | null
  readonly risk: OutcomeRisk | 'none'
  /** True: the backend did not answer, so the call counts against the availability of the API. */
  readonly isUnanswered?: true
}

/** The call was answered with the problem document of this code. */
interface ProblemOutcome extends OutcomeFields {
  readonly name: ProblemCode
}

/** The call ended without a problem document of this name. */
interface ExplainedOutcome extends OutcomeFields {
  readonly name: string
  /** The sentence that the request log shows. */
  readonly meaning: string
}

/** Something that the service noticed; the record is not a call and is not billed. */
interface NoteOutcome extends OutcomeFields {
  readonly name: string
  readonly isNote: true
  readonly stage: null
}

export type OutcomeRow = ProblemOutcome | ExplainedOutcome | NoteOutcome

const note = { isNote: true, stage: null } as const

/** In the order of their numbers in the spool, so rows are only added at the end. */
const ROWS = [
  { name: 'served', stage: null, risk: 'none', meaning: 'The call was served.' },
  { name: 'path_not_canonical', stage: 'route', risk: raises('ProtectionViolation', { attributedTo: 'verified' }) },
  { name: 'not_found', stage: 'route', risk: 'none' },
  { name: 'method_not_allowed', stage: 'route', risk: 'none' },
  { name: 'api_retired', stage: 'route', risk: 'none' },
  { name: 'credential_missing', stage: 'authenticate', risk: raises('AuthFailure401') },
  { name: 'credential_invalid', stage: 'authenticate', risk: raises('AuthFailure401') },
  { name: 'operation_forbidden', stage: 'authorise', risk: raises('AuthFailure403') },
  { name: 'subscription_required', stage: 'authorise', risk: raises('AuthFailure403') },
  { name: 'rate_limited', stage: 'limit', risk: raises('RateLimitBreach') },
  { name: 'quota_exhausted', stage: 'limit', risk: raises('RateLimitBreach') },
  { name: 'payload_invalid', stage: 'validate', risk: raises('ProtectionViolation') },
  { name: 'payload_too_large', stage: 'validate', risk: raises('ProtectionViolation') },
  { name: 'media_type_unsupported', stage: 'validate', risk: raises('ProtectionViolation') },
  { name: 'upstream_refused', stage: 'forward', risk: 'none', isUnanswered: true },
  { name: 'upstream_broken', stage: 'forward', risk: 'none', isUnanswered: true },
  { name: 'upstream_timeout', stage: 'forward', risk: 'none', isUnanswered: true },
  { name: 'upstream_unhealthy', stage: 'forward', risk: 'none', isUnanswered: true },
  { name: 'unavailable', stage: 'record', risk: 'none' },
  {
    name: 'client_aborted',
    stage: null,
    risk: 'none',
    meaning: 'The client closed the connection before its response was complete.',
  },
  // The retirement date is reached while subscriptions of the API are active.
  { name: 'retirement_blocked', ...note, risk: raises('RetirementBlocked', { attributedTo: 'provider' }) },
  // A person tried to decide on a request of their own.
  { name: 'self_approval', ...note, risk: raises('SelfApprovalAttempt') },
  // A call, or its response, does not match the published contract.
  { name: 'undeclared_operation', ...note, risk: raises('DesignDrift', { isGrave: true }) },
  { name: 'undeclared_status', ...note, risk: raises('DesignDrift', { isGrave: true, attributedTo: 'provider' }) },
  { name: 'undeclared_media_type', ...note, risk: raises('DesignDrift', { attributedTo: 'provider' }) },
  { name: 'undeclared_body', ...note, risk: raises('DesignDrift', { attributedTo: 'provider' }) },
  // A revision was activated whose document scores below 90, or below 70.
  { name: 'score_low', ...note, risk: raises('ComplianceScoreLow', { attributedTo: 'provider' }) },
  { name: 'score_critical', ...note, risk: raises('ComplianceScoreLow', { isGrave: true, attributedTo: 'provider' }) },
  // The spool fills up.
  { name: 'spool_high', ...note, risk: raises('SpoolPressure', { attributedTo: 'provider' }) },
  { name: 'spool_critical', ...note, risk: raises('SpoolPressure', { isGrave: true, attributedTo: 'provider' }) },
  { name: 'request_timeout', stage: 'validate', risk: 'none' },
  {
    // Also if a caller with a smaller share got the connection. The response is `unavailable`.
    name: 'backend_busy',
    stage: 'forward',
    risk: 'none',
    meaning: 'No connection to the backend became available in time.',
  },
  {
    name: 'client_too_slow',
    stage: null,
    risk: 'none',
    meaning: 'The client read its response too slowly and was disconnected.',
  },
  { name: 'internal', stage: null, risk: 'none' },
  { name: 'loop_detected', stage: 'route', risk: 'none' },
  // Records of calls are missing because a file is damaged.
  { name: 'records_damaged', ...note, risk: raises('RecordsDamaged', { attributedTo: 'provider' }) },
  { name: 'limits_unavailable', stage: 'limit', risk: 'none' },
  // The limits that nodes share cannot be counted.
  { name: 'limits_not_shared', ...note, risk: raises('LimitsUnavailable', { attributedTo: 'provider' }) },
  { name: 'revision_unavailable', stage: 'route', risk: 'none' },
  { name: 'registry_stale', stage: 'route', risk: 'none' },
  // A certificate of this service or for a backend expires soon, or has expired.
  { name: 'certificate_expiring', ...note, risk: raises('CertificateExpiring', { attributedTo: 'provider' }) },
  {
    name: 'certificate_expired',
    ...note,
    risk: raises('CertificateExpiring', { isGrave: true, attributedTo: 'provider' }),
  },
  // The operation is a WebSocket, and the request does not ask for one, or for another version.
  { name: 'upgrade_required', stage: 'validate', risk: 'none' },
  // A canary fails more often than the active revision of its API.
  { name: 'canary_failing', ...note, risk: raises('CanaryFailing', { attributedTo: 'provider' }) },
] as const satisfies readonly OutcomeRow[]

type Row = (typeof ROWS)[number]

export type Outcome = Row['name']

/** Recorded if the client has closed the connection before its response: none was sent. nginx logs the same. */
export const STATUS_CLIENT_GONE = 499

/** Outcomes of records that are not calls. */
export type Note = Extract<Row, { readonly isNote: true }>['name']

/** Bits of `flags` of a call record that raise a risk, by the reason that the evidence names. */
export const RISK_FLAGS = {
  // The warning precedes the breach, also if one call causes both.
  approaching_limit: { bit: 2, risk: raises('ApproachingLimit') },
  past_retirement: { bit: 8, risk: raises('DeprecatedVersionInUse') },
} as const satisfies Readonly<Record<string, { readonly bit: 2 | 8 | 16 | 32 | 64 | 128; readonly risk: OutcomeRisk }>>

/** Types of risk that neither an outcome nor a flag raises. */
export type RiskWithoutOutcome = Exclude<
  RiskType,
  Extract<Row['risk'], OutcomeRisk>['type'] | (typeof RISK_FLAGS)[keyof typeof RISK_FLAGS]['risk']['type']
>

/** By number, which is what the spool stores. */
export const OUTCOME_TABLE: readonly (OutcomeRow & { readonly name: Outcome })[] = ROWS

/** Names by number. */
export const OUTCOMES: readonly Outcome[] = ROWS.map(({ name }) => name)

/** Numbers by name. */
export const outcomeIndex = Object.freeze(
  Object.fromEntries(OUTCOMES.map((outcome, index) => [outcome, index])),
) as Readonly<Record<Outcome, number>>

/** By number: whether a record with that outcome is a note and not a call. */
export const IS_NOTE: readonly boolean[] = OUTCOME_TABLE.map((row) => 'isNote' in row)

/** By number: whether the backend did not answer a call with that outcome. */
export const IS_UNANSWERED: readonly boolean[] = OUTCOME_TABLE.map((row) => row.isUnanswered === true)

/** Reads a stored outcome, or the code of a problem document. */
export function isOutcome(text: string): text is Outcome {
  return Object.hasOwn(outcomeIndex, text)
}

function raises<Type extends RiskType>(type: Type, risk: Partial<Omit<OutcomeRisk, 'type'>> = {}): OutcomeRisk<Type> {
  return { type, isGrave: false, attributedTo: 'caller', ...risk }
}

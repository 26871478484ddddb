/**
 * What is kept of one call: enough to bill it, to judge it and to find it again, and never a body,
 * a header or a credential.
 *
 * Written by the gateway thread that served the call, read by the pipeline and by a replay after a
 * crash. Fields are numbers of fixed width so that a record is 56 bytes on disk (see `codec.ts`).
 */

import type { Attribution } from '../domain/attribution.ts'
import type { ProblemCode } from '../domain/problem.ts'

/**
 * Why a call was refused, by position: the position is what the spool stores, so this list only
 * grows at its end.
 */
export const OUTCOMES = [
  'served',
  'path_not_canonical',
  'not_found',
  'method_not_allowed',
  'api_retired',
  'credential_missing',
  'credential_invalid',
  'operation_forbidden',
  'subscription_required',
  'rate_limited',
  'quota_exhausted',
  'payload_invalid',
  'payload_too_large',
  'media_type_unsupported',
  'upstream_refused',
  'upstream_broken',
  'upstream_timeout',
  'upstream_unhealthy',
  'unavailable',
  /** The client went away before its answer was whole. */
  'client_aborted',
  /** No calls, but what the governance of an API has to be told: a retirement date came while it is in use. */
  'retirement_blocked',
  /** Somebody tried to decide on a request of his own. */
  'self_approval',
  /** No calls either, but what one showed of the contract: a path, an answer's status, media type or body it does not know. */
  'undeclared_operation',
  'undeclared_status',
  'undeclared_media_type',
  'undeclared_body',
  /** A revision was activated whose document scores below 90, or below 70. */
  'score_low',
  'score_critical',
  /** The spool is filling up. */
  'spool_high',
  'spool_critical',
  /** The client sent its body too slowly, or not at all. */
  'request_timeout',
  /** No connection to the backend became free in time, or a fairer share took it away. Answered as `unavailable`. */
  'backend_busy',
  /** The client read its response too slowly and was disconnected. */
  'client_too_slow',
  /** A fault of the gateway itself. */
  'internal',
  /** The call has come through this gateway before. */
  'loop_detected',
  /** No call: records of calls are missing because a file is damaged. */
  'records_damaged',
] as const satisfies readonly (ProblemCode | 'served' | 'client_aborted' | 'backend_busy' | 'client_too_slow' | Note)[]

/** Outcomes of records that are not calls. */
const NOTES = [
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
] as const

export type Note = (typeof NOTES)[number]

export type Outcome = (typeof OUTCOMES)[number]

export const outcomeIndex = Object.freeze(
  Object.fromEntries(OUTCOMES.map((outcome, index) => [outcome, index])),
) as Readonly<Record<Outcome, number>>

/** By position in `OUTCOMES`: whether a record with that outcome is a note and not a call. */
export const IS_NOTE: readonly boolean[] = OUTCOMES.map((outcome) => NOTES.some((note) => note === outcome))

/** The call reached the backend: it counts as a call, and its units are charged unless it failed with 5xx. */
export const FLAG_FORWARDED = 1
/** A limit or quota of the caller passed its alert threshold with this call. */
export const FLAG_APPROACHING_LIMIT = 2
/** The call was admitted by the limits of its subscription, and counts against them. */
export const FLAG_COUNTED = 4
/** The API should have been retired by then, and serves on because it is used. */
export const FLAG_PAST_RETIREMENT = 8

export interface CallRecord {
  readonly attribution: Attribution
  /** When the record was made, which is the end of the call; billing windows are windows of this time. */
  readonly timeMs: number
  readonly durationUs: number
  /** From the first byte to the backend to the head of its answer; 0 when nothing was forwarded. */
  readonly upstreamUs: number
  readonly status: number
  /** Position in `OUTCOMES`. */
  readonly outcome: number
  readonly flags: number
  /** How long before `timeMs` the limits admitted the call, which is when it counts; 0 where they did not. */
  readonly admittedAgoMs: number
  /** Charged resource units in millionths; 0 for refused calls and for 5xx of the backend. */
  readonly unitsMicro: number
  readonly requestBytes: number
  readonly responseBytes: number
  /** Together with the segment's prefix the `X-Request-Id` of the call. */
  readonly sequence: number
}

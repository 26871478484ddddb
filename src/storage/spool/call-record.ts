/**
 * The record of one call: enough to bill it, to evaluate it and to find it again, without a body, a header or a credential.
 *
 * The gateway thread that serves the call writes the record; the pipeline reads it, again after a crash. Fields are numbers of
 * fixed width, so that a record takes 56 bytes on disk (see `codec.ts`).
 */

import type { Attribution } from '../../foundation/domain/attribution.ts'
import { RISK_FLAGS } from '../../foundation/domain/outcome.ts'

/** The call reached the backend: it counts as a call, and its units are charged unless the backend answered 5xx. */
export const FLAG_FORWARDED = 1
/** A limit or quota of the caller passed its alert threshold with this call. */
export const FLAG_APPROACHING_LIMIT = RISK_FLAGS.approaching_limit.bit
/** The limits of the subscription admitted the call, and it counts against them. */
export const FLAG_COUNTED = 4
/** The retirement date of the API has passed, and the API still serves because it is in use. */
export const FLAG_PAST_RETIREMENT = RISK_FLAGS.past_retirement.bit

/** Each comment names the stage that writes the field. */
export interface CallRecord {
  /** Routing (tenant, API, operation) and authentication (consumer, subscription, agent, person). */
  readonly attribution: Attribution
  /** End of the call: the time of the record. Billing windows are windows of this time. */
  readonly timeMs: number
  /** End of the call: from the arrival of the request. */
  readonly durationUs: number
  /** Forwarding: from the first byte sent to the backend to the head of its response. 0: nothing was forwarded. */
  readonly upstreamUs: number
  /** The stage that answers the call: HTTP status of the response. */
  readonly status: number
  /** End of the call: number in `OUTCOMES`, given by the stage that ends the call. */
  readonly outcome: number
  /** Authorisation (past retirement), limits (approaching, counted) and forwarding (forwarded). */
  readonly flags: number
  /** End of the call: time from the admission by the limits, at which the call counts, to `timeMs`. 0: not admitted. */
  readonly admittedAgoMs: number
  /** Limits, and the end of the call: charged resource units in millionths. 0 for refused calls and 5xx of the backend. */
  readonly unitsMicro: number
  /** Forwarding: bytes of the request body. */
  readonly requestBytes: number
  /** Forwarding and the end of the call: bytes of the response body. */
  readonly responseBytes: number
  /** Arrival of the request: with the prefix of the segment, the `X-Request-Id` of the call. */
  readonly sequence: number
}

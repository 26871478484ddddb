/**
 * What is kept of one call: enough to bill it, to judge it and to find it again, and never a body,
 * a header or a credential.
 *
 * Written by the gateway thread that served the call, read by the pipeline and by a replay after a
 * crash. Fields are numbers of fixed width so that a record is 56 bytes on disk (see `codec.ts`).
 */

import type { Attribution } from '../domain/attribution.ts'

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

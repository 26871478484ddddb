/**
 * Records the calls that the guard admits or refuses.
 *
 * An answer leaves after its record is safe. If the record cannot be written, the caller gets 503 instead, and that answer is not
 * recorded again.
 */

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Channel } from '../../foundation/domain/attribution.ts'
import type { Explanation } from '../../foundation/domain/explanation.ts'
import { STATUS_CLIENT_GONE } from '../../foundation/domain/outcome.ts'
import type { Party } from '../../boundary/plan/caller.ts'
import type { Log } from '../../foundation/runtime/log.ts'
import type { AdmittedCall, CallTerms } from './call-limits.ts'
import { toProblem, writeProblem } from './problems.ts'

export interface PlatformCall {
  /** `''` for a message that called no operation. */
  readonly operationId: string
  readonly channel: Channel
  /** The attributed party, also of a refused call; null if the credential did not verify. */
  readonly party: Party | null
  readonly status: number
  /** The code of a refusal, else `served`. */
  readonly code: string
  readonly startedMs: number
  readonly requestId: string
  /** The reason of a refusal; null for a call that was served. */
  readonly explanation: Explanation | null
  /** Null if the call was refused by its limits or before they were checked. */
  readonly terms: CallTerms | null
}

export interface RecordOptions {
  /** Resolves when the record is safe. */
  readonly record: (call: PlatformCall) => Promise<void>
  /** Returns why the disk refuses records, or null. */
  readonly cannotRecord: () => string | null
  /** Called for each call that was served without a record. */
  readonly onUnrecorded: () => void
  readonly log: Log
}

/** The guarded calls between the hooks. */
export interface GuardedCalls {
  readonly options: RecordOptions
  readonly calls: WeakMap<FastifyRequest, GuardedCall>
}

/** The state of one call between the hooks. */
export interface GuardedCall {
  readonly startedMs: number
  readonly channel: Channel
  /** Set once the credential is verified, even if it is refused. */
  party: Party | null
  refusal: { readonly code: string; readonly explanation: Explanation } | null
  /** The call's share of its limits and units. */
  admitted: AdmittedCall | null
}

/** Errors that are recorded as refusals. A call with any other error is recorded as served. */
const VIOLATIONS = new Set(['payload_invalid', 'payload_too_large', 'media_type_unsupported'])

/** Marks a call whose body or query breaks the contract as refused, which is a Protection Violation as at the gateway. */
export function noteViolation(guard: GuardedCalls, request: FastifyRequest, error: Error): void {
  const call = guard.calls.get(request)
  if (call === undefined || call.refusal !== null || request.caller === null) return
  const { code, message: detail, errors } = toProblem(error)
  if (VIOLATIONS.has(code)) call.refusal = { code, explanation: { detail, errors } }
}

/** Returns the payload to send: the answer after its record is safe, or a problem document. */
export async function recordAnswer(
  guard: GuardedCalls,
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): Promise<unknown> {
  try {
    // A read ends with an error when its client leaves, which is no failure of this service.
    const isAborted = reply.raw.destroyed && reply.statusCode >= 500
    await recordServed(guard, request, isAborted ? STATUS_CLIENT_GONE : reply.statusCode)
    return payload
  } catch (cause) {
    // An error thrown here would run this hook again and record the call a second time.
    guard.options.log.error(
      { err: cause, requestId: request.id },
      'platform call could not be recorded; the response is 503',
    )
    guard.calls.get(request)?.admitted?.giveBack()
    reply.removeHeader('WWW-Authenticate')
    return writeProblem(request, reply, toProblem(cause instanceof Error ? cause : new Error(String(cause))))
  }
}

/** Records a call; throws if it has no record and must not be answered. */
export async function recordServed(guard: GuardedCalls, request: FastifyRequest, status: number): Promise<void> {
  try {
    await recordCall(guard, request, status)
  } catch (cause) {
    const call = guard.calls.get(request)
    const isServed = call !== undefined && call.refusal === null && status < 500
    if (!isServed || guard.options.cannotRecord() === null) throw cause
    guard.options.onUnrecorded()
  }
}

async function recordCall({ options, calls }: GuardedCalls, request: FastifyRequest, status: number): Promise<void> {
  const call = calls.get(request)
  if (call === undefined) return
  const { operation } = request.routeOptions.config
  const { party, refusal, startedMs, admitted, channel } = call
  // As at the gateway, a call that was refused or that failed on the server's side costs no units.
  const isServed = refusal === null && status < 500
  if (!isServed) admitted?.giveBack()
  const terms = admitted === null || isServed ? admitted?.terms : { ...admitted.terms, unitsMicro: 0 }
  await options.record({
    terms: terms ?? null,
    operationId: operation?.operationId ?? '',
    channel,
    party,
    status,
    code: refusal?.code ?? 'served',
    startedMs,
    requestId: request.id,
    explanation: refusal?.explanation ?? null,
  })
}

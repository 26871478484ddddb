/** A call whose operation is known, with everything that the later stages read. */

import type { Stage } from '../../foundation/domain/explanation.ts'
import type { Call } from './call.ts'
import type { CompiledOperation, CompiledRevision } from './revision.ts'
import type { ValidationFailure } from '../validation/validation-failure.ts'
import type { OperationRequest } from '../routing/operation-request.ts'
import type { RouteMatch } from '../routing/route-table.ts'
import type { CallerContext } from './caller-context.ts'
import type { RequestHeaders } from '../headers/upstream-request.ts'

/** A response that was not relayed. */
export interface ReceivedResponse {
  readonly status: number
  readonly contentType: string | undefined
  readonly contentEncoding: string | undefined
  readonly body: Buffer
  /** True if the backend sent more than `bytesMax`; `body` is the beginning. */
  readonly isCut: boolean
}

export interface ResponseReceiver {
  readonly bytesMax: number
  /** Must finish the call. */
  receive(response: ReceivedResponse): void
}

export interface RoutedCall {
  readonly call: Call
  readonly revision: CompiledRevision
  readonly operation: CompiledOperation
  readonly match: RouteMatch
  readonly request: OperationRequest
  readonly headers: RequestHeaders
  /** The headers with which the client authenticated. */
  readonly credentials: Pick<RequestHeaders, 'authorization' | 'apiKey'>
  /** Request target after the API's name, byte for byte as the client sent it. */
  readonly target: string
  readonly queryAt: number
  /** The body, if the gateway has made it; null if it is that of the client's request. */
  readonly body: Buffer | null
  /** Why the request of the operation could not be made; refused after the limits. */
  readonly fault: ValidationFailure | null
  /** Receives the response of the backend as a whole; null if it is relayed to the client. */
  readonly receiver: ResponseReceiver | null
  /** Null before authentication, and for anonymous calls of public operations. */
  callerContext: CallerContext | null
}

/** Refuses a call that the client may retry; `stage` is the stage that could not continue. */
export function refuseUnavailable(call: Call, detail: string, stage: Stage = 'record'): void {
  call.refuse('unavailable', detail, { headers: ['Retry-After', '1'], stage })
}

/** Recorded as a failed authentication: anybody can send it, and an invalid payload is a Critical risk. */
export function refuseTwoCredentials(call: Call): void {
  const detail = 'The request repeats Authorization or X-API-Key; send each of them at most once.'
  call.refuse('payload_invalid', detail, { stage: 'route', recordedAs: 'credential_invalid' })
}

export function refuseStale(call: Call): void {
  const detail = 'This node cannot read the registry, so that it does not know whether the call is permitted.'
  call.refuse('registry_stale', detail, { headers: ['Retry-After', '1'] })
}

export function refuseSlowBody(call: Call): void {
  call.refuse('request_timeout', 'The request body did not arrive in time.', { headers: ['Connection', 'close'] })
}

/** A call whose operation is known, with everything that the later stages read. */

import type { Stage } from '../../domain/explanation.ts'
import type { Call } from './call.ts'
import type { CompiledOperation, CompiledRevision } from './revision.ts'
import type { RouteMatch } from '../routing/route-table.ts'
import type { CallerContext } from './caller-context.ts'
import type { RequestHeaders } from '../headers/upstream-request.ts'

export interface RoutedCall {
  readonly call: Call
  readonly revision: CompiledRevision
  readonly operation: CompiledOperation
  readonly match: RouteMatch
  readonly headers: RequestHeaders
  /** Request target after the API's name, byte for byte as the client sent it. */
  readonly target: string
  readonly queryAt: number
  /** Null before authentication, and for anonymous calls of public operations. */
  callerContext: CallerContext | null
}

/** Refuses a call that the client may retry; `stage` is the stage that could not continue. */
export function refuseUnavailable(call: Call, detail: string, stage: Stage = 'record'): void {
  call.refuse('unavailable', detail, { headers: ['Retry-After', '1'], stage })
}

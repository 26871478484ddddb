/** What a call carries from stage to stage. */

import type { Stage } from '../../domain/explanation.ts'
import type { Call } from './call.ts'
import type { CompiledOperation, CompiledRevision } from './revision.ts'
import type { RouteMatch } from '../routing/route-table.ts'
import type { Seat } from './caller-context.ts'
import type { RequestHeaders } from '../headers/upstream-request.ts'

export interface Passage {
  readonly call: Call
  readonly revision: CompiledRevision
  readonly operation: CompiledOperation
  readonly match: RouteMatch
  readonly headers: RequestHeaders
  /** Request target behind the technical name, as it came. */
  readonly target: string
  readonly queryAt: number
  seat: Seat | null
}

/** Refuses a call that may be tried again; `stage` is the one that could not go on. */
export function unavailable(call: Call, detail: string, stage: Stage = 'record'): void {
  call.refuse('unavailable', detail, { headers: ['Retry-After', '1'], stage })
}

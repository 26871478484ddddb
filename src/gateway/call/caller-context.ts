/**
 * A caller at one revision of one API: what would otherwise be worked out again on each of its calls.
 *
 * A seat belongs to a caller object and dies with it; it is made anew when the caller's grant was
 * corrected, the revision was swapped or the declaration changed.
 */

import type { Caller } from '../../plan/caller.ts'
import type { Grant } from '../../plan/grant.ts'
import type { Attribution } from '../../domain/attribution.ts'
import { toAttribution } from './call-attribution.ts'
import { toIdentityHeaders } from '../headers/identity-headers.ts'
import type { Block, CompiledSla } from '../limits/limiter.ts'
import type { CompiledRevision } from './revision.ts'

export interface Seat {
  readonly caller: Caller
  readonly grant: Grant
  readonly revision: CompiledRevision
  readonly sla: CompiledSla | null
  readonly block: Block | null
  readonly identityHeaders: readonly string[]
  /** By position of the operation; filled as they are called. */
  readonly attributions: (Attribution | undefined)[]
}

/**
 * The declaration that a grant is served by: that of its variant, else the API's default one. A product's
 * subscription has one variant for all members, and not every member declares it.
 */
export function variantFor({ variant }: Grant, { slas }: CompiledRevision): string {
  return slas.has(variant) ? variant : ''
}

export function createSeat(caller: Caller, revision: CompiledRevision, block: Block | null): Seat {
  return {
    caller,
    grant: caller.grant,
    revision,
    sla: revision.slas.get(variantFor(caller.grant, revision)) ?? null,
    block,
    identityHeaders: toIdentityHeaders(caller),
    attributions: new Array<Attribution | undefined>(revision.operations.length),
  }
}

/** The attribution of a call of this seat; one object for all calls of one operation. */
export function attributionOf(seat: Seat, position: number): Attribution {
  return (seat.attributions[position] ??= toAttribution(
    seat.revision.plan,
    seat.revision.operations[position]!.plan.operationId,
    seat.caller,
    seat.sla,
  ))
}

/**
 * One caller at one revision of one API, with everything that would otherwise be computed again for each call.
 *
 * A context belongs to its caller object and is garbage-collected with it. It is replaced when the grant of its caller, the
 * revision or the declaration changes.
 */

import type { Caller } from '../../boundary/plan/caller.ts'
import type { Grant } from '../../boundary/plan/grant.ts'
import type { Attribution, Channel } from '../../foundation/domain/attribution.ts'
import { isBound } from '../../boundary/plan/certificate-binding.ts'
import { toAttribution, withRoute } from './call-attribution.ts'
import { toIdentityLines } from '../headers/identity-headers.ts'
import type { Block, CompiledSla } from '../../limits/limiter.ts'
import type { CompiledRevision } from './revision.ts'

export interface CallerContext {
  readonly caller: Caller
  readonly grant: Grant
  readonly revision: CompiledRevision
  readonly sla: CompiledSla | null
  readonly block: Block | null
  /** Whether each call must be checked for a client certificate, because of its credentials or of an operation. */
  readonly needsCertificate: boolean
  /** Headers that name the caller to the backend. */
  readonly identityLines: string
  /** By position of the operation; an entry is filled at the first call of its operation. */
  readonly attributions: (Attribution | undefined)[]
  /** The same for calls over MCP; one more entry for messages that call no operation. */
  readonly mcpAttributions: (Attribution | undefined)[]
}

/**
 * Returns the variant whose declaration applies to a grant: its own variant if the API declares it, otherwise the default one.
 *
 * The subscription of a product has one variant for all member APIs, and some of them may not declare it.
 */
export function variantFor({ variant }: Grant, { slas }: CompiledRevision): string {
  return slas.has(variant) ? variant : ''
}

export function createCallerContext(caller: Caller, revision: CompiledRevision, block: Block | null): CallerContext {
  return {
    caller,
    grant: caller.grant,
    revision,
    sla: revision.slas.get(variantFor(caller.grant, revision)) ?? null,
    block,
    needsCertificate: revision.requiresCertificate || isBound(caller),
    identityLines: toIdentityLines(caller),
    attributions: new Array<Attribution | undefined>(revision.operations.length),
    mcpAttributions: [],
  }
}

/** Returns the attribution of the calls of one operation, the same object for all of them. A position past the last operation stands for none. */
export function attributionOf(context: CallerContext, position: number, channel: Channel = 'http'): Attribution {
  const { attributions, mcpAttributions, revision, caller, sla } = context
  const known = channel === 'mcp' ? mcpAttributions : attributions
  const operation = revision.operations[position]
  const operationId = operation?.plan.operationId ?? ''
  return (known[position] ??= withRoute(toAttribution(revision.plan, operationId, caller, sla, channel), operation))
}

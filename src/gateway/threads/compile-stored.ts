/** Compiles a stored revision with its canary, and changes both together. */

import { canaryScope, createCanaryMatch } from '../../boundary/plan/canary.ts'
import { unpackPlan } from '../../boundary/plan/packed-plan.ts'
import type { SlaPlan } from '../../boundary/plan/sla-plan.ts'
import type { Pace } from '../../foundation/runtime/pace.ts'
import type { UpstreamGates } from '../backend/upstream-gates.ts'
import {
  compileRevision,
  compileSlaFor,
  type CompiledCanary,
  type CompiledRevision,
  type RevisionSettings,
} from '../call/revision.ts'
import type { Limiter } from '../../limits/limiter.ts'
import type { StoredRevision } from '../messages/messages.ts'

export interface CompileOptions {
  readonly limiter: Limiter
  readonly settings: RevisionSettings
}

export async function compileStored(
  { limiter, settings }: CompileOptions,
  { plan, slas }: StoredRevision,
  pace: Pace,
): Promise<CompiledRevision> {
  const active = await compileRevision(await unpackPlan(plan, pace), slas, limiter, settings, pace)
  const { canary, api, memberOfProductIds } = plan
  if (canary === undefined) return active
  const route = await unpackPlan({ ...canary.plan, memberOfProductIds }, pace)
  const revision = await compileRevision(route, slas, limiter, settings, pace)
  return withCanary(active, { revision, matches: createCanaryMatch(api, canary.rule) })
}

/** A token may have the scopes of both revisions, so that each accepts the tokens that were issued for the other. */
export function withCanary(active: CompiledRevision, { revision, matches }: CompiledCanary): CompiledRevision {
  const heldScopes = new Set([...active.allowedScopes, ...revision.allowedScopes])
  return { ...active, heldScopes, canary: { revision: { ...asCanary(revision), heldScopes }, matches } }
}

/** Its responses are compared with its own document, and drifts name it. */
function asCanary(revision: CompiledRevision): CompiledRevision {
  const canaryRevision = revision.plan.revision
  const operations = revision.operations.map((operation) => ({ ...operation, canaryRevision }))
  return { ...revision, operations, reportsUndeclaredOperations: false }
}

/** Applies a change to a revision and to its canary. */
function changeBoth(revision: CompiledRevision, change: (one: CompiledRevision) => CompiledRevision): CompiledRevision {
  const { canary } = revision
  const changed = change(revision)
  return canary === null ? changed : { ...changed, canary: { ...canary, revision: change(canary.revision) } }
}

export function withMembership(revision: CompiledRevision, memberOfProductIds: readonly string[]): CompiledRevision {
  return changeBoth(revision, (one) => ({ ...one, plan: { ...one.plan, memberOfProductIds } }))
}

export function withSlas(revision: CompiledRevision, slas: readonly SlaPlan[], limiter: Limiter): CompiledRevision {
  return changeBoth(revision, (one) => ({
    ...one,
    slas: new Map(slas.map((sla) => [sla.variant, compileSlaFor(one.plan, sla, limiter)])),
  }))
}

/** Sets one declaration, which calls in flight keep as it was. */
export function setSlaOf(revision: CompiledRevision, sla: SlaPlan, limiter: Limiter): void {
  revision.slas.set(sla.variant, compileSlaFor(revision.plan, sla, limiter))
  if (revision.canary !== null) setSlaOf(revision.canary.revision, sla, limiter)
}

export function closeBackends({ backend, canary }: CompiledRevision): void {
  backend?.close()
  canary?.revision.backend?.close()
}

/** The breakers of a canary are its own, also at a target that the active revision has as well. */
export function setGates({ plan, backend, canary }: CompiledRevision, gateOf: UpstreamGates['of']): void {
  backend?.setGates(plan.api, gateOf)
  canary?.revision.backend?.setGates(canaryScope(plan.api), gateOf)
}

export function gateKeysOf(revision: CompiledRevision | undefined): readonly string[] {
  if (revision === undefined) return []
  const { plan, backend, canary } = revision
  return [...(backend?.gateKeys(plan.api) ?? []), ...(canary?.revision.backend?.gateKeys(canaryScope(plan.api)) ?? [])]
}

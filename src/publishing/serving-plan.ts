/**
 * Builds the plan of an active revision for the gateway threads, from the compiled document, its declarations, and
 * the catalogue entry.
 */

import type { SlaPlan } from '../plan/sla-plan.ts'
import type { Document, Registry } from '../store/registry.ts'
import type { ApiBody } from './apis.ts'
import type { BackendRule } from './backend-address.ts'
import { readCompiled } from './compiled-document.ts'
import type { DocumentReader } from './document-reader.ts'
import type { Deployment, ProxyBody } from './proxy-document.ts'
import type { PackedPlan } from '../plan/packed-plan.ts'
import type { RevisionPlan } from '../plan/route-plan.ts'
import type { Specifications } from './specifications.ts'

export interface ActivePlan {
  readonly plan: PackedPlan
  readonly slas: readonly SlaPlan[]
  /** Id of the document. */
  readonly specification: string
}

export interface ServingPlansOptions {
  readonly registry: Registry
  readonly documents: Pick<DocumentReader, 'compile'>
  readonly specifications: Pick<Specifications, 'plansInForce'>
  readonly backendRule: Pick<BackendRule, 'mayBePrivate'>
}

/** Returns the plan of the active revision of `body`, with the state of `entry`. */
export type ServingPlans = (
  proxy: Document<ProxyBody>,
  body: ProxyBody,
  deployment: Deployment,
  entry: ApiBody,
) => Promise<ActivePlan>

export function createServingPlans(options: ServingPlansOptions): ServingPlans {
  const { specifications } = options
  return async ({ tenant }, body, deployment, entry) => {
    const { operationIds, specification } = deployment
    const document = await readCompiled(options, tenant, specification, entry.isMcpOn === true)
    const plan = toPackedPlan(options, { tenant, body }, deployment, entry, document)
    return { plan, slas: await specifications.plansInForce(body.api, operationIds), specification }
  }
}

export function toPackedPlan(
  { backendRule }: Pick<ServingPlansOptions, 'backendRule'>,
  { tenant, body }: Pick<Document<ProxyBody>, 'tenant' | 'body'>,
  { backend, isBackendExempt, transform, allowedScopes }: Deployment,
  entry: ApiBody,
  document: Uint8Array,
): PackedPlan {
  return {
    api: body.api,
    tenant,
    revision: body.actor.context.activeRevision ?? 0,
    state: entry.state === 'Prospect' ? 'Active' : entry.state,
    ...deprecationOf(entry),
    ...(entry.isMcpOn && { isMcpOn: true }),
    ...(entry.cors && { policyCors: entry.cors }),
    backend: { ...backend, mayBePrivate: isBackendExempt === true || backendRule.mayBePrivate(tenant) },
    ...(transform && { transform }),
    allowedScopes,
    memberOfProductIds: body.memberOfProductIds,
    document,
  }
}

function deprecationOf({ deprecatedAt, retirementDate, successor }: ApiBody): Pick<RevisionPlan, 'deprecation'> {
  if (deprecatedAt === undefined || retirementDate === null) return {}
  return { deprecation: { sinceMs: Date.parse(deprecatedAt), retirementMs: Date.parse(retirementDate), successor } }
}

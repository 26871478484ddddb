/**
 * Builds the plan of an active revision for the gateway threads, from the compiled document, its declarations, and
 * the catalogue entry.
 */

import type { SlaPlan } from '../../boundary/plan/sla-plan.ts'
import type { Document, Registry } from '../../storage/store/registry.ts'
import type { ApiBody } from './apis.ts'
import type { BackendRule } from './backend-address.ts'
import { readCompiled } from './compiled-document.ts'
import type { DocumentReader } from './document-reader.ts'
import { canaryOf, type Deployment, type ProxyBody } from './proxy-document.ts'
import { toCanaryPlan, type PackedPlan } from '../../boundary/plan/packed-plan.ts'
import type { RevisionPlan } from '../../boundary/plan/route-plan.ts'
import type { Specifications } from './specifications.ts'

export interface ActivePlan {
  readonly plan: PackedPlan
  readonly slas: readonly SlaPlan[]
  /** Id of the document. */
  readonly specification: string
  /** Id of the document of the canary; missing if there is none. */
  readonly canarySpecification?: string
}

/** The compiled documents of a plan. */
export interface ServedDocuments {
  readonly active: Uint8Array
  /** Null if there is no canary. */
  readonly canary: Uint8Array | null
}

export interface ServingPlansOptions {
  readonly registry: Registry
  readonly documents: Pick<DocumentReader, 'compile'>
  readonly specifications: Pick<Specifications, 'plansInForce'>
  readonly backendRule: Pick<BackendRule, 'mayBePrivate'>
}

/** Returns the plan of the active revision of `body` and of its canary, with the state of `entry`. */
export type ServingPlans = (
  proxy: Document<ProxyBody>,
  body: ProxyBody,
  deployment: Deployment,
  entry: ApiBody,
) => Promise<ActivePlan>

export function createServingPlans(options: ServingPlansOptions): ServingPlans {
  const { specifications } = options
  return async ({ tenant }, body, deployment, entry) => {
    const { specification } = deployment
    const canary = canaryOf(body)
    const read = (id: string): Promise<Uint8Array> => readCompiled(options, tenant, id, entry.isMcpOn === true)
    const documents: ServedDocuments = {
      active: await read(specification),
      canary: canary === null ? null : await read(canary.deployment.specification),
    }
    const plan = toPackedPlan(options, { tenant, body }, deployment, entry, documents)
    const slas = await specifications.plansInForce(body.api, servedOperationIds(body, deployment))
    return { plan, slas, ...specificationsOf(body, deployment) }
  }
}

/** Returns the ids of the documents of a plan. */
export function specificationsOf(
  body: ProxyBody,
  { specification }: Deployment,
): Pick<ActivePlan, 'specification' | 'canarySpecification'> {
  const canary = canaryOf(body)
  return { specification, ...(canary !== null && { canarySpecification: canary.deployment.specification }) }
}

/** Returns the operations of the active revision and of its canary: callers have the same limits at both. */
export function servedOperationIds(body: ProxyBody, { operationIds }: Deployment): readonly string[] {
  const canary = canaryOf(body)
  return canary === null ? operationIds : [...new Set([...operationIds, ...canary.deployment.operationIds])]
}

type Place = Pick<Document<ProxyBody>, 'tenant' | 'body'>

/** Returns the plan of a deployment and of the canary beside it. */
export function toPackedPlan(
  options: Pick<ServingPlansOptions, 'backendRule'>,
  proxy: Place,
  deployment: Deployment,
  entry: ApiBody,
  documents: ServedDocuments,
): PackedPlan {
  const { activeRevision } = proxy.body.actor.context
  const plan = toPlan(options, proxy, deployment, entry, documents.active, activeRevision ?? 0)
  const canary = canaryOf(proxy.body)
  if (canary === null || documents.canary === null) return plan
  const planOfCanary = toPlan(options, proxy, canary.deployment, entry, documents.canary, canary.revision)
  return { ...plan, canary: { rule: canary.rule, plan: toCanaryPlan(planOfCanary) } }
}

function toPlan(
  { backendRule }: Pick<ServingPlansOptions, 'backendRule'>,
  { tenant, body }: Place,
  { backend, isBackendExempt, transform, allowedScopes }: Deployment,
  entry: ApiBody,
  document: Uint8Array,
  revision: number,
): PackedPlan {
  return {
    api: body.api,
    tenant,
    revision,
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

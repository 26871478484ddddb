/** Serves an API without its canary if only the canary cannot be served: the calls of the canary's callers are refused then. */

import { Problem } from '../../foundation/domain/problem.ts'
import { toCanaryPlan } from '../../boundary/plan/packed-plan.ts'
import { toWithheldPlan } from '../../boundary/plan/withheld-plan.ts'
import type { Document } from '../../storage/store/registry.ts'
import { isFromDisk } from '../../storage/store/unwritable.ts'
import type { ApiBody } from './apis.ts'
import { canaryOf, type Deployment, type ProxyBody } from './proxy-document.ts'
import type { ActivePlan, ServingPlans } from './serving-plan.ts'

/** Receives why the canary of an API is withheld on this node. */
export type OnCanaryWithheld = (api: string, cause: unknown) => void

/** An API with the revisions that its plan serves. */
export interface PlanSource {
  readonly proxy: Document<ProxyBody>
  /** The body to serve, which need not be stored yet. */
  readonly body: ProxyBody
  readonly deployment: Deployment
  readonly entry: ApiBody
}

/** Returns the plan with a canary that refuses its calls; null if there is no canary. Reads nothing of the canary's document. */
export async function planWithheldCanary(
  planOf: ServingPlans,
  { proxy, body, deployment, entry }: PlanSource,
): Promise<ActivePlan | null> {
  const { actor, api, memberOfProductIds } = body
  const canary = canaryOf(body)
  if (canary === null) return null
  const context = { ...actor.context, canary: null }
  const active = await planOf(proxy, { ...body, actor: { ...actor, context } }, deployment, entry)
  const { revision, rule } = canary
  // Its tokens stay valid at the active revision.
  const { allowedScopes } = canary.deployment
  const withheld = toWithheldPlan({ api, tenant: proxy.tenant, revision, allowedScopes, memberOfProductIds })
  return { ...active, plan: { ...active.plan, canary: { rule, plan: toCanaryPlan(withheld) } } }
}

/**
 * Applies `use` to the plan, or to that with a withheld canary if this fails because of the canary. Throws the first error
 * if the active revision cannot be served either.
 */
export async function withholdingCanary<Result>(
  planOf: ServingPlans,
  source: PlanSource,
  use: (plan: ActivePlan) => Promise<Result>,
  onWithheld: OnCanaryWithheld = () => {},
): Promise<Result> {
  const { proxy, body, deployment, entry } = source
  try {
    return await use(await planOf(proxy, body, deployment, entry))
  } catch (cause) {
    if (canaryOf(body) === null || isTransient(cause)) throw cause
    const result = await planWithheldCanary(planOf, source)
      .then((plan) => use(plan!))
      .catch(() => {
        throw cause
      })
    onWithheld(body.api, cause)
    return result
  }
}

/** Whether a repetition may succeed, so that nothing is withheld. */
function isTransient(cause: unknown): boolean {
  return isFromDisk(cause) || (cause instanceof Problem && cause.code === 'unavailable')
}

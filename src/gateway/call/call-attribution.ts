/** The attribution of a call: the API and its revision, the attributed party of the credential, and the price in its declaration. */

import type { Caller } from '../../boundary/plan/caller.ts'
import type { RoutePlan } from '../../boundary/plan/route-plan.ts'
import { ANONYMOUS, type Attribution, type Channel } from '../../foundation/domain/attribution.ts'
import type { CompiledSla } from '../../limits/limiter.ts'

/** Returns the attribution; a call without a caller is attributed to its API and tenant only. */
export function toAttribution(
  plan: Pick<RoutePlan, 'tenant' | 'api' | 'revision'>,
  operation: string,
  caller: Pick<Caller, 'grant' | 'agent' | 'person'> | null,
  sla: CompiledSla | null,
  channel: Channel = 'http',
): Attribution {
  const { tenant, api, revision } = plan
  const place = { tenant, api, operation, ...(channel === 'mcp' && { channel }), ...(revision > 0 && { revision }) }
  if (caller === null) return { ...place, ...ANONYMOUS }
  const { grant, agent, person } = caller
  return {
    ...place,
    consumer: grant.consumer,
    consumerName: grant.consumerName,
    subscription: grant.subscription,
    agent,
    person,
    // If this API does not declare the variant, the default declaration applies and sets the price.
    variant: sla?.plan.variant ?? grant.variant,
    currency: sla?.plan.currency ?? '',
    priceMicro: sla?.plan.priceMicro ?? 0,
  }
}

/** Adds the route of the operation, if the process exports telemetry. */
export function withRoute(
  attribution: Attribution,
  operation: { readonly route: string | null } | undefined,
): Attribution {
  if (operation === undefined || operation.route === null) return attribution
  return { ...attribution, route: operation.route }
}

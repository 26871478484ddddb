/** Whom a call is written down to: the party behind its credential, and what its declaration says of the price. */

import type { Caller } from '../../plan/caller.ts'
import type { RoutePlan } from '../../plan/route-plan.ts'
import { ANONYMOUS, type Attribution } from '../../domain/attribution.ts'
import type { CompiledSla } from '../limits/limiter.ts'

/** Without a caller the call is nobody's, but still its API's and tenant's. */
export function toAttribution(
  plan: Pick<RoutePlan, 'tenant' | 'api'>,
  operation: string,
  caller: Pick<Caller, 'grant' | 'agent' | 'person'> | null,
  sla: CompiledSla | null,
): Attribution {
  const place = { tenant: plan.tenant, api: plan.api, operation }
  if (caller === null) return { ...place, ...ANONYMOUS }
  const { grant, agent, person } = caller
  return {
    ...place,
    consumer: grant.consumer,
    consumerName: grant.consumerName,
    subscription: grant.subscription,
    agent,
    person,
    // A variant that is not declared here is served by the default one, and billed by it.
    variant: sla?.plan.variant ?? grant.variant,
    currency: sla?.plan.currency ?? '',
    priceMicro: sla?.plan.priceMicro ?? 0,
  }
}

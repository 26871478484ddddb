/** The gateway as the catalogue sees it: threads, counters and the main thread's own authenticator change together. */

import { PLATFORM_API } from '../domain/platform-api.ts'
import type { GatewayPort } from '../plan/gateway-port.ts'
import type { BackendPlan, RoutePlan } from '../plan/route-plan.ts'
import type { Authenticator } from '../gateway/authentication/authenticate.ts'
import type { Fleet } from '../gateway/threads/fleet-options.ts'
import type { ActiveDeclarations } from '../gateway/limits/active-declarations.ts'
import type { PlatformLimits } from '../self-metering/platform-limits.ts'

export interface GatewayParts {
  readonly fleet: Fleet
  readonly declarations: ActiveDeclarations
  readonly platformLimits: Pick<PlatformLimits, 'setPlan'>
  readonly authenticator: Authenticator
  /** Hears of the backend that an API serves by. */
  readonly onBackend: (tenant: string, api: string, backend: BackendPlan) => void
}

export function createGatewayPort({
  fleet,
  declarations,
  platformLimits,
  authenticator,
  onBackend,
}: GatewayParts): GatewayPort {
  return {
    async prepare(plan, slas) {
      const prepared = await fleet.prepare(plan, slas)
      return {
        abort: () => prepared.abort(),
        async swap() {
          for (const sla of slas) declarations.setPlan(sla)
          await prepared.swap()
          for (const sla of slas) platformLimits.setPlan(sla)
          if (plan.backend !== null) onBackend(plan.tenant, plan.api, plan.backend)
        },
      }
    },
    applySla: (sla) =>
      declarations.change(sla, async () => {
        await fleet.applySla(sla)
        platformLimits.setPlan(sla)
      }),
    async applyGrant(grant) {
      authenticator.applyGrant(grant)
      await fleet.applyGrant(grant)
    },
    applyMembership: (api, productIds) => fleet.applyMembership(api, productIds),
    async revokeToken(token) {
      authenticator.revokeToken(token)
      await fleet.revokeToken(token)
    },
    async applyProviders(providers) {
      authenticator.setProviders(providers)
      await fleet.applyProviders(providers)
    },
  }
}

/** The platform's own API: its tokens are minted at the gateway, its operations are served by this thread. */
export function platformPlan(tenant: string, scopes: readonly string[]): RoutePlan {
  return {
    api: PLATFORM_API,
    tenant,
    revision: 0,
    state: 'Active',
    backend: null,
    allowedScopes: scopes,
    memberOfProductIds: [],
    dialect: '3.1',
    components: {},
    responses: [],
    responseComponents: {},
    operations: [],
  }
}

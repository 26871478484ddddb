/**
 * Implements the gateway port of the control plane: threads, counters and the authenticator of the main
 * thread change together.
 */

import { PLATFORM_API } from '../foundation/domain/platform-api.ts'
import type { GatewayPort } from '../boundary/plan/gateway-port.ts'
import type { Grant } from '../boundary/plan/grant.ts'
import { packDocument, type PackedPlan, type PlanHead } from '../boundary/plan/packed-plan.ts'
import type { BackendPlan } from '../boundary/plan/route-plan.ts'
import { openSecrets } from '../control/publishing/backend-secrets.ts'
import type { Vault } from '../foundation/runtime/vault.ts'
import type { Authenticator } from '../gateway/authentication/authenticate.ts'
import type { GatewayPool } from '../gateway/threads/gateway-pool-options.ts'
import type { ActiveDeclarations } from '../limits/active-declarations.ts'
import type { PlatformLimits } from '../interfaces/platform/self-metering/platform-limits.ts'

export interface GatewayParts {
  readonly gatewayPool: GatewayPool
  /** Decrypts the secrets of backends. */
  readonly vault: Pick<Vault, 'decrypt'>
  readonly declarations: ActiveDeclarations
  readonly platformLimits: Pick<PlatformLimits, 'setPlan'>
  readonly authenticator: Authenticator
  /** Receives each grant, once this thread applies it. */
  readonly onGrant: (grant: Grant) => void
  /** Receives each plan that serves, with its secrets as ciphertexts. */
  readonly onServed: (plan: PlanHead) => void
  /** Receives the backend of each API that is activated. */
  readonly onBackend: (tenant: string, api: string, backend: BackendPlan) => void
  /** Receives the backend of the canary of each API that is activated; null if there is none. */
  readonly onCanary: (tenant: string, api: string, backend: BackendPlan | null) => void
  /** Receives each API that is withdrawn. */
  readonly onWithdrawal: (api: string) => void
}

export function createGatewayPort(parts: GatewayParts): GatewayPort {
  const { gatewayPool, vault, declarations, platformLimits, authenticator } = parts
  const { onGrant, onServed, onBackend, onCanary, onWithdrawal } = parts
  return {
    async prepare(plan, slas) {
      const { tenant, api } = plan
      const opened = openPlan(vault, plan)
      const prepared = await gatewayPool.prepare(opened, slas)
      return {
        abort: () => prepared.abort(),
        async swap() {
          for (const sla of slas) declarations.setPlan(sla)
          await prepared.swap()
          for (const sla of slas) platformLimits.setPlan(sla)
          onServed(plan)
          if (opened.backend === null) return
          onBackend(tenant, api, opened.backend)
          onCanary(tenant, api, opened.canary?.plan.backend ?? null)
        },
      }
    },
    async withdraw(api) {
      await gatewayPool.withdraw(api)
      declarations.remove(api)
      onWithdrawal(api)
    },
    applySla: (sla) =>
      declarations.change(sla, async () => {
        await gatewayPool.applySla(sla)
        platformLimits.setPlan(sla)
      }),
    renumber: (slas) => slas.forEach((sla) => declarations.setPlan(sla)),
    async applyGrants(grants) {
      for (const grant of grants) {
        authenticator.applyGrant(grant)
        onGrant(grant)
      }
      await gatewayPool.applyGrants(grants)
    },
    applyMembership: (api, productIds) => gatewayPool.applyMembership(api, productIds),
    async revokeToken(token) {
      authenticator.revokeToken(token)
      await gatewayPool.revokeToken(token)
    },
    async revokePeople(people) {
      for (const person of people) authenticator.revokePerson(person)
      await gatewayPool.revokePeople(people)
    },
    async applyProviders(providers) {
      authenticator.setProviders(providers)
      await gatewayPool.applyProviders(providers)
    },
  }
}

/** Decrypts the secrets last, so that nothing but the gateway has them. */
function openPlan(vault: Pick<Vault, 'decrypt'>, plan: PackedPlan): PackedPlan {
  const { canary } = plan
  return {
    ...plan,
    backend: openBackend(vault, plan),
    ...(canary && { canary: { ...canary, plan: { ...canary.plan, backend: openBackend(vault, canary.plan) } } }),
  }
}

/** A retired API is never called, and must not need its secrets. */
function openBackend(
  vault: Pick<Vault, 'decrypt'>,
  plan: Pick<PackedPlan, 'tenant' | 'api' | 'state' | 'backend'>,
): BackendPlan | null {
  const { backend, state } = plan
  if (backend === null) return null
  const { tls: _tls, secretHeaders: _secretHeaders, ...rest } = backend
  return state === 'Retired' ? rest : openSecrets(vault, plan, backend)
}

/**
 * The route plan of `platform-v1`: the gateway issues its tokens, this thread serves its operations. Pages of `corsOrigins` may use
 * both.
 */
export function platformPlan(tenant: string, scopes: readonly string[], corsOrigins: readonly string[]): PackedPlan {
  return {
    api: PLATFORM_API,
    tenant,
    revision: 0,
    state: 'Active',
    backend: null,
    allowedScopes: scopes,
    memberOfProductIds: [],
    ...(corsOrigins.length > 0 && { policyCors: { origins: corsOrigins } }),
    document: packDocument({
      dialect: '3.1',
      components: {},
      responses: [],
      responseComponents: {},
      operations: [],
    }),
  }
}

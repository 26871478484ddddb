/**
 * The federated identity providers as one thread knows them: found by the tenant of the API that is
 * called and the exact issuer, so that no tenant's provider can speak at the API of another.
 */

import type { ProviderPlan } from '../catalogue/provider-plan.ts'
import { toVerificationKey, type VerificationKey } from '../catalogue/verification-key.ts'

export interface Provider {
  readonly plan: ProviderPlan
  /** The key that a header names; `'unknown'` where the provider may have published it since. */
  keyFor(kid: unknown, alg: unknown): VerificationKey | 'unknown' | null
}

export interface Providers {
  /** Replaces all at once. */
  set(plans: readonly ProviderPlan[]): void
  find(tenant: string, issuer: string, api: string): Provider | undefined
  /** The tenants that have any. */
  tenants(): readonly string[]
  readonly isEmpty: boolean
}

export function createProviders(): Providers {
  let known = new Map<string, readonly Provider[]>()

  return {
    set(plans) {
      const named = Map.groupBy(plans, ({ tenant, issuer }) => nameOf(tenant, issuer))
      known = new Map(named.entries().map(([name, group]) => [name, group.map(toProvider)]))
    },
    find(tenant, issuer, api) {
      const group = known.get(nameOf(tenant, issuer)) ?? []
      return group.find(({ plan }) => plan.apis.includes(api)) ?? group.find(({ plan }) => plan.apis.length === 0)
    },
    tenants: () => [...known.values()].flatMap(([first]) => (first === undefined ? [] : [first.plan.tenant])),
    get isEmpty() {
      return known.size === 0
    },
  }
}

function toProvider(plan: ProviderPlan): Provider {
  const keys = plan.keys.flatMap((jwk) => toVerificationKey(jwk) ?? [])

  return {
    plan,
    keyFor(kid, alg) {
      if (kid !== undefined && typeof kid !== 'string') return null
      // Without a name there is a choice only where there is one key (OpenID Connect Core, 10.1).
      const named = kid === undefined ? (keys.length === 1 ? keys : []) : keys.filter((key) => key.kid === kid)
      if (named.length === 0) return kid === undefined ? null : 'unknown'
      return named.find(({ algorithms }) => (algorithms as readonly unknown[]).includes(alg)) ?? null
    },
  }
}

/** No two pairs make one text. */
function nameOf(tenant: string, issuer: string): string {
  return JSON.stringify([tenant, issuer])
}

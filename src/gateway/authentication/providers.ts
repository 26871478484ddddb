/**
 * The federated identity providers as one thread knows them: found by the tenant of the API that is
 * called and the exact issuer, so that no tenant's provider can speak at the API of another.
 */

import type { ProviderPlan } from '../../plan/provider-plan.ts'
import { toVerificationKey, type VerificationKey } from '../../plan/verification-key.ts'

export interface Provider {
  readonly plan: ProviderPlan
  /** False from the moment on that it is removed or another word replaces it: what it verified must be verified again. */
  readonly isCurrent: boolean
  /** The key that a header names; `'unknown'` where the provider may have published it since. */
  keyFor(kid: unknown, alg: unknown): VerificationKey | 'unknown' | null
}

export interface Providers {
  /** Replaces all at once, those that say the same excepted; the tenants of which anything has changed. */
  set(plans: readonly ProviderPlan[]): ReadonlySet<string>
  find(tenant: string, issuer: string, api: string): Provider | undefined
  readonly isEmpty: boolean
}

interface Held extends Provider {
  isCurrent: boolean
}

export function createProviders(): Providers {
  /** By the text of their plans: reading a key anew costs 30 µs. */
  let held = new Map<string, Held>()
  let byName = new Map<string, readonly Provider[]>()

  return {
    set(plans) {
      const before = held
      held = new Map(
        plans.map((plan) => {
          const text = JSON.stringify(plan)
          return [text, before.get(text) ?? toProvider(plan)]
        }),
      )
      byName = Map.groupBy(held.values(), ({ plan }) => nameOf(plan.tenant, plan.issuer))
      const gone = [...before].flatMap(([text, provider]) => (held.has(text) ? [] : [provider]))
      for (const provider of gone) provider.isCurrent = false
      const come = [...held].flatMap(([text, provider]) => (before.has(text) ? [] : [provider]))
      return new Set([...gone, ...come].map(({ plan }) => plan.tenant))
    },
    find(tenant, issuer, api) {
      const group = byName.get(nameOf(tenant, issuer)) ?? []
      return group.find(({ plan }) => plan.apis.includes(api)) ?? group.find(({ plan }) => plan.apis.length === 0)
    },
    get isEmpty() {
      return byName.size === 0
    },
  }
}

function toProvider(plan: ProviderPlan): Held {
  const keys = plan.keys.flatMap((jwk) => toVerificationKey(jwk) ?? [])

  return {
    plan,
    isCurrent: true,
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

/**
 * Federated identity providers of one thread, found by the tenant of the called API and the exact issuer.
 *
 * The tenant is part of the look-up, so that the provider of one tenant cannot issue tokens for the APIs of another.
 */

import type { ProviderPlan } from '../../boundary/plan/provider-plan.ts'
import { toVerificationKey, type VerificationKey } from '../../boundary/plan/verification-key.ts'

export interface Provider {
  readonly plan: ProviderPlan
  /** False once the provider is removed or replaced; tokens that it verified must then be verified again. */
  readonly isCurrent: boolean
  /** Returns the key that a token header names; `'unknown'` if the provider may have published it since. */
  keyFor(kid: unknown, alg: unknown): VerificationKey | 'unknown' | null
}

export interface Providers {
  /** Replaces all providers, except those with an unchanged plan. Returns the tenants with a change. */
  set(plans: readonly ProviderPlan[]): ReadonlySet<string>
  find(tenant: string, issuer: string, api: string): Provider | undefined
  readonly isEmpty: boolean
}

interface StoredProvider extends Provider {
  isCurrent: boolean
}

export function createProviders(): Providers {
  /** By the JSON of the plan, so that unchanged providers keep their keys: parsing a key takes 30 µs. */
  let stored = new Map<string, StoredProvider>()
  let byName = new Map<string, readonly Provider[]>()

  return {
    set(plans) {
      const before = stored
      stored = new Map(
        plans.map((plan) => {
          const text = JSON.stringify(plan)
          return [text, before.get(text) ?? toProvider(plan)]
        }),
      )
      byName = Map.groupBy(stored.values(), ({ plan }) => nameOf(plan.tenant, plan.issuer))
      const removed = [...before].flatMap(([text, provider]) => (stored.has(text) ? [] : [provider]))
      for (const provider of removed) provider.isCurrent = false
      const added = [...stored].flatMap(([text, provider]) => (before.has(text) ? [] : [provider]))
      return new Set([...removed, ...added].map(({ plan }) => plan.tenant))
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

function toProvider(plan: ProviderPlan): StoredProvider {
  const keys = plan.keys.flatMap((jwk) => toVerificationKey(jwk) ?? [])

  return {
    plan,
    isCurrent: true,
    keyFor(kid, alg) {
      if (kid !== undefined && typeof kid !== 'string') return null
      // A token may omit the key's name only if the provider has one key (OpenID Connect Core, 10.1).
      const named = kid === undefined ? (keys.length === 1 ? keys : []) : keys.filter((key) => key.kid === kid)
      if (named.length === 0) return kid === undefined ? null : 'unknown'
      return named.find(({ algorithms }) => (algorithms as readonly unknown[]).includes(alg)) ?? null
    },
  }
}

/** Returns a text that differs for different pairs. */
function nameOf(tenant: string, issuer: string): string {
  return JSON.stringify([tenant, issuer])
}

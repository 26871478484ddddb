/** Looks up the scopes that tokens of an API may carry: declared by a revision that serves, and allowed by its proxy. */

import type { Registry } from '../../storage/store/registry.ts'
import { API_KIND } from '../publishing/apis.ts'
import { policyOf, type ApiPolicy } from '../publishing/api-policy.ts'
import { PROXY_KIND, activeDeployment, canaryOf } from '../publishing/proxy-document.ts'

export interface TokenScopes {
  readonly tenant: string
  /** Whether clients of every tenant may subscribe. */
  readonly isShared: boolean
  readonly declared: readonly string[]
  readonly allowed: readonly string[]
  /** The scopes of a token if its request names none; missing: those that are allowed. */
  readonly byDefault?: readonly string[]
  readonly productIds: readonly string[]
  readonly tokenAlgorithm: ApiPolicy['tokenAlgorithm']
}

/** The look-up returns null if there is no such API or it has no active revision. */
export function createTokenScopes({ registry }: { registry: Registry }): (api: string) => Promise<TokenScopes | null> {
  return async (api) => {
    const entry = await registry.get(API_KIND, api)
    if (entry === null) return null
    const { tenant, body } = entry
    const { tokenAlgorithm } = await policyOf(registry, api)
    if (body.ownScopes !== undefined)
      return {
        tenant,
        declared: body.ownScopes,
        allowed: body.ownScopes,
        productIds: [],
        tokenAlgorithm,
        isShared: true,
      }
    const proxy = await registry.find(PROXY_KIND, 'api', api)
    const deployment = proxy === null ? null : activeDeployment(proxy.body)
    if (proxy === null || deployment === null) return null
    const canary = canaryOf(proxy.body)?.deployment
    return {
      tenant,
      declared: union(deployment.declaredScopes, canary?.declaredScopes),
      allowed: union(deployment.allowedScopes, canary?.allowedScopes),
      ...(canary && { byDefault: deployment.allowedScopes }),
      productIds: proxy.body.memberOfProductIds,
      tokenAlgorithm,
      isShared: false,
    }
  }
}

function union(scopes: readonly string[], more: readonly string[] = []): readonly string[] {
  return [...new Set([...scopes, ...more])]
}

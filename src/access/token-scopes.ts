/** Which scopes a token for an API may carry: what its active revision declares and its proxy allows. */

import type { Registry } from '../store/registry.ts'
import { API_KIND } from '../publishing/apis.ts'
import { policyOf, type ApiPolicy } from '../publishing/api-policy.ts'
import { PROXY_KIND, activeDeployment } from '../publishing/proxy-document.ts'

export interface TokenScopes {
  readonly tenant: string
  /** Clients of every tenant may subscribe to it. */
  readonly isShared: boolean
  readonly declared: readonly string[]
  readonly allowed: readonly string[]
  readonly productIds: readonly string[]
  readonly tokenAlgorithm: ApiPolicy['tokenAlgorithm']
}

/** Null where there is no such API, or nothing of it serves. */
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
    const { declaredScopes: declared, allowedScopes: allowed } = deployment
    return { tenant, declared, allowed, productIds: proxy.body.memberOfProductIds, tokenAlgorithm, isShared: false }
  }
}

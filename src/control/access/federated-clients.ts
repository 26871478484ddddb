/**
 * Finds the subscriptions of a federated client at one API, by issuer and client id: to the API itself, and to products
 * that its proxy is a member of.
 */

import type { Document, Registry } from '../../storage/store/registry.ts'
import { CREDENTIAL_KIND, federatedKey, type CredentialBody } from './credential-document.ts'
import type { CredentialName } from '../../boundary/plan/grant.ts'
import { PROXY_KIND } from '../publishing/proxy-document.ts'
import { SUBSCRIPTION_KIND, type SubscriptionBody } from '../subscriptions/document/subscription-document.ts'

export type FederatedName = Omit<CredentialName & { kind: 'federated' }, 'kind'>

export interface FederatedHolding {
  readonly credential: Document<CredentialBody>
  readonly subscription: Document<SubscriptionBody>
}

/** Upper bound of the subscriptions of one federated client. */
const OF_FEDERATED_MAX = 500

export async function federatedHoldings(
  registry: Pick<Registry, 'find' | 'get' | 'list'>,
  { tenant, issuer, clientId, api }: FederatedName,
): Promise<readonly FederatedHolding[]> {
  const where = { federated: federatedKey(tenant, issuer, clientId) }
  const credentials = await registry.list(CREDENTIAL_KIND, { tenant, where, limit: OF_FEDERATED_MAX })
  if (credentials.length === 0) return []
  const proxy = await registry.find(PROXY_KIND, 'api', api)
  const products = proxy?.body.memberOfProductIds ?? []
  const holdings: FederatedHolding[] = []
  for (const credential of credentials) {
    const subscription = await registry.get(SUBSCRIPTION_KIND, credential.body.subscription)
    if (subscription === null) continue
    const { apiProductId } = subscription.body
    const isHere = apiProductId === '' ? subscription.body.api === api : products.includes(apiProductId)
    if (isHere) holdings.push({ credential, subscription })
  }
  return holdings
}

/** Returns whether a holding grants access, or may later: not if it is revoked, rejected, cancelled or expired. */
export function isHeld({ credential, subscription }: FederatedHolding, nowMs: number): boolean {
  const { state, expiresAtMs } = credential.body
  return state === 'Active' && expiresAtMs > nowMs && subscription.body.actor.status !== 'done'
}

/**
 * Computes the grant of a credential from the credential, its subscription, its consumer and its tenant. Shared clients act
 * under a subscription without a credential.
 *
 * The version of a grant is the sum of the revisions of these documents. Each revision only rises, so every change gives a
 * higher version, and an older grant never replaces a newer one.
 */

import { listAll } from '../command/page.ts'
import type { SubscriptionState } from '../subscriptions/document/subscription-machine.ts'
import type { Document, Registry } from '../../storage/store/registry.ts'
import { CONSUMER_KIND } from './consumer-document.ts'
import { CREDENTIAL_KIND, type CredentialBody } from './credential-document.ts'
import { federatedHoldings, type FederatedName } from './federated-clients.ts'
import type { CredentialName, Grant } from '../../boundary/plan/grant.ts'
import { PLATFORM_API } from '../../foundation/domain/platform-api.ts'
import { TENANT_KIND } from './platform-access.ts'
import { SUBSCRIPTION_KIND, type SubscriptionBody } from '../subscriptions/document/subscription-document.ts'

/** Every person may read and change their own account, and a shared client acts for people only. */
export const ACCOUNT_SCOPES = ['me:read', 'me:write']

type Reads = Pick<Registry, 'find' | 'get' | 'list'>

export interface Grants {
  resolve(name: CredentialName): Promise<Grant | null>
  /** Returns the grant and the authentication data of a client, for the OAuth endpoints. */
  clientFor(clientId: string): Promise<Client | null>
}

export interface Client {
  readonly grant: Grant
  /** Hash of the client secret; `''` for a public client. */
  readonly secretHash: string
  readonly redirectUris: readonly string[]
  /** Whether sign-ins with the client give refresh tokens. */
  readonly mayRefresh: boolean
}

export function createGrants({ registry }: { registry: Reads }): Grants {
  /** Read in place of an unknown client, whose answer would otherwise be faster. */
  let latest: Document<CredentialBody> | null = null

  async function byFederated(name: FederatedName): Promise<Grant | null> {
    let best: Grant | null = null
    for (const { credential } of await federatedHoldings(registry, name)) {
      const grant = await toGrant(registry, credential)
      if (grant !== null && (best === null || isBetter(grant, best))) best = grant
    }
    return best
  }

  return {
    async resolve(name) {
      if (name.kind === 'federated') return byFederated(name)
      if (name.kind === 'subscription') {
        const subscription = await registry.get(SUBSCRIPTION_KIND, name.subscription)
        return subscription === null ? null : toSharedGrant(registry, subscription)
      }
      const credential =
        name.kind === 'client'
          ? await registry.find(CREDENTIAL_KIND, 'clientId', name.clientId)
          : await registry.find(CREDENTIAL_KIND, 'keyHash', name.hash)
      return credential === null ? null : toGrant(registry, credential)
    },
    async clientFor(clientId) {
      const found = await registry.find(CREDENTIAL_KIND, 'clientId', clientId)
      if (found !== null) latest = found
      const credential = found ?? latest
      if (credential === null) return null
      const { subscription, secretHash } = credential.body
      const grant = await toGrant(registry, credential)
      const subscribed = await registry.get(SUBSCRIPTION_KIND, subscription)
      if (found === null || grant === null || subscribed === null) return null
      const { redirectUris = [], refreshTokens = false } = subscribed.body
      return { grant, secretHash, redirectUris, mayRefresh: refreshTokens }
    },
  }
}

/** Prefers the higher rank, then the later expiry, because the other grant may have expired already. */
function isBetter(one: Grant, other: Grant): boolean {
  const [more, less] = [rank(one), rank(other)]
  return more === less ? one.expiresAtMs > other.expiresAtMs : more > less
}

/** Ranks active grants above valid ones, and valid grants above the rest. */
function rank({ valid, active }: Grant): number {
  return valid ? (active ? 2 : 1) : 0
}

export async function toGrant(registry: Reads, credential: Document<CredentialBody>): Promise<Grant | null> {
  const subscription = await registry.get(SUBSCRIPTION_KIND, credential.body.subscription)
  const shared = subscription === null ? null : await toSharedGrant(registry, subscription)
  return shared === null ? null : ofCredential(shared, credential)
}

/** Yields the grants of the credentials of a subscription, then its shared grant. */
export async function* grantsOfSubscription(
  registry: Reads,
  subscription: Document<SubscriptionBody>,
): AsyncGenerator<Grant> {
  const shared = await toSharedGrant(registry, subscription)
  if (shared === null) return
  const { id, tenant } = subscription
  for await (const credential of listAll(registry, CREDENTIAL_KIND, { tenant, where: { subscription: id } })) {
    yield ofCredential(shared, credential)
  }
  yield shared
}

function ofCredential(shared: Grant, { id, revision, body }: Document<CredentialBody>): Grant {
  return {
    ...shared,
    credential: id,
    type: body.type,
    valid: body.state === 'Active' && shared.valid,
    expiresAtMs: earlier(body.expiresAtMs, shared.expiresAtMs),
    scopes: body.scopes,
    ...(body.certificateThumbprint !== undefined && { certificateThumbprint: body.certificateThumbprint }),
    version: revision + shared.version,
  }
}

/** Returns the access of people to a subscription through shared clients; null if it has no consumer. */
export async function toSharedGrant(
  registry: Reads,
  { id, tenant, revision, body }: Document<SubscriptionBody>,
): Promise<Grant | null> {
  const consumer = await registry.get(CONSUMER_KIND, body.consumer)
  if (consumer === null) return null
  const owner = await registry.get(TENANT_KIND, tenant)
  const isDisabled = consumer.body.isDisabled === true || owner?.body.isDisabled === true
  const state = body.actor.value as SubscriptionState
  return {
    credential: id,
    type: 'Shared',
    valid: state !== 'Cancelled',
    active: state === 'Active' && !isDisabled,
    expiresAtMs: body.expiresAtMs ?? 0,
    tenant,
    subscription: id,
    consumer: consumer.id,
    consumerName: consumer.body.name,
    consumerKind: consumer.body.kind,
    api: body.api,
    apiProductId: body.apiProductId,
    scopes: body.api === PLATFORM_API ? [...new Set([...body.scopes, ...ACCOUNT_SCOPES])] : body.scopes,
    variant: body.slaVariant,
    version: revision + consumer.revision + (owner?.revision ?? 0),
    subscriptionRevision: revision,
  }
}

/** Returns the earlier of two times; 0 is never. */
function earlier(one: number, other: number): number {
  return one === 0 || other === 0 ? Math.max(one, other) : Math.min(one, other)
}

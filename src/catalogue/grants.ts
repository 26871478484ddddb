/**
 * What a credential opens, worked out from the credential, its subscription and its consumer.
 *
 * The version of a grant is the sum of the revisions it was read from: each only rises, so whatever
 * changed any of them gives a higher number, and an older reading can never replace a newer one.
 */

import type { SubscriptionState } from '../actors/subscription.ts'
import type { Document, Registry } from '../store/registry.ts'
import type { ConsumerBody } from './consumers.ts'
import type { CredentialBody } from './credential-document.ts'
import type { CredentialName, Grant } from './grant.ts'
import type { SubscriptionBody } from './subscription-document.ts'

export interface Grants {
  resolve(name: CredentialName): Promise<Grant | null>
  /** For the token endpoint: the grant and the hash its secret must have. */
  clientFor(clientId: string): Promise<{ readonly grant: Grant; readonly secretHash: string } | null>
}

export function createGrants({ registry }: { registry: Registry }): Grants {
  return {
    async resolve(name) {
      const credential =
        name.kind === 'client'
          ? await registry.find<CredentialBody>('credential', 'clientId', name.clientId)
          : await registry.find<CredentialBody>('credential', 'keyHash', name.hash)
      return credential === null ? null : toGrant(registry, credential)
    },
    async clientFor(clientId) {
      const credential = await registry.find<CredentialBody>('credential', 'clientId', clientId)
      if (credential === null) return null
      const grant = await toGrant(registry, credential)
      return grant === null ? null : { grant, secretHash: credential.body.secretHash }
    },
  }
}

export async function toGrant(
  registry: Registry,
  { id, tenant, revision, body }: Document<CredentialBody>,
): Promise<Grant | null> {
  const subscription = await registry.get<SubscriptionBody>('subscription', body.subscription)
  if (subscription === null) return null
  const consumer = await registry.get<ConsumerBody>('consumer', subscription.body.consumer)
  if (consumer === null) return null
  const state = subscription.body.actor.value as SubscriptionState
  return {
    credential: id,
    type: body.type,
    valid: body.state === 'Active' && state !== 'Cancelled',
    active: state === 'Active',
    expiresAtMs: body.expiresAtMs,
    tenant,
    subscription: subscription.id,
    consumer: consumer.id,
    consumerName: consumer.body.name,
    consumerKind: consumer.body.kind,
    api: subscription.body.api,
    apiProductId: subscription.body.apiProductId,
    scopes: body.scopes,
    variant: subscription.body.slaVariant,
    version: revision + subscription.revision + consumer.revision,
  }
}

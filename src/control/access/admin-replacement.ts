/**
 * Replaces the credentials of the admin: creates a new one and revokes all others in the same commit, which also makes a one-time
 * link for an owner.
 *
 * Runs while no gateway thread of this process does: at startup, on the data folder of a stopped service, or on the registry in
 * PostgreSQL, from which running nodes learn that credentials were revoked.
 */

import type { Clock } from '../../foundation/runtime/clock.ts'
import type { CreateId } from '../../foundation/runtime/ids.ts'
import { StartRefused } from '../../foundation/runtime/start-refused.ts'
import type { Document, Registry, Write } from '../../storage/store/registry.ts'
import { API_KIND } from '../publishing/apis.ts'
import {
  CREDENTIAL_KIND,
  credentialWrite,
  newCredentialWrite,
  type CredentialBody,
  type Secrets,
} from './credential-document.ts'
import { eventWrite } from '../command/event-outbox.ts'
import { restoredOwner } from './owner-link.ts'
import type { Invitation } from './people/one-time-links.ts'
import { newPlatformSubscription, toPlatformCredential } from './platform-access.ts'
import { PLATFORM_API } from '../../foundation/domain/platform-api.ts'
import { SUBSCRIPTION_KIND, type SubscriptionBody } from '../subscriptions/document/subscription-document.ts'

export interface AdminResetOptions extends Secrets {
  readonly registry: Registry
  readonly clock: Pick<Clock, 'nowMs'>
  readonly gatewayUrl: string
}

export interface AdminReset {
  readonly clientId: string
  readonly clientSecret: string
  /** Client ids of the revoked credentials. */
  readonly revoked: readonly string[]
  /** User name of the owner whom the link lets set a password. */
  readonly owner: string
  readonly ownerLink: Invitation
}

export interface Revocations {
  readonly writes: readonly Write[]
  readonly clientIds: readonly string[]
}

/** Upper bound of the subscriptions that the admin has had, and of the credentials of one of them. */
export const ADMIN_DOCUMENTS_MAX = 500

/** Creates a new admin credential and revokes all others of the admin. Throws `StartRefused`. */
export async function resetAdmin(options: AdminResetOptions): Promise<AdminReset> {
  const { registry, vault, createId, clock } = options
  const entry = await registry.get(API_KIND, PLATFORM_API)
  const held = entry === null ? [] : await subscriptionsOfAdmin(registry, entry.tenant)
  const consumer = held[0]?.body.consumer
  if (entry === null || consumer === undefined) {
    throw new StartRefused('the registry has no admin yet; the first start creates one and prints its secret')
  }
  const { tenant } = entry
  const platform = { ...options, clock, tenant, scopes: entry.body.ownScopes ?? [], chosen: null }
  const old: Write[] = []
  const clientIds: string[] = []
  for (const { id } of held) {
    const revocations = await revokeAll(registry, createId, tenant, id)
    await checkKey(options, tenant, id)
    old.push(...revocations.writes)
    clientIds.push(...revocations.clientIds)
  }
  const current = held.find(({ body }) => body.actor.value === 'Active')
  const made =
    current === undefined
      ? newPlatformSubscription(platform, consumer)
      : {
          credential: newCredentialWrite(options, {
            ...toPlatformCredential({ ...platform, scopes: current.body.scopes }),
            subscription: current.id,
          }),
        }
  const { owner, username, ownerLink } = await restoredOwner({ ...options, tenant })
  const writes = [...('subscription' in made ? [made.subscription] : []), made.credential, ...old, owner]
  await registry.commit({ tenant, consumer: 'system' }, 'admin.reset', writes)
  const { clientId, clientSecret } = made.credential.body as CredentialBody
  const secret = vault.decrypt(clientSecret, made.credential.id)
  return { clientId, clientSecret: secret, revoked: clientIds, owner: username, ownerLink }
}

/** The admin's subscriptions to the platform, oldest first. */
export async function subscriptionsOfAdmin(
  registry: Registry,
  tenant: string,
): Promise<readonly Document<SubscriptionBody>[]> {
  // The oldest subscription of the tenant is the admin's.
  const platform = { tenant, where: { api: PLATFORM_API }, limit: 1 }
  const [first] = await registry.list(SUBSCRIPTION_KIND, platform)
  if (first === undefined) return []
  const where = { api: PLATFORM_API, consumer: first.body.consumer }
  return registry.list(SUBSCRIPTION_KIND, { tenant, where, limit: ADMIN_DOCUMENTS_MAX })
}

/** Returns the writes that revoke every active credential of a subscription, with an event for each. */
export async function revokeAll(
  registry: Registry,
  createId: CreateId,
  tenant: string,
  subscription: string,
): Promise<Revocations> {
  const active = (await credentialsOf(registry, tenant, subscription)).filter(({ body }) => body.state === 'Active')
  return {
    clientIds: active.flatMap(({ body }) => (body.clientId === '' ? [] : [body.clientId])),
    writes: active.flatMap(({ id, revision, body }) => [
      credentialWrite(id, tenant, revision, { ...body, state: 'Revoked' }),
      eventWrite(createId, tenant, 'CredentialRevoked', {
        credential: id,
        subscription,
        type: body.type,
        clientId: body.clientId || null,
      }),
    ]),
  }
}

/** Refuses another master key, with which the service could not decrypt the new secret either. */
async function checkKey({ registry, vault }: AdminResetOptions, tenant: string, subscription: string): Promise<void> {
  for (const { id, body } of await credentialsOf(registry, tenant, subscription)) {
    if (body.clientSecret === '') continue
    try {
      vault.decrypt(body.clientSecret, id)
    } catch {
      throw new StartRefused('the master key does not match this registry; set the MASTER_KEY of the service')
    }
  }
}

function credentialsOf(
  registry: Registry,
  tenant: string,
  subscription: string,
): Promise<readonly Document<CredentialBody>[]> {
  return registry.list(CREDENTIAL_KIND, { tenant, where: { subscription }, limit: ADMIN_DOCUMENTS_MAX })
}

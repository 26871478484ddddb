/**
 * Sends the current grants of credentials to every gateway thread.
 *
 * A command that removes access calls one of these functions after its commit and before it returns. Documents are read in batches,
 * so that a consumer with many subscriptions needs little memory.
 */

import { listAll } from '../command/page.ts'
import type { GatewayPort } from '../plan/gateway-port.ts'
import type { Document, Registry } from '../store/registry.ts'
import { SUBSCRIPTION_KIND, type SubscriptionBody } from '../subscriptions/document/subscription-document.ts'
import { CREDENTIAL_KIND, type CredentialBody } from './credential-document.ts'
import { toGrant, toSharedGrant } from './grants.ts'

export interface AnnouncementOptions {
  readonly registry: Registry
  readonly gateway: Pick<GatewayPort, 'applyGrant'>
}

/** Resolves when every thread has the grant of the credential. */
export async function announceCredential(options: AnnouncementOptions, id: string): Promise<void> {
  const credential = await options.registry.get(CREDENTIAL_KIND, id)
  if (credential !== null) await announce(options, credential)
}

/** Resolves when every thread has the grants of the subscription. */
export async function announceSubscription(
  options: AnnouncementOptions,
  tenant: string,
  subscription: string,
): Promise<void> {
  const where = { subscription }
  for await (const credential of listAll(options.registry, CREDENTIAL_KIND, { tenant, where })) {
    await announce(options, credential)
  }
  const current = await options.registry.get(SUBSCRIPTION_KIND, subscription)
  if (current !== null) await announceShared(options, current)
}

/** Resolves when every thread has the grants of the consumer. */
export async function announceConsumer(options: AnnouncementOptions, tenant: string, consumer: string): Promise<void> {
  const where = { consumer }
  for await (const { id, body } of listAll(options.registry, SUBSCRIPTION_KIND, { tenant, where })) {
    if (body.actor.status !== 'done') await announceSubscription(options, tenant, id)
  }
}

/** Resolves when every thread has the grants of the tenant. */
export async function announceTenant(options: AnnouncementOptions, tenant: string): Promise<void> {
  for await (const credential of listAll(options.registry, CREDENTIAL_KIND, { tenant })) {
    if (credential.body.state === 'Active') await announce(options, credential)
  }
  for await (const subscription of listAll(options.registry, SUBSCRIPTION_KIND, { tenant })) {
    if (subscription.body.actor.status !== 'done') await announceShared(options, subscription)
  }
}

async function announce({ registry, gateway }: AnnouncementOptions, credential: Document<CredentialBody>) {
  const grant = await toGrant(registry, credential)
  if (grant !== null) await gateway.applyGrant(grant)
}

async function announceShared({ registry, gateway }: AnnouncementOptions, subscription: Document<SubscriptionBody>) {
  const grant = await toSharedGrant(registry, subscription)
  if (grant !== null) await gateway.applyGrant(grant)
}

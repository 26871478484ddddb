/**
 * Sends the current grants of credentials to every gateway thread.
 *
 * A command that removes access calls one of these functions after its commit and before it returns. A change goes to the threads in
 * one command, and never waits for the grants of others.
 */

import { listAll } from '../command/page.ts'
import type { GatewayPort } from '../../boundary/plan/gateway-port.ts'
import type { Grant } from '../../boundary/plan/grant.ts'
import type { Document, Registry } from '../../storage/store/registry.ts'
import { SUBSCRIPTION_KIND, type SubscriptionBody } from '../subscriptions/document/subscription-document.ts'
import { CREDENTIAL_KIND } from './credential-document.ts'
import { grantsOfSubscription, toGrant } from './grants.ts'

export interface AnnouncementOptions {
  readonly registry: Registry
  readonly gateway: Pick<GatewayPort, 'applyGrants'>
}

/** Grants in one command: the calls of a thread wait for it. */
const GRANTS_MAX = 1_000

/** Resolves when every thread has the grant of the credential. */
export async function announceCredential({ registry, gateway }: AnnouncementOptions, id: string): Promise<void> {
  const credential = await registry.get(CREDENTIAL_KIND, id)
  const grant = credential === null ? null : await toGrant(registry, credential)
  if (grant !== null) await gateway.applyGrants([grant])
}

/** Resolves when every thread has the grants of the subscription. */
export async function announceSubscription({ registry, gateway }: AnnouncementOptions, id: string): Promise<void> {
  const subscription = await registry.get(SUBSCRIPTION_KIND, id)
  if (subscription !== null) await sendGrants(gateway, grantsOfSubscription(registry, subscription))
}

/** Resolves when every thread has the grants of the consumer. */
export async function announceConsumer(options: AnnouncementOptions, tenant: string, consumer: string): Promise<void> {
  await announceAll(options, listAll(options.registry, SUBSCRIPTION_KIND, { tenant, where: { consumer } }))
}

/** Resolves when every thread has the grants of the tenant. */
export async function announceTenant(options: AnnouncementOptions, tenant: string): Promise<void> {
  await announceAll(options, listAll(options.registry, SUBSCRIPTION_KIND, { tenant }))
}

/** Those of subscriptions that have ended give no access any more, and never will. */
async function announceAll(
  { registry, gateway }: AnnouncementOptions,
  subscriptions: AsyncIterable<Document<SubscriptionBody>>,
): Promise<void> {
  async function* grants(): AsyncGenerator<Grant> {
    for await (const subscription of subscriptions) {
      if (subscription.body.actor.status !== 'done') yield* grantsOfSubscription(registry, subscription)
    }
  }
  await sendGrants(gateway, grants())
}

/** Sends grants as they are read, in commands of at most `GRANTS_MAX`. */
export async function sendGrants(gateway: AnnouncementOptions['gateway'], grants: AsyncIterable<Grant>): Promise<void> {
  let batch: Grant[] = []
  for await (const grant of grants) {
    if (batch.push(grant) < GRANTS_MAX) continue
    await gateway.applyGrants(batch)
    batch = []
  }
  if (batch.length > 0) await gateway.applyGrants(batch)
}

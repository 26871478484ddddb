/**
 * Keeps the last client of a tenant that has all platform scopes: without it no program could manage the tenant, and only the operator
 * could make another one.
 */

import { listAll } from '../command/page.ts'
import { PLATFORM_API } from '../../foundation/domain/platform-api.ts'
import { Problem } from '../../foundation/domain/problem.ts'
import { API_KIND } from '../publishing/apis.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Document, Registry, Write } from '../../storage/store/registry.ts'
import {
  SUBSCRIPTION_KIND,
  subscriptionWrite,
  type SubscriptionBody,
} from '../subscriptions/document/subscription-document.ts'
import { CONSUMER_KIND, consumerWrite, type ConsumerBody } from './consumer-document.ts'
import { CREDENTIAL_KIND, credentialWrite, type CredentialBody } from './credential-document.ts'
import { scopesOfTenants } from './own-consumer.ts'

export interface LastAdminOptions {
  readonly registry: Registry
  readonly clock: Pick<Clock, 'nowMs'>
}

interface Admin {
  readonly subscription: Document<SubscriptionBody>
  readonly consumer: Document<ConsumerBody>
  /** Secrets with which it requests tokens. */
  readonly credentials: readonly Document<CredentialBody>[]
}

const CREDENTIALS_MAX = 500

/**
 * Returns unchanged writes of another client with all platform scopes, so that a command that takes its access at the same time fails; none
 * if `subscriptions` is no such client. Throws `Problem('state_conflict')` if there is no other one.
 */
export async function keepAdmin(
  options: LastAdminOptions,
  tenant: string,
  subscriptions: readonly Document<SubscriptionBody>[],
): Promise<readonly Write[]> {
  if (subscriptions.length === 0) return []
  const isAdmin = await adminRule(options.registry, tenant)
  const held = await Promise.all(
    subscriptions.filter(({ body }) => isAdmin(body)).map((subscription) => openAdmin(options, subscription)),
  )
  const taken = held.flatMap((admin) => (admin === null ? [] : [admin.subscription.id]))
  if (taken.length === 0) return []
  const where = { api: PLATFORM_API, state: 'Active' }
  for await (const other of listAll(options.registry, SUBSCRIPTION_KIND, { tenant, where })) {
    if (taken.includes(other.id) || !isAdmin(other.body)) continue
    const admin = await openAdmin(options, other)
    if (admin !== null) return unchanged(admin)
  }
  throw new Problem(
    'state_conflict',
    'This is the last client with all platform scopes of the tenant. Give another client these scopes first.',
    { extensions: { state: 'Active', allowed: [] } },
  )
}

/** Returns the credentials with which the client of a subscription can request tokens. */
export async function usableCredentials(
  { registry, clock }: LastAdminOptions,
  { id: subscription, tenant }: Document<SubscriptionBody>,
): Promise<readonly Document<CredentialBody>[]> {
  const held = await registry.list(CREDENTIAL_KIND, { tenant, where: { subscription }, limit: CREDENTIALS_MAX })
  const nowMs = clock.nowMs()
  return held.filter(({ body }) => body.type === 'OAuth2' && body.state === 'Active' && body.expiresAtMs > nowMs)
}

async function adminRule(registry: Registry, tenant: string): Promise<(body: SubscriptionBody) => boolean> {
  const entry = await registry.get(API_KIND, PLATFORM_API)
  const own = entry?.body.ownScopes ?? []
  const scopes = entry?.tenant === tenant ? own : scopesOfTenants(own)
  return ({ api, actor, scopes: held, expiresAtMs }) => {
    const isLasting = actor.value === 'Active' && expiresAtMs === undefined
    return api === PLATFORM_API && isLasting && scopes.length > 0 && scopes.every((scope) => held.includes(scope))
  }
}

async function openAdmin(options: LastAdminOptions, subscription: Document<SubscriptionBody>): Promise<Admin | null> {
  const consumer = await options.registry.get(CONSUMER_KIND, subscription.body.consumer)
  if (consumer === null || consumer.body.isDisabled === true) return null
  const credentials = await usableCredentials(options, subscription)
  return credentials.length === 0 ? null : { subscription, consumer, credentials }
}

function unchanged({ subscription, consumer, credentials }: Admin): readonly Write[] {
  const { tenant } = subscription
  return [
    subscriptionWrite(subscription.id, tenant, subscription.revision, subscription.body),
    consumerWrite(consumer.id, tenant, consumer.revision, consumer.body),
    ...credentials.map(({ id, revision, body }) => credentialWrite(id, tenant, revision, body)),
  ]
}

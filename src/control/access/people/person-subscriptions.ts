/**
 * Finds the subscription that a person uses through a client without a subscription of its own.
 *
 * A role with consumers lets the person act for these, and a role of the whole tenant for the tenant's own consumer; a person without
 * a role acts for the latter. In the order of the roles, the first consumer with an active subscription to the API counts, the API
 * before the products that it belongs to.
 *
 * A consumer that has never had a subscription to the platform API gets one when the first of its people signs in (ADR 26). One that was
 * cancelled or suspended is not replaced.
 */

import type { KeyedMutex } from '../../command/keyed-mutex.ts'
import { PLATFORM_API } from '../../../foundation/domain/platform-api.ts'
import { isOwnScope } from '../../../foundation/domain/scope-width.ts'
import type { Grant } from '../../../boundary/plan/grant.ts'
import { PROXY_KIND } from '../../publishing/proxy-document.ts'
import type { CreateId } from '../../../foundation/runtime/ids.ts'
import type { Registry } from '../../../storage/store/registry.ts'
import { SUBSCRIPTION_KIND, subscriptionWrite } from '../../subscriptions/document/subscription-document.ts'
import { CONSUMER_KIND, consumerLock } from '../consumer-document.ts'
import { toSharedGrant } from '../grants.ts'
import { approvedPlatformBody, TENANT_KIND } from '../platform-access.ts'
import { USER_KIND, type RoleAssignment } from './user-document.ts'

/**
 * Returns null if no consumer of the person has an active subscription to the API; with `wanted`, one of the person's consumers, if that
 * consumer has none.
 */
export type SubscriptionOfPerson = (
  tenant: string,
  person: string,
  api: string,
  wanted?: string,
) => Promise<Grant | null>

/** Returns the consumers that a person acts for, the preferred one first. */
export type ConsumersOfPerson = (tenant: string, person: string) => Promise<readonly string[]>

export interface PersonSubscriptionsOptions {
  readonly registry: Registry
  readonly createId: CreateId
  readonly mutex: KeyedMutex
  /** All scopes of the platform API. */
  readonly scopes: readonly string[]
}

export function createConsumersOfPerson({ registry }: { readonly registry: Registry }): ConsumersOfPerson {
  return async (tenant, person) => {
    const user = await registry.get(USER_KIND, person)
    if (user?.tenant !== tenant) return []
    const own = (await registry.get(TENANT_KIND, tenant))?.body.ownConsumer
    return [...consumersOf(user.body.roles ?? [], own)]
  }
}

export function createPersonSubscriptions(options: PersonSubscriptionsOptions): SubscriptionOfPerson {
  const { registry } = options
  const consumersOfPerson = createConsumersOfPerson(options)
  return async (tenant, person, api, wanted) => {
    const products = (await registry.find(PROXY_KIND, 'api', api))?.body.memberOfProductIds ?? []
    const targets = [{ api }, ...products.map((product) => ({ product }))]
    const consumers = (await consumersOfPerson(tenant, person)).filter((id) => wanted === undefined || id === wanted)
    for (const consumer of consumers) {
      for (const target of targets) {
        const where = { consumer, state: 'Active', ...target }
        const [subscription] = await registry.list(SUBSCRIPTION_KIND, { tenant, where, limit: 1 })
        const grant = subscription === undefined ? null : await toSharedGrant(registry, subscription)
        if (grant?.active === true) return grant
      }
    }
    return api === PLATFORM_API ? subscribeFirst(options, tenant, consumers) : null
  }
}

/** Subscribes the first consumer that may call and has never been subscribed to the platform API. */
async function subscribeFirst(
  { registry, createId, mutex, scopes }: PersonSubscriptionsOptions,
  tenant: string,
  consumers: readonly string[],
): Promise<Grant | null> {
  for (const id of consumers) {
    const grant = await mutex.runExclusive([consumerLock(id)], async () => {
      const consumer = await registry.get(CONSUMER_KIND, id)
      if (consumer?.tenant !== tenant || consumer.body.isDisabled === true) return null
      const where = { consumer: id, api: PLATFORM_API }
      const [existing] = await registry.list(SUBSCRIPTION_KIND, { tenant, where, limit: 1 })
      // Another of its people may have signed in meanwhile.
      if (existing !== undefined) return toSharedGrant(registry, existing)
      const subscription = createId('sub')
      const body = approvedPlatformBody(id, scopes.filter(isOwnScope))
      const write = subscriptionWrite(subscription, tenant, 0, body)
      await registry.commit({ tenant, consumer: 'system' }, 'portal.subscribe', [write])
      const made = await registry.get(SUBSCRIPTION_KIND, subscription)
      return made === null ? null : toSharedGrant(registry, made)
    })
    if (grant?.active === true) return grant
  }
  return null
}

function consumersOf(roles: readonly RoleAssignment[], own: string | undefined): ReadonlySet<string> {
  const ofTenant = own === undefined ? [] : [own]
  if (roles.length === 0) return new Set(ofTenant)
  return new Set(roles.flatMap(({ consumers = [] }) => (consumers.length === 0 ? ofTenant : consumers)))
}

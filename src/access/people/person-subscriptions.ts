/**
 * Finds the subscription that a person uses through a client without a subscription of its own.
 *
 * A role with consumers lets the person act for these, and a role of the whole tenant for the tenant's own consumer; a person without
 * a role acts for the latter. In the order of the roles, the first consumer with an active subscription to the API counts, the API
 * before the products that it belongs to.
 */

import type { Grant } from '../../plan/grant.ts'
import { PROXY_KIND } from '../../publishing/proxy-document.ts'
import type { Registry } from '../../store/registry.ts'
import { SUBSCRIPTION_KIND } from '../../subscriptions/document/subscription-document.ts'
import { toSharedGrant } from '../grants.ts'
import { TENANT_KIND } from '../platform-access.ts'
import { USER_KIND, type RoleAssignment } from './user-document.ts'

/** Returns null if no consumer of the person has an active subscription to the API. */
export type SubscriptionOfPerson = (tenant: string, person: string, api: string) => Promise<Grant | null>

/** Returns the consumers that a person acts for, the preferred one first. */
export type ConsumersOfPerson = (tenant: string, person: string) => Promise<readonly string[]>

export function createConsumersOfPerson({ registry }: { readonly registry: Registry }): ConsumersOfPerson {
  return async (tenant, person) => {
    const user = await registry.get(USER_KIND, person)
    if (user?.tenant !== tenant) return []
    const own = (await registry.get(TENANT_KIND, tenant))?.body.ownConsumer
    return [...consumersOf(user.body.roles ?? [], own)]
  }
}

export function createPersonSubscriptions({ registry }: { readonly registry: Registry }): SubscriptionOfPerson {
  const consumersOfPerson = createConsumersOfPerson({ registry })
  return async (tenant, person, api) => {
    const products = (await registry.find(PROXY_KIND, 'api', api))?.body.memberOfProductIds ?? []
    const targets = [{ api }, ...products.map((product) => ({ product }))]
    for (const consumer of await consumersOfPerson(tenant, person)) {
      for (const target of targets) {
        const where = { consumer, state: 'Active', ...target }
        const [subscription] = await registry.list(SUBSCRIPTION_KIND, { tenant, where, limit: 1 })
        const grant = subscription === undefined ? null : await toSharedGrant(registry, subscription)
        if (grant?.active === true) return grant
      }
    }
    return null
  }
}

function consumersOf(roles: readonly RoleAssignment[], own: string | undefined): ReadonlySet<string> {
  const ofTenant = own === undefined ? [] : [own]
  if (roles.length === 0) return new Set(ofTenant)
  return new Set(roles.flatMap(({ consumers = [] }) => (consumers.length === 0 ? ofTenant : consumers)))
}

/**
 * Decides what a token may carry that is issued for a person.
 *
 * At the platform API a person has the scopes of their roles; at every other API all scopes of the client. A client without a
 * subscription of its own acts under one of the person's.
 */

import { PLATFORM_API } from '../../../foundation/domain/platform-api.ts'
import { isOwnScope, wideScope } from '../../../foundation/domain/scope-width.ts'
import { isSharedClient, type Grant } from '../../../boundary/plan/grant.ts'
import type { PersonRevocations } from '../person-revocations.ts'
import type { Entitlements } from './entitlements.ts'
import type { SubscriptionOfPerson } from './person-subscriptions.ts'
import type { Person, SignIn } from './sign-in.ts'

export interface PersonGrant {
  /** The grant of the client, or of the subscription that a shared client acts under. */
  readonly grant: Grant
  /** The scopes that the person is entitled to; null: all scopes of the grant. */
  readonly scopes: ReadonlySet<string> | null
  /** The latest revocation of the person, which the token must name. */
  readonly revocation: string
  /** False if access of the person is known to be taken away since; a token that was created meanwhile must not be issued. */
  isCurrent(): boolean
}

export interface PersonAtClient {
  /** The grant of the client. */
  readonly client: Grant
  /** The tenant of the person. */
  readonly tenant: string
  readonly api: string
  readonly person: Pick<Person, 'id' | 'epoch'>
  /** The consumer that the person acts for through a shared client; default: the first one with a subscription. */
  readonly consumer?: string
}

/**
 * Returns null if the person may no longer use the sign-in that `person` comes from, and `unsubscribed` if the client is shared and no
 * consumer of the person is subscribed to the API.
 */
export type GrantPerson = (login: PersonAtClient) => Promise<PersonGrant | 'unsubscribed' | null>

export interface PersonGrantsOptions {
  readonly signIn: Pick<SignIn, 'find'>
  readonly entitlements: Pick<Entitlements, 'ofUser'>
  readonly revocations: Pick<PersonRevocations, 'markOf' | 'latestOf'>
  readonly subscriptionOf: SubscriptionOfPerson
}

export function createPersonGrants(options: PersonGrantsOptions): GrantPerson {
  const { signIn, entitlements, revocations, subscriptionOf } = options

  return async ({ client, tenant, api, person: { id, epoch }, consumer }) => {
    // Read first: a change that is stored after these lines is followed by a revocation that the token does not name.
    const mark = revocations.markOf(id)
    const revocation = await revocations.latestOf(id)
    const current = await signIn.find(tenant, id)
    if (current === null || current.epoch !== epoch) return null
    const grant = isSharedClient(client) ? await subscriptionOf(tenant, id, api, consumer) : client
    if (grant === null) return 'unsubscribed'
    const entitlement = api === PLATFORM_API ? await entitlements.ofUser(tenant, id) : null
    return {
      grant,
      scopes: api === PLATFORM_API ? withOwnWidth(entitlement?.scopes ?? new Set(), grant.scopes) : null,
      revocation,
      isCurrent: () => [mark, revocation].includes(revocations.markOf(id)),
    }
  }
}

/** Adds the own width of scopes that the person has for the tenant, if the client has only the own one. */
function withOwnWidth(entitled: ReadonlySet<string>, ofClient: readonly string[]): ReadonlySet<string> {
  const narrower = ofClient.filter(
    (scope) => isOwnScope(scope) && entitled.has(wideScope(scope)) && !ofClient.includes(wideScope(scope)),
  )
  return new Set([...entitled, ...narrower])
}

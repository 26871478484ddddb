/**
 * Tokens for an API in the name of a person who is signed in to the console: the sign-in opens the platform, and the person may call
 * every API that a consumer of theirs is subscribed to.
 *
 * The token is the one that the person would get by signing in to the API with the same client. It is valid for a minute and gives no
 * refresh token, so that it is not a part of the sign-in: the console uses it for one call and keeps it nowhere.
 */

import type { ConsumersOfPerson } from '../access/people/person-subscriptions.ts'
import type { GrantPerson } from '../access/people/person-grants.ts'
import { PLATFORM_API } from '../../foundation/domain/platform-api.ts'
import { toSharedClientGrant } from '../../boundary/plan/grant.ts'
import { entitledTo, isSubscribed, type ApiScopes, type MintAccessToken } from './access-token.ts'
import type { RefreshGrants } from './refresh-grants.ts'

export interface PersonLogin {
  readonly clientId: string
  readonly refreshToken: string
}

export type PersonToken =
  | { readonly kind: 'token'; readonly text: string }
  /** No consumer of the person is subscribed to the API. */
  | { readonly kind: 'unsubscribed'; readonly consumers: readonly string[] }
  /** The person does not act for the wanted consumer. */
  | { readonly kind: 'foreign' }
  /** The tenant of the person has no such API, or none that serves. */
  | { readonly kind: 'unknown' }
  /** The sign-in gives no more tokens. */
  | { readonly kind: 'ended' }
  | { readonly kind: 'tooLong' }

/** `consumer`: whose subscription is used; default: that of the first consumer of the person that has one. */
export type IssuePersonToken = (login: PersonLogin, api: string, consumer?: string) => Promise<PersonToken>

export interface PersonTokensOptions {
  readonly refreshGrants: Pick<RefreshGrants, 'find' | 'expiryOf'>
  readonly grantPerson: GrantPerson
  readonly consumersOf: ConsumersOfPerson
  readonly scopesOf: (api: string) => Promise<ApiScopes | null>
  readonly mint: MintAccessToken
}

const LIFETIME_SECONDS = 60
const CLIENT_NAME = 'The tollgate console'

export function createPersonTokens(options: PersonTokensOptions): IssuePersonToken {
  const { refreshGrants, grantPerson, consumersOf, scopesOf, mint } = options
  return async ({ clientId, refreshToken }, api, consumer) => {
    const login = (await refreshGrants.find(refreshToken))?.grant
    if (login === undefined || login.clientId !== clientId || refreshGrants.expiryOf(login) === null)
      return { kind: 'ended' }
    const { tenant, person: id, epoch } = login
    const target = api === PLATFORM_API ? null : await scopesOf(api)
    // An API of another tenant is one that does not exist.
    if (target === null || target.tenant !== tenant) return { kind: 'unknown' }
    const client = toSharedClientGrant(tenant, CLIENT_NAME)
    const consumers = await consumersOf(tenant, id)
    if (consumer !== undefined && !consumers.includes(consumer)) return { kind: 'foreign' }
    const wanted = consumer === undefined ? {} : { consumer }
    const granted = await grantPerson({ client, tenant, api, person: { id, epoch }, ...wanted })
    if (granted === null) return { kind: 'ended' }
    if (granted === 'unsubscribed' || !isSubscribed(granted.grant, api, target))
      return { kind: 'unsubscribed', consumers: consumer === undefined ? consumers : [consumer] }
    const token = mint({
      ...{ api, clientId, scope: null, opensUserinfo: false, lifetimeSeconds: LIFETIME_SECONDS },
      target: entitledTo(target, granted.scopes),
      grant: granted.grant,
      person: { id, revocation: granted.revocation },
    })
    if (token === null) return { kind: 'tooLong' }
    return granted.isCurrent() ? { kind: 'token', text: token.text } : { kind: 'ended' }
  }
}

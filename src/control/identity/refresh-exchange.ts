/**
 * `grant_type=refresh_token` (RFC 6749, 6): each use gives a new access token and replaces the refresh token.
 *
 * A token that was replaced is in two hands: its second use ends the grant, and every gateway thread refuses the access tokens of the
 * grant before the answer (RFC 9700, 4.14.2). There is no grace period, so that a client whose answer was lost asks the person to
 * sign in again. A session of this service keeps the tokens in the same commit (`TokenKeeper`), so that one of its concurrent renewals succeeds,
 * and the others end nothing. Scopes are computed anew at each use and never exceed those of the sign-in.
 */

import type { GrantPerson } from '../access/people/person-grants.ts'
import { entitledTo, isSubscribed, LIFETIME_SECONDS, type MintAccessToken } from './access-token.ts'
import { isSharedClient } from '../../boundary/plan/grant.ts'
import { answer, refuse, signalled, type OauthAnswer } from '../../boundary/plan/oauth-call.ts'
import type { FoundGrant, RefreshGrant, RefreshGrants } from './refresh-grants.ts'
import { bearer, tooLong, unsubscribed, type IssueToken, type TokenRequest } from './token-grants.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'

export interface RefreshExchangeOptions {
  readonly mint: MintAccessToken
  readonly refreshGrants: Pick<RefreshGrants, 'find' | 'expiryOf' | 'rotate' | 'end'>
  readonly grantPerson: GrantPerson
  /** Called when a token that was replaced is used again. */
  readonly onReuse: (grant: RefreshGrant) => void
  readonly clock: Pick<Clock, 'nowMs'>
}

/** Live access tokens of a grant. More are refused, because the end of the grant revokes each of them. */
const ACCESS_TOKENS_MAX = 60
/** Scopes that concern the sign-in and not the API. */
const LOGIN_SCOPES = ['openid', 'profile', 'offline_access']

export function createRefreshExchange(options: RefreshExchangeOptions): IssueToken {
  const { refreshGrants, clock } = options

  return async (request) => {
    const { client, values } = request
    const text = values.get('refresh_token')
    if (text === undefined) return refuse('invalid_request', 'refresh_token is missing.')
    const found = await refreshGrants.find(text)
    if (found === null || !isBoundTo(found.grant, request)) return invalidToken()
    if (!found.isInForce) return refuseUsed(options, request, found.grant)
    if (refreshGrants.expiryOf(found.grant) === null) return invalidToken()
    if (!client.mayRefresh) return refuse('unauthorized_client', 'The client may no longer use refresh tokens.')
    const scope = values.get('scope') ?? found.grant.scope
    if (!isWithin(scope, found.grant.scope)) {
      return refuse('invalid_scope', 'scope must not contain scopes that the sign-in did not give.')
    }
    const waitMs = waitOf(found.grant, clock.nowMs())
    return waitMs === 0 ? exchange(options, request, found, scope) : tooMany(waitMs)
  }
}

async function exchange(
  options: RefreshExchangeOptions,
  request: TokenRequest,
  found: FoundGrant,
  scope: string,
): Promise<OauthAnswer> {
  const { mint, refreshGrants, grantPerson } = options
  const { api, target, client, keeper, certificate } = request
  const { clientId } = client
  const { id, tenant, person: personId, epoch, opensUserinfo } = found.grant
  const person = { id: personId }
  const granted = await grantPerson({ client: client.grant, tenant, api, person: { ...person, epoch } })
  if (granted === null) return invalidToken()
  if (granted === 'unsubscribed' || !isSubscribed(granted.grant, api, target)) return unsubscribed(api)
  const { grant } = granted
  const entitled = entitledTo(target, granted.scopes)
  const subject = { ...person, revocation: granted.revocation }
  const token = mint({ api, target: entitled, grant, clientId, scope, person: subject, opensUserinfo, certificate })
  if (token === null) return tooLong()
  const keep =
    keeper === undefined
      ? undefined
      : (refresh: string) => keeper.writeOf({ access: token.text, refresh, lifetimeMs: LIFETIME_SECONDS * 1_000 })
  const next = await refreshGrants.rotate(found, { jti: token.jti, expiresAtMs: token.expiresAtMs }, keep)
  if (next === null) return refuseUsed(options, request, found.grant)
  if (granted.isCurrent()) return bearer(token, { refresh_token: next })
  // Access was taken away meanwhile, and the client does not learn the new refresh token.
  await refreshGrants.end({ tenant, consumer: 'system', person: personId }, id)
  return invalidToken()
}

function isBoundTo(grant: RefreshGrant, { api, client, certificate }: TokenRequest): boolean {
  if (grant.certificate !== undefined && grant.certificate !== certificate) return false
  return grant.clientId === client.clientId && grant.api === api
}

/** Refuses a token that was used before. Unless it is the keeper who was faster than this request, it is in two hands. */
async function refuseUsed(
  { refreshGrants, onReuse }: RefreshExchangeOptions,
  { api, client, keeper }: TokenRequest,
  grant: RefreshGrant,
): Promise<OauthAnswer> {
  // Read after the grant: both change in one commit, so that an old token with an unchanged keeper was used by someone else.
  if (keeper !== undefined && (await keeper.hasChanged())) return replaced()
  const { id, tenant, person } = grant
  onReuse(grant)
  await refreshGrants.end({ tenant, consumer: client.grant.consumer || 'system', person }, id, 'refresh_grant.reuse')
  const subject = isSharedClient(client.grant) ? null : client.grant
  return signalled(invalidToken(), { api, outcome: 'credential_invalid', grant: subject })
}

function isWithin(scope: string, given: string): boolean {
  const allowed = new Set([...given.split(' '), ...LOGIN_SCOPES, ''])
  return scope.split(' ').every((each) => allowed.has(each))
}

/** Returns the time until the grant may give another access token; 0: now. */
function waitOf({ gave }: RefreshGrant, nowMs: number): number {
  const live = gave.filter(({ expiresAtMs }) => expiresAtMs > nowMs)
  return live.length < ACCESS_TOKENS_MAX ? 0 : Math.min(...live.map(({ expiresAtMs }) => expiresAtMs)) - nowMs
}

function tooMany(waitMs: number): OauthAnswer {
  const body = {
    error: 'temporarily_unavailable',
    error_description: `This session has ${ACCESS_TOKENS_MAX} access tokens that are still valid; use one of them.`,
  }
  return answer(429, body, { 'Retry-After': String(Math.ceil(waitMs / 1_000)) })
}

function replaced(): OauthAnswer {
  return refuse('invalid_grant', 'The refresh token was replaced by a concurrent renewal of the same session.', 409)
}

/** The same answer for every fault, so that it reveals nothing about tokens of other clients. */
function invalidToken(): OauthAnswer {
  return refuse(
    'invalid_grant',
    'The refresh token is invalid, expired or used before, or it was issued for another client or API.',
  )
}

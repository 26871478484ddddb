/**
 * Mints access tokens (RFC 9068) for exactly one API.
 *
 * A token carries the requested scopes that the credential was granted, the API declares and its proxy allows (RFC 6749,
 * 3.3); other scopes are dropped. If none is requested while the API has a canary, the scopes are those of the active
 * revision, so that the token stays valid if the canary is discarded. `sub` is the consumer, or the person on whose
 * behalf the client calls. If that client is an agent, `act` names it (RFC 8693, 4.1). A token for a person names their
 * latest revocation. `shared_client` marks a token that acts under a subscription of the person.
 */

import { REVOCATION_CLAIM } from '../../boundary/plan/gateway-port.ts'
import { isSharedClient, type Grant } from '../../boundary/plan/grant.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { CreateId } from '../../foundation/runtime/ids.ts'
import type { KeyRing, TokenAlgorithm } from './key-ring.ts'

/** The scopes and subscribers of an API, as far as its tokens depend on them. */
export interface ApiScopes {
  readonly tenant: string
  /** Whether clients of every tenant may subscribe, as to the platform API. */
  readonly isShared?: boolean
  readonly declared: readonly string[]
  readonly allowed: readonly string[]
  /** The scopes of a token if the request names none; default: those that are allowed. */
  readonly byDefault?: readonly string[]
  readonly productIds: readonly string[]
  /** Default: ES256. */
  readonly tokenAlgorithm?: TokenAlgorithm
}

export interface AccessTokenRequest {
  readonly api: string
  readonly target: ApiScopes
  readonly grant: Grant
  readonly clientId: string
  /** The `scope` of the request; null if none was sent. */
  readonly scope: string | null
  /** The person on whose behalf the client calls; null if it acts for itself. */
  readonly person: { readonly id: string; readonly revocation: string } | null
  /** Whether the userinfo endpoint accepts the token. */
  readonly opensUserinfo: boolean
  /** Thumbprint of the client certificate that the token is bound to (RFC 8705, 3.1); missing if it is not bound. */
  readonly certificate?: string | undefined
  /** Default: an hour. */
  readonly lifetimeSeconds?: number
}

export interface AccessToken {
  readonly text: string
  readonly scope: string
  readonly jti: string
  readonly expiresAtMs: number
}

/** Returns null if the header line of the token would be too long for servers in between. */
export type MintAccessToken = (request: AccessTokenRequest) => AccessToken | null

export interface AccessTokenOptions {
  readonly keyRing: Pick<KeyRing, 'sign'>
  readonly clock: Pick<Clock, 'nowMs'>
  readonly createId: CreateId
  readonly gatewayUrl: string
}

export const LIFETIME_SECONDS = 3_600
const HEADER_BYTES_MAX = 8_000

export function createAccessTokens({ keyRing, clock, createId, gatewayUrl }: AccessTokenOptions): MintAccessToken {
  return (request) => {
    const { api, target, grant, clientId, scope: requested, person, opensUserinfo, certificate } = request
    const scope = scopesFor(grant, target, requested).join(' ')
    const iat = Math.floor(clock.nowMs() / 1_000)
    const exp = iat + (request.lifetimeSeconds ?? LIFETIME_SECONDS)
    const jti = createId('tok')
    const claims = {
      iss: `${gatewayUrl}/${api}`,
      sub: person?.id ?? grant.consumer,
      client_id: clientId,
      aud: api,
      scope,
      tenant: grant.tenant,
      subscription: grant.subscription,
      ...(grant.type === 'Shared' && { shared_client: true }),
      ...(grant.apiProductId !== '' && { ApiProductId: grant.apiProductId }),
      ...(person !== null && grant.consumerKind === 'agent' && { act: { sub: grant.consumer } }),
      ...(person !== null && { [REVOCATION_CLAIM]: person.revocation }),
      ...(opensUserinfo && { openid: true }),
      ...(certificate !== undefined && { cnf: { 'x5t#S256': certificate } }),
      iat,
      nbf: iat,
      exp,
      jti,
    }
    const text = keyRing.sign(claims, target.tokenAlgorithm ?? 'ES256', 'at+jwt')
    if (`Authorization: Bearer ${text}\r\n`.length > HEADER_BYTES_MAX) return null
    return { text, scope, jti, expiresAtMs: exp * 1_000 }
  }
}

/** Returns the scopes of a token without duplicates, in the order of the grant. */
export function scopesFor(
  grant: Pick<Grant, 'scopes'>,
  { declared, allowed, byDefault = allowed }: Pick<ApiScopes, 'declared' | 'allowed' | 'byDefault'>,
  requested: string | null,
): string[] {
  const asked = new Set(requested === null ? byDefault : requested.split(' '))
  return [...new Set(grant.scopes)].filter(
    (scope) => declared.includes(scope) && allowed.includes(scope) && asked.has(scope),
  )
}

/**
 * Returns whether the grant's subscription is active and covers this API, directly or through a product. The person decides the
 * subscription of a shared client, so such a client may ask people for every API.
 */
export function isSubscribed(grant: Grant, api: string, { tenant, isShared, productIds }: ApiScopes): boolean {
  if (isSharedClient(grant)) return true
  if (!grant.active || (grant.tenant !== tenant && isShared !== true)) return false
  return grant.apiProductId === '' ? grant.api === api : productIds.includes(grant.apiProductId)
}

/** Returns the scopes of an API without those that the person is not entitled to; null: all scopes of the grant. */
export function entitledTo<Scopes extends Pick<ApiScopes, 'allowed'>>(
  target: Scopes,
  scopes: ReadonlySet<string> | null,
): Scopes {
  return scopes === null ? target : { ...target, allowed: target.allowed.filter((scope) => scopes.has(scope)) }
}

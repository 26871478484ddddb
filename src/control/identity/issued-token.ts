/**
 * Verifies access tokens that this service has issued, for the OAuth endpoints that receive them.
 *
 * `read` checks the signature and the issuer, and refuses a token that has expired by the clocks of all nodes. So one that another
 * node accepts can be revoked here. `live` also checks the time, credential, subscription and revocation.
 */

import { createLocalJWKSet, jwtVerify } from 'jose'
import { REVOCATION_CLAIM } from '../../boundary/plan/gateway-port.ts'
import type { CredentialName, Grant } from '../../boundary/plan/grant.ts'
import { CLOCK_MARGIN_MS, type Clock } from '../../foundation/runtime/clock.ts'
import { isSubscribed, scopesFor, type ApiScopes } from './access-token.ts'
import type { KeyRing } from './key-ring.ts'

export interface IssuedToken {
  readonly iss: string
  readonly sub: string
  readonly aud: string
  readonly client_id: string
  readonly scope: string
  readonly jti: string
  readonly iat: number
  readonly nbf: number
  readonly exp: number
  readonly act?: { readonly sub: string }
  readonly openid?: boolean
  readonly tenant: string
  readonly subscription: string
  readonly shared_client?: boolean
  readonly [REVOCATION_CLAIM]?: string
  /** The client certificate that the token is bound to (RFC 8705, 3.1). */
  readonly cnf?: { readonly 'x5t#S256': string }
}

export interface LiveToken {
  readonly token: IssuedToken
  readonly grant: Grant
  /** The scopes of the token that its credential still holds and its API still allows. */
  readonly scope: string
}

export interface IssuedTokens {
  /** Returns a token of this API with a valid signature that some node may accept; null for anything else. */
  read(text: string, api: string): Promise<IssuedToken | null>
  /** Returns null if the token is no longer accepted. */
  live(token: IssuedToken): Promise<LiveToken | null>
}

export interface IssuedTokensOptions {
  readonly keyRing: Pick<KeyRing, 'publicKeys'>
  readonly grantOf: (name: CredentialName) => Promise<Grant | null>
  readonly scopesOf: (api: string) => Promise<ApiScopes | null>
  readonly isRevoked: (token: Pick<IssuedToken, 'jti' | 'sub' | typeof REVOCATION_CLAIM>) => boolean
  readonly clock: Pick<Clock, 'nowMs'>
  readonly gatewayUrl: string
}

const TOKEN_LENGTH_MAX = 12_288

export function createIssuedTokens(options: IssuedTokensOptions): IssuedTokens {
  const { keyRing, grantOf, scopesOf, isRevoked, clock, gatewayUrl } = options

  return {
    async read(text, api) {
      if (text.length > TOKEN_LENGTH_MAX) return null
      try {
        const { payload } = await jwtVerify<IssuedToken>(
          text,
          createLocalJWKSet({ keys: [...keyRing.publicKeys().keys] }),
          {
            algorithms: ['ES256', 'RS256'],
            typ: 'at+jwt',
            issuer: `${gatewayUrl}/${api}`,
            audience: api,
            currentDate: new Date(clock.nowMs()),
            clockTolerance: CLOCK_MARGIN_MS / 1_000,
            requiredClaims: ['sub', 'client_id', 'jti', 'exp', 'scope'],
          },
        )
        return payload
      } catch {
        // The caller does not learn what is wrong with the token.
        return null
      }
    },
    async live(token) {
      const nowMs = clock.nowMs()
      if (token.exp * 1_000 <= nowMs) return null
      const grant = await grantOf(nameOf(token))
      const target = await scopesOf(token.aud)
      if (grant === null || target === null || isRevoked(token)) return null
      const isPast = grant.expiresAtMs !== 0 && grant.expiresAtMs <= nowMs
      if (!grant.valid || isPast || !isSubscribed(grant, token.aud, target)) return null
      return { token, grant, scope: scopesFor(grant, target, token.scope).join(' ') }
    },
  }
}

function nameOf({ client_id: clientId, shared_client: isShared, subscription }: IssuedToken): CredentialName {
  return isShared === true ? { kind: 'subscription', subscription } : { kind: 'client', clientId }
}

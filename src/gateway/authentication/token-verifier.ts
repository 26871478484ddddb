/**
 * Verifies tokens with the keys of their issuer: this gateway or a federated provider.
 *
 * `iss` alone selects the issuer. An `iss` under the address of the gateway is always the gateway, even if a provider
 * is registered with such an issuer. If a token names an unknown key, the keys of its provider are fetched once; the
 * token is refused if they do not include it.
 */

import type { CredentialName } from '../../boundary/plan/grant.ts'
import { verifyFederatedToken } from './federated-token.ts'
import { readJwt, type Jwt } from './jwt.ts'
import type { KeyRefetch } from './key-refetch.ts'
import type { Provider, Providers } from './providers.ts'
import { createRefusal, refuseUnverified, type Refusal } from './credential-refusal.ts'
import { toCredentialName, toVerifiedToken, verifyOwnToken, type TokenKeys } from './own-token.ts'
import type { VerifiedToken } from './verified-token.ts'
import type { CountEvent } from '../../foundation/runtime/event-reasons.ts'

export interface Verified {
  readonly token: VerifiedToken
  /** Credential that the token was issued to. */
  readonly name: CredentialName
}

export interface TokenVerifierOptions {
  readonly gatewayUrl: string
  readonly tokenKeys: TokenKeys
  readonly providers: Providers
  readonly refetch: KeyRefetch
  /** Null if the API is unknown. */
  readonly tenantOf: (api: string) => string | null
  readonly count: CountEvent
}

export interface TokenVerifier {
  /** Returns a promise only if the keys of the issuer must be fetched. */
  (text: string, api: string): Verified | Refusal | Promise<Verified | Refusal>
}

const OTHER_ISSUER = refuseUnverified('This API does not accept tokens of this issuer.')
const UNKNOWN_KEY = refuseUnverified('The token is signed with an unknown key.')

export function createTokenVerifier(options: TokenVerifierOptions): TokenVerifier {
  const { gatewayUrl, tokenKeys, providers, refetch, tenantOf, count } = options

  function verifyOwn(jwt: Jwt): Verified | Refusal {
    const result = verifyOwnToken(jwt, gatewayUrl, tokenKeys)
    if ('fault' in result) return refuseUnverified(result.fault)
    const { claims } = result
    return { token: toVerifiedToken(claims), name: toCredentialName(claims) }
  }

  function verifyFederated(jwt: Jwt, provider: Provider, api: string): Verified | Refusal | 'unknown_key' {
    const result = verifyFederatedToken(jwt, provider, api)
    if (result === 'unknown_key') return result
    if ('fault' in result) return refuseUnverified(result.fault)
    const { tenant, issuer } = provider.plan
    return { token: result.token, name: { kind: 'federated', tenant, issuer, clientId: result.clientId, api } }
  }

  async function verifyWithFetchedKey(jwt: Jwt, { plan }: Provider, api: string): Promise<Verified | Refusal> {
    try {
      await refetch(plan.id)
    } catch {
      count('refetch_failed')
      return createRefusal('unavailable', 'The keys of the issuer cannot be fetched at the moment.')
    }
    // The provider is looked up again even without a change: another call may have fetched its keys before.
    const provider = providers.find(plan.tenant, plan.issuer, api)
    const result = provider === undefined ? 'unknown_key' : verifyFederated(jwt, provider, api)
    return result === 'unknown_key' ? UNKNOWN_KEY : result
  }

  function isOwnIssuer(issuer: string): boolean {
    return issuer === gatewayUrl || issuer.startsWith(`${gatewayUrl}/`)
  }

  return (text, api) => {
    const jwt = readJwt(text)
    if ('fault' in jwt) return refuseUnverified(jwt.fault)
    const { iss } = jwt.claims
    if (typeof iss !== 'string' || isOwnIssuer(iss) || providers.isEmpty) return verifyOwn(jwt)
    const tenant = tenantOf(api)
    const provider = tenant === null ? undefined : providers.find(tenant, iss, api)
    if (provider === undefined) return OTHER_ISSUER
    const result = verifyFederated(jwt, provider, api)
    return result === 'unknown_key' ? verifyWithFetchedKey(jwt, provider, api) : result
  }
}

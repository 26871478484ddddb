/**
 * Who issued a token, and whether its signature verifies: what it says from then on is known to be said
 * by whom.
 *
 * The issuer is told by `iss` alone: what lies under our own address is ours to sign, whatever a provider
 * is registered as. A token that names a key which is not known has its provider asked once for new ones;
 * what the provider does not publish then, nobody signed with.
 */

import type { CredentialName } from '../../plan/grant.ts'
import { verifyFederatedToken } from './federated-token.ts'
import { readJwt, type Jwt } from './jwt.ts'
import type { KeyRefetch } from './key-refetch.ts'
import type { Provider, Providers } from './providers.ts'
import { invalid, refusal, type Refusal } from './credential-refusal.ts'
import { toVerifiedToken, verifyOwnToken, type TokenKeys } from './own-token.ts'
import type { VerifiedToken } from './verified-token.ts'
import type { CountEvent } from '../../runtime/event-reasons.ts'

export interface Verified {
  readonly token: VerifiedToken
  /** The credential that it was given to. */
  readonly name: CredentialName
}

export interface TokenVerifierOptions {
  readonly gatewayUrl: string
  readonly tokenKeys: TokenKeys
  readonly providers: Providers
  readonly refetch: KeyRefetch
  /** Null where no such API is known. */
  readonly tenantOf: (api: string) => string | null
  readonly count: CountEvent
}

export interface TokenVerifier {
  /** At once, but where keys must be sought. */
  (text: string, api: string): Verified | Refusal | Promise<Verified | Refusal>
}

const OTHER_ISSUER = invalid('The token is of another issuer.')
const UNKNOWN_KEY = invalid('The token is signed by a key that is not known.')

export function createTokenVerifier(options: TokenVerifierOptions): TokenVerifier {
  const { gatewayUrl, tokenKeys, providers, refetch, tenantOf, count } = options

  function own(jwt: Jwt): Verified | Refusal {
    const result = verifyOwnToken(jwt, gatewayUrl, tokenKeys)
    if ('fault' in result) return invalid(result.fault)
    const { claims } = result
    return { token: toVerifiedToken(claims), name: { kind: 'client', clientId: claims.client_id } }
  }

  function federated(jwt: Jwt, provider: Provider, api: string): Verified | Refusal | 'unknown_key' {
    const result = verifyFederatedToken(jwt, provider, api)
    if (result === 'unknown_key') return result
    if ('fault' in result) return invalid(result.fault)
    const { tenant, issuer } = provider.plan
    return { token: result.token, name: { kind: 'federated', tenant, issuer, clientId: result.clientId, api } }
  }

  async function bySoughtKey(jwt: Jwt, { plan }: Provider, api: string): Promise<Verified | Refusal> {
    try {
      await refetch(plan.id)
    } catch {
      count('refetch_failed')
      return refusal('unavailable', 'The keys of the issuer cannot be looked up at the moment.')
    }
    // Whatever brought new keys: another call may have asked before.
    const provider = providers.find(plan.tenant, plan.issuer, api)
    const result = provider === undefined ? 'unknown_key' : federated(jwt, provider, api)
    return result === 'unknown_key' ? UNKNOWN_KEY : result
  }

  function isOurs(issuer: string): boolean {
    return issuer === gatewayUrl || issuer.startsWith(`${gatewayUrl}/`)
  }

  return (text, api) => {
    const jwt = readJwt(text)
    if ('fault' in jwt) return invalid(jwt.fault)
    const { iss } = jwt.claims
    if (typeof iss !== 'string' || isOurs(iss) || providers.isEmpty) return own(jwt)
    const tenant = tenantOf(api)
    const provider = tenant === null ? undefined : providers.find(tenant, iss, api)
    if (provider === undefined) return OTHER_ISSUER
    const result = federated(jwt, provider, api)
    return result === 'unknown_key' ? bySoughtKey(jwt, provider, api) : result
  }
}

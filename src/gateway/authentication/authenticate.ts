/**
 * Authenticates a call by its bearer token, its API key, or both.
 *
 * Verified credentials are cached by their full text, up to a bound, so that a known caller costs one look-up.
 * Whether a credential is still valid is read from its grant at every call. The main thread updates grants: a
 * revoked credential is refused at the next call, also with tokens that have not expired, and no late response
 * revives it (`grant-cache.ts`).
 *
 * A refusal names an attributed party only after a signature verified, or for a known key or client.
 */

import type { CountEvent } from '../../foundation/runtime/event-reasons.ts'
import type { Caller } from '../../boundary/plan/caller.ts'
import type { RevokedPerson, RevokedToken } from '../../boundary/plan/gateway-port.ts'
import type { CredentialName, Grant } from '../../boundary/plan/grant.ts'
import type { JudgeToken } from '../../boundary/plan/judged-token.ts'
import type { ProviderPlan } from '../../boundary/plan/provider-plan.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import { createCallerCache } from './caller-cache.ts'
import { createRefusal, type AuthenticationResult, type Refusal } from './credential-refusal.ts'
import { createGrantCache } from './grant-cache.ts'
import { GrantLookup } from './grant-lookup.ts'
import { KeyAuthentication } from './key-authentication.ts'
import { createKeyRefetch } from './key-refetch.ts'
import { createJudgeToken } from './judge-token.ts'
import type { KnownCaller } from './known-caller.ts'
import { createTokenKeys } from './own-token.ts'
import { createPendingVerifications } from './pending-verifications.ts'
import { createProviders } from './providers.ts'
import { createRevokedPeople } from './revoked-people.ts'
import { createRevokedTokens } from './revoked-tokens.ts'
import { TokenAuthentication } from './token-authentication.ts'
import { createTokenVerifier } from './token-verifier.ts'

export type { Refusal } from './credential-refusal.ts'

export interface Authenticator {
  /** Returns a promise only for a credential that this thread does not know yet. */
  authenticate(authorization: string | undefined, apiKey: string | undefined, api: string): AuthenticationResult
  /** Notes that the caller uses its credential, or both: it may call over this connection. */
  noteUse(caller: Caller): void
  /** Judges a token without keeping it, to explain why calls are refused. */
  readonly judge: JudgeToken
  applyGrant(grant: Grant): void
  /** Refuses the token at every later call. */
  revokeToken(token: RevokedToken): void
  /** Refuses the earlier tokens of the person at every later call. */
  revokePerson(person: RevokedPerson): void
  setKeys(jwks: { readonly keys: readonly Readonly<Record<string, unknown>>[] }): void
  setProviders(providers: readonly ProviderPlan[]): void
  /** An API of the tenant has joined or left a product, so federated clients may have other subscriptions. */
  membershipChanged(tenant: string): void
}

export interface AuthenticatorOptions {
  readonly gatewayUrl: string
  readonly keyedHash: (text: string) => string
  readonly resolve: (name: CredentialName) => Promise<Grant | null>
  /** Null if the API is unknown. */
  readonly tenantOf: (api: string) => string | null
  /** Fetches the keys of a provider; true if they changed, after `setProviders` was called with them. */
  readonly refetch: (provider: string) => Promise<boolean>
  readonly clock: Pick<Clock, 'nowMs'>
  readonly count: CountEvent
  /** Called with the id of each credential that is used. */
  readonly onUse: (credential: string) => void
  /** Upper bound of cached credentials of one kind. */
  readonly callersMax?: number
  /** Upper bound of concurrent grant look-ups. */
  readonly pendingMax?: number
  /** Runs a task after the pending events of the loop. */
  readonly defer?: (task: () => void) => void
}

const CALLERS_MAX = 50_000
/** Upper bound of the characters of all cached tokens. */
const CHARACTERS_MAX = 64 * 1024 * 1024
const MISSING = createRefusal('credential_missing', 'Send a bearer token in Authorization, or a key in x-api-key.')

export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { keyedHash, resolve, clock, count, onUse, callersMax = CALLERS_MAX, pendingMax } = options
  const { nowMs } = clock
  const tokenKeys = createTokenKeys()
  const providers = createProviders()
  const revoked = createRevokedTokens(nowMs)
  const revokedPeople = createRevokedPeople(nowMs)
  const grants = createGrantCache({ resolve, ...(pendingMax !== undefined && { pendingMax }) })
  const lookup = new GrantLookup(grants, count)
  const cache = { callersMax, charactersMax: CHARACTERS_MAX, onEvicted: () => count('callers_forgotten') }
  // Separate caches, so that the text of one kind of credential never passes for another.
  const keys = new KeyAuthentication({ callers: createCallerCache<KnownCaller>(cache), lookup, keyedHash, nowMs })
  const verifier = { ...options, tokenKeys, providers, refetch: createKeyRefetch(options) }
  const checks = { revoked, revokedPeople, nowMs }
  const tokens = new TokenAuthentication({
    ownCallers: createCallerCache(cache),
    federatedCallers: createCallerCache(cache),
    lookup,
    verify: createTokenVerifier(verifier),
    pending: createPendingVerifications(options),
    providers,
    ...checks,
    count,
  })
  const both = new BothCredentials(tokens, keys)

  return {
    authenticate(authorization, apiKey, api) {
      if (authorization === undefined) return apiKey === undefined ? MISSING : keys.authenticate(apiKey, api)
      return apiKey === undefined
        ? tokens.authenticate(authorization, api)
        : both.authenticate(authorization, apiKey, api)
    },
    noteUse({ grant, key }) {
      // Shared clients have no credential.
      if (grant.type !== 'Shared') onUse(grant.credential)
      if (key !== undefined) onUse(key.grant.credential)
    },
    judge: createJudgeToken({
      ...checks,
      resolve,
      verifierFor: (tenant) => createTokenVerifier({ ...verifier, tenantOf: () => tenant }),
    }),
    applyGrant: grants.apply,
    revokeToken: (token) => void (revoked.add(token) || count('revoked_tokens_full')),
    revokePerson: (person) => void (revokedPeople.add(person) || count('revoked_tokens_full')),
    setKeys({ keys: jwks }) {
      if (tokenKeys.set(jwks)) tokens.evictOwn()
    },
    setProviders(plans) {
      for (const tenant of providers.set(plans)) grants.invalidateNames(tenant)
    },
    membershipChanged(tenant) {
      grants.invalidateNames(tenant)
      tokens.evictFederated()
    },
  }
}

/** Authenticates calls that carry a token and a key: both must be valid, and the token names the caller. */
class BothCredentials {
  readonly #tokens: TokenAuthentication
  readonly #keys: KeyAuthentication
  /** By the caller of the token: the same caller with the key that it last sent. */
  readonly #pairs = new WeakMap<Caller, Caller>()

  constructor(tokens: TokenAuthentication, keys: KeyAuthentication) {
    this.#tokens = tokens
    this.#keys = keys
  }

  authenticate(authorization: string, apiKey: string, api: string): AuthenticationResult {
    const key = this.#keys.authenticate(apiKey, api)
    if (key instanceof Promise) return key.then((found) => this.#withToken(authorization, apiKey, found, api))
    return this.#withToken(authorization, apiKey, key, api)
  }

  #withToken(authorization: string, apiKey: string, key: Caller | Refusal, api: string): AuthenticationResult {
    const token = this.#tokens.authenticate(authorization, api)
    if (!(token instanceof Promise)) return this.#pair(token, key)
    return token.then((verified) => {
      // The key may have been revoked while the token was looked up.
      const again = this.#keys.authenticate(apiKey, api)
      return again instanceof Promise ? again.then((found) => this.#pair(verified, found)) : this.#pair(verified, again)
    })
  }

  /** Returns the same object for the same pair, because caller contexts are found by the caller object. */
  #pair(token: Caller | Refusal, key: Caller | Refusal): Caller | Refusal {
    if ('code' in token) return 'code' in key ? key : token
    // The token names the party, also of a call whose key is refused.
    if ('code' in key) return { ...key, grant: token.grant, person: token.person }
    const known = this.#pairs.get(token)
    if (known?.key === key) return known
    const pair = { ...token, key }
    this.#pairs.set(token, pair)
    return pair
  }
}

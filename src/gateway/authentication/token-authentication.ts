/**
 * Authenticates bearer tokens: by the caches of verified tokens, otherwise by a verification that runs after known
 * callers (`pending-verifications.ts`).
 *
 * Keys, providers, memberships and the revocation of the token itself may change while its grant is looked up. The
 * token is then verified again, so that no late response revives a credential.
 *
 * Signatures are verified on the gateway thread (measured: 45 µs, once per token). The libuv thread pool would
 * still block the loop for 11 µs, use a tenth more CPU in total and add a queue that forged tokens could fill. The
 * gateway threads already use all cores.
 */

import type { CountEvent } from '../../foundation/runtime/event-reasons.ts'
import type { Caller } from '../../boundary/plan/caller.ts'
import type { Grant } from '../../boundary/plan/grant.ts'
import { toCacheKey, type CallerCache } from './caller-cache.ts'
import { createRefusal, refuseUnverified, type AuthenticationResult, type Refusal } from './credential-refusal.ts'
import type { GrantLookup } from './grant-lookup.ts'
import { TOKEN_LENGTH_MAX } from './jwt.ts'
import { checkCaller, refuseKnown, toTokenCaller, type KnownCaller } from './known-caller.ts'
import type { PendingVerifications } from './pending-verifications.ts'
import type { Providers } from './providers.ts'
import type { RevokedPeople } from './revoked-people.ts'
import type { RevokedTokens } from './revoked-tokens.ts'
import type { TokenVerifier, Verified } from './token-verifier.ts'

/** The checks of a verified token at every call. */
export interface TokenChecks {
  readonly revoked: Pick<RevokedTokens, 'has'>
  readonly revokedPeople: Pick<RevokedPeople, 'has'>
  readonly nowMs: () => number
}

export interface TokenAuthenticationOptions extends TokenChecks {
  /** Verified tokens of this gateway, by the Authorization header. */
  readonly ownCallers: CallerCache<KnownCaller>
  /** Verified tokens of federated issuers, by API and Authorization header. */
  readonly federatedCallers: CallerCache<KnownCaller>
  readonly lookup: GrantLookup
  readonly verify: TokenVerifier
  readonly pending: PendingVerifications
  readonly providers: Pick<Providers, 'isEmpty'>
  readonly count: CountEvent
}

/** Longest scheme with its separator that may precede a token. */
const SCHEME_LENGTH_MAX = 16
const BEARER = /^bearer +(\S+)$/i
export const UNKNOWN = refuseUnverified('The credential is unknown.')
export const NO_SUBSCRIPTION = createRefusal('subscription_required', 'The client has no subscription to this API.')

export class TokenAuthentication {
  readonly #options: TokenAuthenticationOptions
  /** Increases when verified tokens become invalid. */
  #epoch = 0

  constructor(options: TokenAuthenticationOptions) {
    this.#options = options
  }

  authenticate(authorization: string, api: string): AuthenticationResult {
    const known = this.#recall(authorization, api)
    if (known !== null) return known
    if (authorization.length > TOKEN_LENGTH_MAX + SCHEME_LENGTH_MAX) {
      return refuseUnverified(`The token is longer than ${TOKEN_LENGTH_MAX} characters.`)
    }
    const token = BEARER.exec(authorization)?.[1]
    if (token === undefined) {
      return refuseUnverified('The Authorization header must contain a bearer token: "Bearer <token>".')
    }
    const { pending, count } = this.#options
    // Another call with the same token may have been verified meanwhile.
    const result = pending.enqueue(() => this.#recall(authorization, api) ?? this.#verify(token, authorization, api))
    if (result !== null) return result.then((settled) => settled)
    count('newcomers_refused')
    return createRefusal('unavailable', 'The gateway is verifying too many new tokens at the moment.')
  }

  /** Invalidates verified tokens of this gateway. */
  evictOwn(): void {
    this.#options.ownCallers.clear()
    this.#epoch++
  }

  /** Invalidates verified tokens of federated issuers. */
  evictFederated(): void {
    this.#options.federatedCallers.clear()
    this.#epoch++
  }

  /** Returns the result for a cached token; null if the token must be verified. */
  #recall(authorization: string, api: string): Caller | Refusal | null {
    const { ownCallers, federatedCallers, lookup, providers } = this.#options
    const own = lookup.recall(ownCallers, authorization)
    if (own !== undefined) return this.#check(own, api)
    if (providers.isEmpty) return null
    const federated = lookup.recall(federatedCallers, toCacheKey(authorization, api))
    return federated !== undefined && isCurrent(federated) ? this.#check(federated, api) : null
  }

  #verify(token: string, authorization: string, api: string): AuthenticationResult {
    const result = this.#options.verify(token, api)
    if (result instanceof Promise) return result.then((verified) => this.#admit(verified, authorization, api))
    return this.#admit(result, authorization, api)
  }

  /** Looks up the grant of a verified token and caches the caller. */
  #admit(result: Verified | Refusal, authorization: string, api: string): AuthenticationResult {
    if ('code' in result) return result
    const { token, name } = result
    const { ownCallers, federatedCallers, lookup } = this.#options
    const epoch = this.#epoch
    return lookup.find(name, name.kind === 'federated' ? NO_SUBSCRIPTION : UNKNOWN, (grant) => {
      if (epoch !== this.#epoch || token.provider?.isCurrent === false) return this.authenticate(authorization, api)
      const refusal = checkIssuedTo(result, grant)
      if (refusal !== null) return refusal
      const caller = toTokenCaller(grant, token)
      if (name.kind === 'federated') federatedCallers.set(toCacheKey(authorization, api), caller)
      else ownCallers.set(authorization, caller)
      return this.#check(caller, api)
    })
  }

  #check(caller: KnownCaller, api: string): Caller | Refusal {
    return checkToken(this.#options, caller, api)
  }
}

/** Revocation of the token comes first, so that its refusal does not depend on the credential. */
export function checkToken(checks: TokenChecks, caller: KnownCaller, api: string): Caller | Refusal {
  const now = checks.nowMs()
  if (isRevoked(checks, caller, now)) return refuseKnown(caller, 'The token has been revoked.')
  return checkCaller(caller, api, now)
}

export function isRevoked({ revoked, revokedPeople }: TokenChecks, { token }: KnownCaller, nowMs: number): boolean {
  if (token === null) return false
  if (revoked.has(token.jti, nowMs)) return true
  // A federated issuer names the subjects of its own tokens.
  return token.provider === null && revokedPeople.has(token, nowMs)
}

/** Refuses a token that cannot have been issued to the credential of `grant`. */
export function checkIssuedTo({ token, name }: Verified, grant: Grant): Refusal | null {
  if (name.kind === 'federated') {
    if (grant.type !== 'Federated' || grant.tenant !== name.tenant) return NO_SUBSCRIPTION
    if (grant.apiProductId !== '' || grant.api === name.api) return null
    return createRefusal('subscription_required', NO_SUBSCRIPTION.detail, grant, token.subject)
  }
  if (token.actor === '' || token.actor === grant.consumer) return null
  return createRefusal('credential_invalid', 'The agent in the act claim is not the client of the token.', grant)
}

/**
 * Returns whether a cached federated caller may be used. It may not if its provider has changed its keys, or if its
 * subscription has ended: another one may have replaced it.
 */
function isCurrent({ token, grant }: KnownCaller): boolean {
  return token?.provider?.isCurrent === true && grant.valid && grant.active
}

/**
 * Who calls: verifies a bearer token or an API key and finds what stands behind it.
 *
 * A verified credential is remembered by its full text, so that a known caller costs one look-up; only
 * what verified is remembered, and never more than a bound. Whether the credential is still good is
 * read from its grant at every call, and grants are corrected by the main thread: a revoked credential
 * is refused from then on, also with tokens that have not expired, and no late answer brings it back
 * (`grant-cache.ts`). What changed while a credential was looked up is looked at again: its keys, its
 * providers, and whether the token itself was revoked.
 *
 * Tokens that are new here wait behind callers that are known (`newcomers.ts`).
 *
 * A refusal names a party only from a verified signature or a known key or client. Signatures are
 * checked on the thread itself (measured: 45 µs, once for each token). The thread pool would hold the
 * loop for 11 µs, for a tenth more CPU in all and a queue that forged tokens could fill; the gateway's
 * threads take the machine's cores already.
 */

import type { Caller } from '../../plan/caller.ts'
import type { RevokedToken } from '../../plan/gateway-port.ts'
import type { CredentialName, Grant } from '../../plan/grant.ts'
import type { ProviderPlan } from '../../plan/provider-plan.ts'
import { isApiKeyShaped } from '../../plan/credential-format.ts'
import type { CountEvent } from '../../runtime/event-reasons.ts'
import type { Clock } from '../../runtime/clock.ts'
import { createCallerCache, type CallerCache } from './caller-cache.ts'
import { createGrantCache, GrantsBusy } from './grant-cache.ts'
import { TOKEN_LENGTH_MAX } from './jwt.ts'
import { createKeyRefetch } from './key-refetch.ts'
import { judge, refuse, toKeyCaller, toTokenCaller, withGrant, type KnownCaller } from './known-caller.ts'
import { createNewcomers } from './pending-verifications.ts'
import { createProviders } from './providers.ts'
import { invalid, refusal, type Refusal } from './credential-refusal.ts'
import { createRevokedTokens } from './revoked-tokens.ts'
import { createTokenKeys } from './own-token.ts'
import { createTokenVerifier, type Verified } from './token-verifier.ts'

export type { Refusal } from './credential-refusal.ts'

type Result = Caller | Refusal | Promise<Caller | Refusal>

export interface Authenticator {
  /** At once for a caller that is known here, else a promise. */
  authenticate(authorization: string | undefined, apiKey: string | undefined, api: string): Result
  applyGrant(grant: Grant): void
  /** The token opens nothing from now on. */
  revokeToken(token: RevokedToken): void
  setKeys(jwks: { readonly keys: readonly Readonly<Record<string, unknown>>[] }): void
  setProviders(providers: readonly ProviderPlan[]): void
  /** An API of the tenant has joined or left a product: federated clients may stand behind other subscriptions. */
  membershipChanged(tenant: string): void
}

export interface AuthenticatorOptions {
  readonly gatewayUrl: string
  readonly keyedHash: (text: string) => string
  readonly resolve: (name: CredentialName) => Promise<Grant | null>
  /** Null where no such API is known. */
  readonly tenantOf: (api: string) => string | null
  /** Looks for new keys of a provider; true where they have changed, and are set here already. */
  readonly refetch: (provider: string) => Promise<boolean>
  readonly clock: Pick<Clock, 'nowMs'>
  readonly count: CountEvent
  /** How many verified credentials of one kind are remembered. */
  readonly callersMax?: number
  /** How many look-ups may wait at once. */
  readonly pendingMax?: number
  /** Runs a task behind what the loop has at hand. */
  readonly defer?: (task: () => void) => void
}

const CALLERS_MAX = 50_000
/** Text of all remembered tokens together. */
const CHARACTERS_MAX = 64 * 1024 * 1024
const BEARER = /^bearer +(\S+)$/i
const MISSING = refusal('credential_missing', 'Send a bearer token in Authorization, or a key in x-api-key.')
const UNKNOWN = invalid('The credential is not known.')
const NO_SUBSCRIPTION = refusal('subscription_required', 'The client holds no subscription to this API.')

export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { keyedHash, resolve, clock, count, callersMax = CALLERS_MAX, pendingMax } = options
  const tokenKeys = createTokenKeys()
  const providers = createProviders()
  const revoked = createRevokedTokens(clock.nowMs)
  const verify = createTokenVerifier({ ...options, tokenKeys, providers, refetch: createKeyRefetch(options) })
  const newcomers = createNewcomers(options)
  const grants = createGrantCache({ resolve, ...(pendingMax !== undefined && { pendingMax }) })
  const cache = { callersMax, charactersMax: CHARACTERS_MAX, onForgotten: () => count('callers_forgotten') }
  // Apart, so that the text of one kind never passes for the other.
  const tokens = createCallerCache<KnownCaller>(cache)
  const federated = createCallerCache<KnownCaller>(cache)
  const keys = createCallerCache<KnownCaller>(cache)
  /** By the token's caller: it together with the key that last came with it. */
  const pairs = new WeakMap<Caller, Caller>()
  /** Rises when what verified before must be verified again. */
  let epoch = 0

  function authenticate(authorization: string | undefined, apiKey: string | undefined, api: string): Result {
    if (authorization === undefined) return apiKey === undefined ? MISSING : byKey(apiKey, api)
    if (apiKey === undefined) return byToken(authorization, api)
    const key = byKey(apiKey, api)
    if (key instanceof Promise) return key.then((late) => byBoth(authorization, apiKey, late, api))
    return byBoth(authorization, apiKey, key, api)
  }

  function byBoth(authorization: string, apiKey: string, key: Caller | Refusal, api: string): Result {
    if ('code' in key) return key
    const token = byToken(authorization, api)
    if (!(token instanceof Promise)) return withKey(token, key)
    return token.then((late) => {
      // The key may have been revoked while the token was looked up.
      const again = byKey(apiKey, api)
      return again instanceof Promise ? again.then((found) => withKey(late, found)) : withKey(late, again)
    })
  }

  /** The same object as long as both are the same: what hangs on a caller is found by it. */
  function withKey(token: Caller | Refusal, key: Caller | Refusal): Caller | Refusal {
    if ('code' in key) return key
    if ('code' in token) return token
    const known = pairs.get(token)
    if (known?.key === key) return known
    const both = { ...token, key }
    pairs.set(token, both)
    return both
  }

  function byToken(authorization: string, api: string): Result {
    const known = byKnownToken(authorization, api)
    if (known !== null) return known
    if (authorization.length > TOKEN_LENGTH_MAX + 16) return invalid('The token is too long.')
    const token = BEARER.exec(authorization)?.[1]
    if (token === undefined) return invalid('Authorization takes a bearer token.')
    // Another call may have brought the same token meanwhile.
    const turn = newcomers.take(() => byKnownToken(authorization, api) ?? byNewToken(token, authorization, api))
    if (turn !== null) return turn.then((result) => result)
    count('newcomers_refused')
    return refusal('unavailable', 'Too many new tokens are being verified at the moment.')
  }

  /** Null where the token is not remembered. */
  function byKnownToken(authorization: string, api: string): Caller | Refusal | null {
    const known = remembered(tokens, authorization)
    if (known !== undefined) return judgeToken(known, api)
    if (providers.isEmpty) return null
    const foreign = remembered(federated, textAt(authorization, api))
    return foreign !== undefined && isStanding(foreign) ? judgeToken(foreign, api) : null
  }

  function byNewToken(token: string, authorization: string, api: string): Result {
    const result = verify(token, api)
    if (result instanceof Promise) return result.then((late) => byVerified(late, authorization, api))
    return byVerified(result, authorization, api)
  }

  function byVerified(result: Verified | Refusal, authorization: string, api: string): Result {
    if ('code' in result) return result
    const { token, name } = result
    const since = epoch
    return find(name, name.kind === 'federated' ? NO_SUBSCRIPTION : UNKNOWN, (grant) => {
      if (since !== epoch || token.provider?.isCurrent === false) return byToken(authorization, api)
      const refused = mismatch(result, grant)
      if (refused !== null) return refused
      const caller = toTokenCaller(grant, token)
      if (name.kind === 'federated') federated.set(textAt(authorization, api), caller)
      else tokens.set(authorization, caller)
      return judgeToken(caller, api)
    })
  }

  /** Of a revoked token nothing else is looked at. */
  function judgeToken(caller: KnownCaller, api: string): Caller | Refusal {
    const nowMs = clock.nowMs()
    if (caller.token !== null && revoked.has(caller.token.jti, nowMs)) return refuse(caller, 'The token was revoked.')
    return judge(caller, api, nowMs)
  }

  function byKey(apiKey: string, api: string): Result {
    const known = remembered(keys, apiKey) ?? remembered(keys, textAt(apiKey, api))
    if (known !== undefined) return judge(known, api, clock.nowMs())
    if (!isApiKeyShaped(apiKey)) return invalid('The key has not the form of an API key.')
    return find({ kind: 'key', hash: keyedHash(apiKey) }, UNKNOWN, (grant) => {
      const caller = toKeyCaller(grant, api)
      keys.set(grant.apiProductId === '' ? apiKey : textAt(apiKey, api), caller)
      return judge(caller, api, clock.nowMs())
    })
  }

  function find(name: CredentialName, unknown: Refusal, use: (grant: Grant) => Result): Result {
    const known = grants.known(name)
    if (known !== undefined) return known === null ? unknown : use(known)
    return grants.ask(name).then(
      (grant) => (grant === null ? unknown : use(grants.latest(grant.credential) ?? grant)),
      (cause: unknown): Refusal => {
        count(cause instanceof GrantsBusy ? 'lookups_busy' : 'lookup_failed')
        return refusal('unavailable', 'The credential cannot be looked up at the moment.')
      },
    )
  }

  /** The caller by the newest word on its credential. */
  function remembered(cached: CallerCache<KnownCaller>, text: string): KnownCaller | undefined {
    const caller = cached.get(text)
    if (caller === undefined) return undefined
    const latest = grants.latest(caller.grant.credential)
    if (latest === caller.grant) return caller
    if (latest === undefined) return undefined
    const renewed = withGrant(caller, latest)
    cached.set(text, renewed)
    return renewed
  }

  function verifyAgain(cached: CallerCache<KnownCaller>): void {
    cached.clear()
    epoch++
  }

  return {
    authenticate,
    applyGrant: grants.apply,
    revokeToken: (token) => void (revoked.add(token) || count('revoked_tokens_full')),
    setKeys({ keys: jwks }) {
      // What was verified by a key that is no longer published must be verified again.
      if (tokenKeys.set(jwks)) verifyAgain(tokens)
    },
    setProviders(plans) {
      for (const tenant of providers.set(plans)) grants.forgetNames(tenant)
    },
    membershipChanged(tenant) {
      grants.forgetNames(tenant)
      verifyAgain(federated)
    },
  }
}

/** Why a credential is not the one that a token can have been given to. */
function mismatch({ token, name }: Verified, grant: Grant): Refusal | null {
  if (name.kind === 'federated') {
    if (grant.type !== 'Federated' || grant.tenant !== name.tenant) return NO_SUBSCRIPTION
    if (grant.apiProductId !== '' || grant.api === name.api) return null
    return refusal('subscription_required', NO_SUBSCRIPTION.detail, grant, token.subject)
  }
  if (token.actor === '' || token.actor === grant.consumer) return null
  return refusal('credential_invalid', 'The token names another agent than its client.', grant)
}

/**
 * Whether what is remembered of a federated caller can be gone by. Its provider may have changed its keys,
 * and another subscription may have taken the place of one that ended.
 */
function isStanding({ token, grant }: KnownCaller): boolean {
  return token?.provider?.isCurrent === true && grant.valid && grant.active
}

/** One key of a product, or one federated token, is another caller at each API. */
function textAt(credential: string, api: string): string {
  return `${api} ${credential}`
}

/**
 * Who calls: verifies a bearer token or an API key and finds what stands behind it.
 *
 * A verified credential is remembered by its full text, so that a known caller costs one look-up; only
 * what verified is remembered, and never more than a bound. Whether the credential is still good is
 * read from its grant at every call, and grants are corrected by the main thread: a revoked credential
 * is refused from then on, also with tokens that have not expired, and no late answer brings it back
 * (`grant-cache.ts`).
 *
 * A refusal names a party only from a verified signature or a known key or client. Signatures are
 * checked on the thread itself (measured: 45 µs, once for each token). The thread pool would hold the
 * loop for 11 µs, for a tenth more CPU in all and a queue that forged tokens could fill; the gateway's
 * threads take the machine's cores already.
 */

import type { Caller } from '../catalogue/caller.ts'
import type { CredentialName, Grant } from '../catalogue/grant.ts'
import { isApiKeyShaped } from '../catalogue/secret.ts'
import type { Clock } from '../runtime/clock.ts'
import { createCallerCache, type CallerCache } from './caller-cache.ts'
import { createGrantCache, GrantsBusy } from './grant-cache.ts'
import { invalid, judge, toKeyCaller, toTokenCaller, withGrant, type KnownCaller } from './known-caller.ts'
import type { Refusal } from './refusal.ts'
import { createTokenKeys, TOKEN_LENGTH_MAX, verifyToken } from './token.ts'

export type { Refusal } from './refusal.ts'

export interface Authenticator {
  /** At once for a caller that is known here, else a promise. */
  authenticate(
    authorization: string | undefined,
    apiKey: string | undefined,
    api: string,
  ): Caller | Refusal | Promise<Caller | Refusal>
  applyGrant(grant: Grant): void
  setKeys(jwks: { readonly keys: readonly Readonly<Record<string, unknown>>[] }): void
}

export interface AuthenticatorOptions {
  readonly gatewayUrl: string
  readonly keyedHash: (text: string) => string
  readonly resolve: (name: CredentialName) => Promise<Grant | null>
  readonly clock: Pick<Clock, 'nowMs'>
  readonly count: (reason: string) => void
  /** How many verified credentials of one kind are remembered. */
  readonly callersMax?: number
  /** How many look-ups may wait at once. */
  readonly pendingMax?: number
}

const CALLERS_MAX = 50_000
/** Text of all remembered tokens together. */
const CHARACTERS_MAX = 64 * 1024 * 1024
const BEARER = /^bearer +(\S+)$/i
const MISSING: Refusal = {
  code: 'credential_missing',
  grant: null,
  detail: 'Send a bearer token in Authorization, or a key in x-api-key.',
}

export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { gatewayUrl, keyedHash, resolve, clock, count, callersMax = CALLERS_MAX, pendingMax } = options
  const tokenKeys = createTokenKeys()
  const grants = createGrantCache({ resolve, ...(pendingMax !== undefined && { pendingMax }) })
  const cache = { callersMax, charactersMax: CHARACTERS_MAX, onForgotten: () => count('callers_forgotten') }
  // Apart, so that the text of one kind never passes for the other.
  const tokens = createCallerCache<KnownCaller>(cache)
  const keys = createCallerCache<KnownCaller>(cache)
  /** By the token's caller: it together with the key that last came with it. */
  const pairs = new WeakMap<Caller, Caller>()

  function authenticate(
    authorization: string | undefined,
    apiKey: string | undefined,
    api: string,
  ): Caller | Refusal | Promise<Caller | Refusal> {
    if (authorization === undefined) return apiKey === undefined ? MISSING : byKey(apiKey, api)
    if (apiKey === undefined) return byToken(authorization, api)
    const key = byKey(apiKey, api)
    if (key instanceof Promise) return key.then((late) => byBoth(authorization, late, api))
    return byBoth(authorization, key, api)
  }

  function byBoth(
    authorization: string,
    key: Caller | Refusal,
    api: string,
  ): Caller | Refusal | Promise<Caller | Refusal> {
    if ('code' in key) return key
    const token = byToken(authorization, api)
    return token instanceof Promise ? token.then((late) => withKey(late, key)) : withKey(token, key)
  }

  /** The same object as long as both are the same: what hangs on a caller is found by it. */
  function withKey(token: Caller | Refusal, key: Caller): Caller | Refusal {
    if ('code' in token) return token
    const known = pairs.get(token)
    if (known?.key === key) return known
    const both = { ...token, key }
    pairs.set(token, both)
    return both
  }

  function byToken(authorization: string, api: string): Caller | Refusal | Promise<Caller | Refusal> {
    const known = remembered(tokens, authorization)
    if (known !== undefined) return judge(known, api, clock.nowMs())
    if (authorization.length > TOKEN_LENGTH_MAX + 16) return invalid('The token is too long.')
    const token = BEARER.exec(authorization)?.[1]
    if (token === undefined) return invalid('Authorization takes a bearer token.')
    const result = verifyToken(token, gatewayUrl, tokenKeys)
    if ('fault' in result) return invalid(result.fault)
    const { claims } = result
    return find({ kind: 'client', clientId: claims.client_id }, (grant) => {
      const caller = toTokenCaller(grant, claims)
      tokens.set(authorization, caller)
      return judge(caller, api, clock.nowMs())
    })
  }

  function byKey(apiKey: string, api: string): Caller | Refusal | Promise<Caller | Refusal> {
    const known = remembered(keys, apiKey) ?? remembered(keys, productText(apiKey, api))
    if (known !== undefined) return judge(known, api, clock.nowMs())
    if (!isApiKeyShaped(apiKey)) return invalid('The key has not the form of an API key.')
    return find({ kind: 'key', hash: keyedHash(apiKey) }, (grant) => {
      const caller = toKeyCaller(grant, api)
      keys.set(grant.apiProductId === '' ? apiKey : productText(apiKey, api), caller)
      return judge(caller, api, clock.nowMs())
    })
  }

  function find(
    name: CredentialName,
    use: (grant: Grant) => Caller | Refusal,
  ): Caller | Refusal | Promise<Caller | Refusal> {
    const known = grants.known(name)
    if (known !== undefined) return known === null ? UNKNOWN : use(known)
    return grants.ask(name).then(
      (grant) => (grant === null ? UNKNOWN : use(grants.latest(grant.credential) ?? grant)),
      (cause: unknown): Refusal => {
        count(cause instanceof GrantsBusy ? 'lookups_busy' : 'lookup_failed')
        return { code: 'unavailable', grant: null, detail: 'The credential cannot be looked up at the moment.' }
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

  return {
    authenticate,
    applyGrant: grants.apply,
    setKeys({ keys: jwks }) {
      // What was verified by a key that is no longer published must be verified again.
      if (tokenKeys.set(jwks)) tokens.clear()
    },
  }
}

const UNKNOWN = invalid('The credential is not known.')

/** A product's key is another caller at each of its members. */
function productText(apiKey: string, api: string): string {
  return `${api} ${apiKey}`
}

/**
 * Who calls: verifies a bearer token or an API key and finds what stands behind it.
 *
 * A verified credential is remembered by its full text until it ends, so that a known caller costs one
 * look-up; only what verified is remembered, and never more than a bound. Whether the credential is
 * still good is read from its grant at every call, and grants are corrected by the main thread: a
 * revoked credential is refused from then on, also with tokens that have not expired, and no late
 * answer brings it back (`grant-cache.ts`).
 *
 * A refusal names a party only from a verified signature or a known key or client.
 */

import type { Caller } from '../catalogue/caller.ts'
import type { CredentialName, Grant } from '../catalogue/grant.ts'
import { isApiKeyShaped } from '../catalogue/secret.ts'
import type { Clock } from '../runtime/clock.ts'
import { createGrantCache, GrantsBusy } from './grant-cache.ts'
import { createTokenKeys, TOKEN_LENGTH_MAX, verifyToken, type TokenClaims } from './token.ts'

export interface Refusal {
  readonly code: 'credential_missing' | 'credential_invalid' | 'subscription_required' | 'unavailable'
  /** The known party behind a refused credential. */
  readonly grant: Grant | null
  readonly detail: string
}

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
  readonly clock: Clock
  readonly count: (reason: string) => void
  /** How many verified credentials are remembered. */
  readonly callersMax?: number
}

const CALLERS_MAX = 50_000
const BEARER = /^bearer +(\S+)$/i
const MISSING: Refusal = {
  code: 'credential_missing',
  grant: null,
  detail: 'Send a bearer token in Authorization, or a key in x-api-key.',
}

export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { gatewayUrl, keyedHash, resolve, clock, count, callersMax = CALLERS_MAX } = options
  const keys = createTokenKeys()
  const grants = createGrantCache({ resolve })
  // Two generations: what is used moves to the young one, what is not is forgotten with the old one.
  let young = new Map<string, Caller>()
  let old = new Map<string, Caller>()

  function authenticate(
    authorization: string | undefined,
    apiKey: string | undefined,
    api: string,
  ): Caller | Refusal | Promise<Caller | Refusal> {
    if (authorization === undefined) return apiKey === undefined ? MISSING : byKey(apiKey, api)
    if (apiKey === undefined) return byToken(authorization, api)
    return both(authorization, apiKey, api)
  }

  /** Both must verify; the token names the party. */
  async function both(authorization: string, apiKey: string, api: string): Promise<Caller | Refusal> {
    const key = await byKey(apiKey, api)
    if ('code' in key) return key
    return byToken(authorization, api)
  }

  function byToken(authorization: string, api: string): Caller | Refusal | Promise<Caller | Refusal> {
    const known = remembered(authorization)
    if (known !== undefined && known.api === api) return judge(known)
    if (authorization.length > TOKEN_LENGTH_MAX + 16) return invalid('The token is too long.')
    const token = BEARER.exec(authorization)?.[1]
    if (token === undefined) return invalid('Authorization takes a bearer token.')
    const result = verifyToken(token, `${gatewayUrl}/${api}`, api, keys, clock.nowMs())
    if ('fault' in result) return invalid(result.fault)
    const name = { kind: 'client', clientId: result.claims.client_id } as const
    return withGrant(name, (grant) => judge(remember(authorization, toTokenCaller(grant, result.claims, api))))
  }

  function byKey(apiKey: string, api: string): Caller | Refusal | Promise<Caller | Refusal> {
    const text = `${api} ${apiKey}`
    const known = remembered(text)
    if (known !== undefined) return judge(known)
    if (!isApiKeyShaped(apiKey)) return invalid('The key has not the form of an API key.')
    const name = { kind: 'key', hash: keyedHash(apiKey) } as const
    return withGrant(name, (grant) => judge(remember(text, toKeyCaller(grant, api))))
  }

  function withGrant(
    name: CredentialName,
    use: (grant: Grant) => Caller | Refusal,
  ): Caller | Refusal | Promise<Caller | Refusal> {
    const known = grants.known(name)
    if (known !== undefined && known !== null) return use(known)
    return grants.ask(name).then(
      (grant) => (grant === null ? invalid('The credential is not known.') : use(grant)),
      (cause: unknown): Refusal => {
        count(cause instanceof GrantsBusy ? 'lookups_busy' : 'lookup_failed')
        return { code: 'unavailable', grant: null, detail: 'The credential cannot be looked up at the moment.' }
      },
    )
  }

  /** Whether a verified credential is still good, by the newest word on it. */
  function judge(caller: Caller): Caller | Refusal {
    const { grant } = caller
    if (caller.expiresAtMs <= clock.nowMs())
      return { code: 'credential_invalid', grant, detail: 'The credential has expired.' }
    if (!grant.valid) return { code: 'credential_invalid', grant, detail: 'The credential was revoked.' }
    if (!grant.active) return { code: 'subscription_required', grant, detail: 'The subscription is not active.' }
    if (caller.method === 'key' && grant.api !== '' && grant.api !== caller.api) {
      return { code: 'subscription_required', grant, detail: 'The key belongs to a subscription of another API.' }
    }
    return caller
  }

  function remembered(text: string): Caller | undefined {
    let caller = young.get(text)
    if (caller === undefined) {
      caller = old.get(text)
      if (caller === undefined) return undefined
      keep(text, caller)
    }
    const latest = grants.latest(caller.grant.credential)
    if (latest === undefined) return undefined
    return latest === caller.grant ? caller : remember(text, { ...caller, grant: latest, ...standing(caller, latest) })
  }

  /** What of a caller follows its grant: a key's scopes and end. */
  function standing(caller: Caller, grant: Grant): Pick<Caller, 'scopes' | 'expiresAtMs'> {
    if (caller.method === 'token') return caller
    return { scopes: new Set(grant.scopes), expiresAtMs: grant.expiresAtMs === 0 ? Infinity : grant.expiresAtMs }
  }

  function remember(text: string, caller: Caller): Caller {
    keep(text, caller)
    return caller
  }

  function keep(text: string, caller: Caller): void {
    if (young.size >= callersMax / 2) {
      old = young
      young = new Map()
    }
    young.set(text, caller)
  }

  return {
    authenticate,
    applyGrant: grants.apply,
    setKeys: ({ keys: jwks }) => {
      keys.set(jwks)
      // What was verified by a key that is no longer published must be verified again.
      young = new Map()
      old = new Map()
    },
  }
}

function invalid(detail: string): Refusal {
  return { code: 'credential_invalid', grant: null, detail }
}

function toTokenCaller(grant: Grant, claims: TokenClaims, api: string): Caller {
  const isForPerson = claims.act !== undefined
  return {
    grant,
    method: 'token',
    api,
    scopes: new Set(claims.scope.split(' ').filter((scope) => scope !== '')),
    agent: claims.act?.sub ?? (grant.consumerKind === 'agent' ? grant.consumer : ''),
    person: isForPerson ? claims.sub : '',
    expiresAtMs: Math.min(claims.exp * 1_000, grant.expiresAtMs === 0 ? Infinity : grant.expiresAtMs),
  }
}

function toKeyCaller(grant: Grant, api: string): Caller {
  return {
    grant,
    method: 'key',
    api,
    scopes: new Set(grant.scopes),
    agent: grant.consumerKind === 'agent' ? grant.consumer : '',
    person: '',
    expiresAtMs: grant.expiresAtMs === 0 ? Infinity : grant.expiresAtMs,
  }
}

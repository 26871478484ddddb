/**
 * A caller whose credential has verified, and whether it is still good.
 *
 * What a token says is fixed; what its credential opens is not. So the caller is made anew from both
 * whenever its grant changes: a scope that is taken away, or an end that is brought forward, holds for
 * tokens that were issued before.
 */

import type { Caller } from '../catalogue/caller.ts'
import type { Grant } from '../catalogue/grant.ts'
import type { Refusal } from './refusal.ts'
import type { TokenClaims } from './token.ts'

export interface KnownCaller extends Caller {
  /** What the token says; null for a key. */
  readonly claims: TokenClaims | null
}

export function toTokenCaller(grant: Grant, claims: TokenClaims): KnownCaller {
  const asked = claims.scope.split(' ')
  return {
    grant,
    method: 'token',
    api: claims.aud,
    scopes: new Set(grant.scopes.filter((scope) => asked.includes(scope))),
    agent: claims.act?.sub ?? agentOf(grant),
    person: claims.act === undefined ? '' : claims.sub,
    expiresAtMs: Math.min(claims.exp * 1_000, endOf(grant)),
    claims,
  }
}

/** A key of a plain subscription is good for one API, one of a product for whichever member is called. */
export function toKeyCaller(grant: Grant, api: string): KnownCaller {
  return {
    grant,
    method: 'key',
    api: grant.apiProductId === '' ? grant.api : api,
    scopes: new Set(grant.scopes),
    agent: agentOf(grant),
    person: '',
    expiresAtMs: endOf(grant),
    claims: null,
  }
}

export function withGrant(caller: KnownCaller, grant: Grant): KnownCaller {
  return caller.claims === null ? toKeyCaller(grant, caller.api) : toTokenCaller(grant, caller.claims)
}

/** The caller itself, or why it may not call `api` now. */
export function judge(caller: KnownCaller, api: string, nowMs: number): Caller | Refusal {
  const { grant, claims } = caller
  if (claims !== null && caller.api !== api) return invalid('The token is for another API.', grant)
  if (claims !== null && claims.nbf * 1_000 > nowMs) return invalid('The token is not valid yet.', grant)
  if (caller.expiresAtMs <= nowMs) return invalid('The credential has expired.', grant)
  if (!grant.valid) return invalid('The credential was revoked.', grant)
  if (!grant.active) return { code: 'subscription_required', grant, detail: 'The subscription is not active.' }
  if (caller.api !== api) {
    return { code: 'subscription_required', grant, detail: 'The key belongs to a subscription of another API.' }
  }
  return caller
}

export function invalid(detail: string, grant: Grant | null = null): Refusal {
  return { code: 'credential_invalid', grant, detail }
}

function agentOf(grant: Grant): string {
  return grant.consumerKind === 'agent' ? grant.consumer : ''
}

function endOf({ expiresAtMs }: Grant): number {
  return expiresAtMs === 0 ? Infinity : expiresAtMs
}

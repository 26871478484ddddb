/**
 * A caller whose credential has verified, and whether it is still good.
 *
 * What a token says is fixed; what its credential opens is not. So the caller is made anew from both
 * whenever its grant changes: a scope that is taken away, or an end that is brought forward, holds for
 * tokens that were issued before.
 */

import type { Caller } from '../../plan/caller.ts'
import type { Grant } from '../../plan/grant.ts'
import { refusal, type Refusal } from './credential-refusal.ts'
import type { VerifiedToken } from './verified-token.ts'

export interface KnownCaller extends Caller {
  /** What the token says; null for a key. */
  readonly token: VerifiedToken | null
}

export function toTokenCaller(grant: Grant, token: VerifiedToken): KnownCaller {
  return {
    grant,
    method: 'token',
    api: token.api,
    scopes: new Set(grant.scopes.filter((scope) => token.scopes.includes(scope))),
    agent: agentOf(grant),
    person: token.subject === grant.consumer ? '' : token.subject,
    expiresAtMs: Math.min(token.endsMs, endOf(grant)),
    token,
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
    token: null,
  }
}

export function withGrant(caller: KnownCaller, grant: Grant): KnownCaller {
  return caller.token === null ? toKeyCaller(grant, caller.api) : toTokenCaller(grant, caller.token)
}

/** The caller itself, or why it may not call `api` now. */
export function judge(caller: KnownCaller, api: string, nowMs: number): Caller | Refusal {
  const { grant, token } = caller
  if (token !== null && caller.api !== api) return refuse(caller, 'The token was issued for another API.')
  if (token !== null && token.startsMs > nowMs) return refuse(caller, 'The token is not valid yet.')
  if (caller.expiresAtMs <= nowMs) return refuse(caller, 'The credential has expired.')
  if (!grant.valid) return refuse(caller, 'The credential has been revoked.')
  if (!grant.active) {
    return refusal('subscription_required', 'The subscription is not active.', grant, caller.person)
  }
  if (caller.api !== api) {
    return refusal('subscription_required', 'The key belongs to a subscription to another API.', grant)
  }
  return caller
}

/** A credential that verified and is good no more: its party is known. */
export function refuse({ grant, person }: KnownCaller, detail: string): Refusal {
  return refusal('credential_invalid', detail, grant, person)
}

function agentOf(grant: Grant): string {
  return grant.consumerKind === 'agent' ? grant.consumer : ''
}

function endOf({ expiresAtMs }: Grant): number {
  return expiresAtMs === 0 ? Infinity : expiresAtMs
}

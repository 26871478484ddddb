/**
 * A caller whose credential has verified, and the check whether the credential is still valid.
 *
 * The claims of a token never change, but its grant may. The caller is built again from both when the grant
 * changes, so that a removed scope or an earlier expiry also applies to tokens that were issued before.
 */

import { bindingOf } from '../../boundary/plan/certificate-binding.ts'
import type { Caller } from '../../boundary/plan/caller.ts'
import type { Grant } from '../../boundary/plan/grant.ts'
import { createRefusal, type Refusal } from './credential-refusal.ts'
import type { VerifiedToken } from './verified-token.ts'

export interface KnownCaller extends Caller {
  /** Null for a key. */
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
    jti: token.jti,
    expiresAtMs: Math.min(token.endsMs, endOf(grant)),
    certificate: bindingOf(token.certificate, grant.certificateThumbprint),
    token,
  }
}

/** A key of a plain subscription is valid for one API; a key of a product is valid for each member that is called. */
export function toKeyCaller(grant: Grant, api: string): KnownCaller {
  return {
    grant,
    method: 'key',
    api: grant.apiProductId === '' ? grant.api : api,
    scopes: new Set(grant.scopes),
    agent: agentOf(grant),
    person: '',
    jti: '',
    expiresAtMs: endOf(grant),
    certificate: grant.certificateThumbprint ?? '',
    token: null,
  }
}

export function withGrant(caller: KnownCaller, grant: Grant): KnownCaller {
  return caller.token === null ? toKeyCaller(grant, caller.api) : toTokenCaller(grant, caller.token)
}

/** Returns the caller, or the reason why it may not call `api` now. */
export function checkCaller(caller: KnownCaller, api: string, nowMs: number): Caller | Refusal {
  const { grant, token } = caller
  if (token !== null && caller.api !== api) return refuseKnown(caller, 'The token was issued for another API.')
  if (token !== null && token.startsMs > nowMs) return refuseKnown(caller, 'The token is not valid yet.')
  if (caller.expiresAtMs <= nowMs) return refuseKnown(caller, 'The credential has expired.')
  if (!grant.valid) return refuseKnown(caller, 'The credential has been revoked.')
  if (!grant.active) {
    return createRefusal('subscription_required', 'The subscription is not active.', grant, caller.person)
  }
  if (caller.api !== api) {
    return createRefusal('subscription_required', 'The key belongs to a subscription to another API.', grant)
  }
  return caller
}

/** Refuses a credential that verified but is no longer valid; the call is attributed to its consumer. */
export function refuseKnown({ grant, person }: KnownCaller, detail: string): Refusal {
  return createRefusal('credential_invalid', detail, grant, person)
}

function agentOf(grant: Grant): string {
  return grant.consumerKind === 'agent' ? grant.consumer : ''
}

function endOf({ expiresAtMs }: Grant): number {
  return expiresAtMs === 0 ? Infinity : expiresAtMs
}

/**
 * Judges a token as a call with it would be judged, to explain why calls are refused.
 *
 * Neither the token nor the result is cached, and the grant is read anew, so that the judgement is that of the next call and the
 * token leaves no trace. A token that does not verify names no caller.
 */

import type { CredentialName, Grant } from '../../boundary/plan/grant.ts'
import type { JudgedToken, JudgeToken, TokenRefusal, TokenState } from '../../boundary/plan/judged-token.ts'
import { readJwt } from './jwt.ts'
import { toTokenCaller, type KnownCaller } from './known-caller.ts'
import {
  checkIssuedTo,
  checkToken,
  isRevoked,
  NO_SUBSCRIPTION,
  UNKNOWN,
  type TokenChecks,
} from './token-authentication.ts'
import type { TokenVerifier } from './token-verifier.ts'

export interface JudgeTokenOptions extends TokenChecks {
  readonly verifierFor: (tenant: string) => TokenVerifier
  readonly resolve: (name: CredentialName) => Promise<Grant | null>
}

export function createJudgeToken(options: JudgeTokenOptions): JudgeToken {
  const { verifierFor, resolve } = options

  return async (text, api, tenant) => {
    const wanted = api ?? audienceOf(text)
    const verified = await verifierFor(tenant)(text, wanted)
    if ('code' in verified) return unknown(verified)
    const { token, name } = verified
    const grant = await resolve(name)
    if (grant === null) return unknown(name.kind === 'federated' ? NO_SUBSCRIPTION : UNKNOWN)
    const otherClient = checkIssuedTo(verified, grant)
    if (otherClient !== null) return unknown(otherClient)
    const caller = toTokenCaller(grant, token)
    const checked = checkToken(options, caller, wanted)
    const refusal = 'code' in checked ? { code: checked.code, detail: checked.detail } : null
    const state = refusal === null ? 'Valid' : stateOf(options, caller, wanted)
    return { state, refusal, caller, endsMs: token.endsMs }
  }
}

function unknown({ code, detail }: TokenRefusal): JudgedToken {
  return { state: 'Unknown', refusal: { code, detail }, caller: null, endsMs: null }
}

/** The first reason for which `checkToken` refuses. */
function stateOf(checks: TokenChecks, caller: KnownCaller, api: string): TokenState {
  const now = checks.nowMs()
  if (isRevoked(checks, caller, now)) return 'Revoked'
  if (caller.api !== api) return 'OtherApi'
  if ((caller.token?.startsMs ?? 0) > now) return 'NotYetValid'
  if (caller.expiresAtMs <= now) return 'Expired'
  return caller.grant.valid ? 'SubscriptionInactive' : 'CredentialRevoked'
}

/** Only chooses the API: nothing of the token is verified here. */
function audienceOf(text: string): string {
  const jwt = readJwt(text)
  if ('fault' in jwt) return ''
  const { aud } = jwt.claims
  return typeof aud === 'string' ? aud : ''
}

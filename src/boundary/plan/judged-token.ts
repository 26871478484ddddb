/** The gateway's judgement of a token, to explain why calls with it are refused. */

import type { Caller } from './caller.ts'

/** `Unknown`: the token did not verify, or its credential does not exist. */
export type TokenState =
  | 'Valid'
  | 'Unknown'
  | 'Revoked'
  | 'OtherApi'
  | 'NotYetValid'
  | 'Expired'
  | 'CredentialRevoked'
  | 'SubscriptionInactive'

export interface TokenRefusal {
  readonly code: 'credential_missing' | 'credential_invalid' | 'subscription_required' | 'unavailable'
  readonly detail: string
}

export interface JudgedToken {
  readonly state: TokenState
  /** Null if a call would be authenticated. */
  readonly refusal: TokenRefusal | null
  /** The caller, also one that is refused; null if the state is `Unknown`. */
  readonly caller: Caller | null
  /** End of the token itself; null if the state is `Unknown`. */
  readonly endsMs: number | null
}

/** Judges at an API of the tenant; at the API that the token names if `api` is null. */
export type JudgeToken = (text: string, api: string | null, tenant: string) => Promise<JudgedToken>

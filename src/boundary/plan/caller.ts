/** The caller of a verified credential, as the stages after authentication see it. */

import type { Grant } from './grant.ts'

export interface Caller {
  readonly grant: Grant
  readonly method: 'token' | 'key'
  /** The API that the credential is valid for: `aud` of a token of this gateway; otherwise the called API. */
  readonly api: string
  /** Scopes of the token, or those of the key's subscription. */
  readonly scopes: ReadonlySet<string>
  /** The id of the calling agent; `''` if there is none. */
  readonly agent: string
  /** The person on whose behalf the consumer calls, itself or through an agent; `''` if there is none. */
  readonly person: string
  /** The id of the token; `''` for a key, and for a token of a federated issuer. */
  readonly jti: string
  /** Expiry of the credential; `Infinity` for a key without expiry. */
  readonly expiresAtMs: number
  /** Thumbprint of the client certificate that the credential is bound to; `''` if it is not bound. */
  readonly certificate: string
  /** The caller of the key that was sent with the token and verified as well. The call is attributed to the token. */
  readonly key?: Caller
}

/** The parties that a call is attributed to. */
export type Party = Pick<Caller, 'grant' | 'agent' | 'person'>

export function toParty(grant: Grant, person = ''): Party {
  return { grant, agent: grant.consumerKind === 'agent' ? grant.consumer : '', person }
}

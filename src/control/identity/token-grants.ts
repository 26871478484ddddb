/** Common parts of the grant types of the token endpoint: the authenticated request, and its answer. */

import { LIFETIME_SECONDS, type AccessToken, type ApiScopes } from './access-token.ts'
import type { Consent } from './authorization-codes.ts'
import type { Client } from './client-authentication.ts'
import { answer, refuse, signalled, type OauthAnswer, type TokenKeeper } from '../../boundary/plan/oauth-call.ts'

/** A request of a client that is authenticated and subscribed to the API. */
export interface TokenRequest {
  readonly api: string
  readonly target: ApiScopes
  readonly client: Client
  readonly values: ReadonlyMap<string, string>
  readonly keeper?: TokenKeeper | undefined
  /** The client certificate that the tokens are bound to; undefined if they are not bound. */
  readonly certificate?: string | undefined
}

/** The access that a person has allowed, as far as tokens depend on it. */
export type Login = Pick<
  Consent,
  'tenant' | 'person' | 'clientId' | 'scope' | 'wantsIdToken' | 'wantsProfile' | 'nonce' | 'loggedInAtMs'
>

/** Serves one `grant_type`. */
export type IssueToken = (request: TokenRequest) => Promise<OauthAnswer>

/** The other tokens of an answer. */
interface MoreTokens {
  readonly refresh_token?: string
  readonly id_token?: string
}

export function bearer({ text, scope }: AccessToken, more: MoreTokens = {}): OauthAnswer {
  return answer(200, { access_token: text, token_type: 'Bearer', expires_in: LIFETIME_SECONDS, scope, ...more })
}

export function tooLong(): OauthAnswer {
  return refuse('invalid_scope', 'The token would be too long for an HTTP header; request fewer scopes.')
}

/** No consumer of the person is subscribed to the API. */
export function unsubscribed(api: string): OauthAnswer {
  const refused = refuse('unauthorized_client', 'No consumer of the person has an active subscription to this API.')
  return signalled(refused, { api, outcome: 'subscription_required', grant: null })
}

/** What the grant types of the token endpoint share: the authenticated request, and the parts of its answer. */

import { LIFETIME_SECONDS, type AccessToken, type ApiScopes } from './access-token.ts'
import type { Client } from './client-authentication.ts'
import { answer, refuse, type OauthAnswer } from '../plan/oauth-call.ts'
import type { Person } from './userinfo.ts'

/** A request of a client that is authenticated and subscribed to the API. */
export interface TokenRequest {
  readonly api: string
  readonly target: ApiScopes
  readonly client: Client
  readonly values: ReadonlyMap<string, string>
}

/** Serves one `grant_type`. */
export type IssueToken = (request: TokenRequest) => Promise<OauthAnswer>

/** Returns null if the person may no longer use the login that `person` comes from. */
export type GrantPerson = (
  tenant: string,
  api: string,
  person: Pick<Person, 'id' | 'epoch'>,
) => Promise<{ readonly scopes: ReadonlySet<string> | null; isCurrent(): boolean } | null>

/** Returns the scopes of an API without those that the person is not entitled to. */
export function entitledTo(target: ApiScopes, scopes: ReadonlySet<string> | null): ApiScopes {
  return scopes === null ? target : { ...target, allowed: target.allowed.filter((scope) => scopes.has(scope)) }
}

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

/** Token revocation (RFC 7009). Answers when every gateway thread rejects the token. */

import type { AuthenticateClient } from './client-authentication.ts'
import type { IssuedTokens } from './issued-token.ts'
import { isSharedClient } from '../plan/grant.ts'
import { answer, refuse, type OauthEndpoint } from '../plan/oauth-call.ts'
import { readForm } from './token-request.ts'

export interface RevocationOptions {
  readonly authenticateClient: AuthenticateClient
  readonly tokens: Pick<IssuedTokens, 'read'>
  /** Resolves when every gateway thread rejects the token. */
  readonly revoke: (token: {
    readonly tenant: string
    readonly credential: string
    readonly jti: string
    readonly expiresAtMs: number
  }) => Promise<void>
}

export function createRevocation({ authenticateClient, tokens, revoke }: RevocationOptions): OauthEndpoint {
  return async ({ api, form, authorization }) => {
    const fields = readForm(form)
    if ('fault' in fields) return refuse('invalid_request', fields.fault)
    const client = await authenticateClient(api, fields.values, authorization)
    if ('refused' in client) return client.refused
    const text = fields.values.get('token')
    if (text === undefined) return refuse('invalid_request', 'token is missing.')
    const token = await tokens.read(text, api)
    // An invalid or expired token counts as revoked (RFC 7009, 2.2).
    if (token === null) return answer(200, null)
    if (token.client_id !== client.clientId) return refuse('invalid_grant', 'The token was issued to another client.')
    // The tokens of a shared client are bounded per person.
    const { tenant, credential } = isSharedClient(client.grant)
      ? { tenant: token.tenant, credential: token.sub }
      : client.grant
    await revoke({ tenant, credential, jti: token.jti, expiresAtMs: token.exp * 1_000 })
    return answer(200, null)
  }
}

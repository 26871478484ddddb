/**
 * Token revocation (RFC 7009). Answers when every gateway thread rejects the token.
 *
 * A refresh token, in force or replaced, ends its grant with all access tokens that the grant gave.
 */

import type { AuthenticateClient, Client } from './client-authentication.ts'
import type { IssuedTokens } from './issued-token.ts'
import { isSharedClient } from '../../boundary/plan/grant.ts'
import { answer, refuse, type OauthAnswer, type OauthEndpoint } from '../../boundary/plan/oauth-call.ts'
import { isRefreshTokenShaped, type RefreshGrants } from './refresh-grants.ts'
import { readForm } from './token-request.ts'

export interface RevocationOptions {
  readonly authenticateClient: AuthenticateClient
  readonly tokens: Pick<IssuedTokens, 'read'>
  readonly refreshGrants: Pick<RefreshGrants, 'find' | 'end'>
  /** Resolves when every gateway thread rejects the token. */
  readonly revoke: (token: {
    readonly tenant: string
    readonly credential: string
    readonly jti: string
    readonly expiresAtMs: number
  }) => Promise<void>
}

export function createRevocation(options: RevocationOptions): OauthEndpoint {
  const { authenticateClient, tokens, revoke } = options

  return async ({ api, form, authorization, certificate }) => {
    const fields = readForm(form)
    if ('fault' in fields) return refuse('invalid_request', fields.fault)
    const client = await authenticateClient(api, fields.values, authorization, certificate)
    if ('refused' in client) return client.refused
    const text = fields.values.get('token')
    if (text === undefined) return refuse('invalid_request', 'token is missing.')
    if (isRefreshTokenShaped(text)) return endGrant(options, client, text)
    const token = await tokens.read(text, api)
    // An invalid or expired token counts as revoked (RFC 7009, 2.2).
    if (token === null) return answer(200, null)
    if (token.client_id !== client.clientId) return otherClient()
    // The tokens of a shared client are bounded per person.
    const { tenant, credential } = isSharedClient(client.grant)
      ? { tenant: token.tenant, credential: token.sub }
      : client.grant
    await revoke({ tenant, credential, jti: token.jti, expiresAtMs: token.exp * 1_000 })
    return answer(200, null)
  }
}

async function endGrant({ refreshGrants }: RevocationOptions, client: Client, text: string): Promise<OauthAnswer> {
  const found = await refreshGrants.find(text)
  if (found === null) return answer(200, null)
  const { id, tenant, clientId, person } = found.grant
  if (clientId !== client.clientId) return otherClient()
  await refreshGrants.end({ tenant, consumer: client.grant.consumer || 'system', person }, id)
  return answer(200, null)
}

function otherClient(): OauthAnswer {
  return refuse('invalid_grant', 'The token was issued to another client.')
}

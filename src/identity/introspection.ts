/**
 * Token introspection (RFC 7662): whether a token is still accepted at its API.
 *
 * A client can introspect only its own tokens. Any other token is reported as inactive, like one that never existed.
 */

import type { AuthenticateClient } from './client-authentication.ts'
import type { IssuedTokens } from './issued-token.ts'
import { answer, refuse, type OauthAnswer, type OauthEndpoint } from '../plan/oauth-call.ts'
import { readForm } from './token-request.ts'

export interface IntrospectionOptions {
  readonly authenticateClient: AuthenticateClient
  readonly tokens: IssuedTokens
}

export function createIntrospection({ authenticateClient, tokens }: IntrospectionOptions): OauthEndpoint {
  return async ({ api, form, authorization }): Promise<OauthAnswer> => {
    const fields = readForm(form)
    if ('fault' in fields) return refuse('invalid_request', fields.fault)
    const client = await authenticateClient(api, fields.values, authorization)
    if ('refused' in client) return client.refused
    // The caller has to authenticate (RFC 7662, 2.1).
    if (client.isPublic)
      return refuse('unauthorized_client', 'A public client cannot introspect tokens, because it has no secret.')
    const text = fields.values.get('token')
    if (text === undefined) return refuse('invalid_request', 'token is missing.')
    const token = await tokens.read(text, api)
    if (token === null || token.client_id !== client.clientId) return answer(200, { active: false })
    const live = await tokens.live(token)
    if (live === null) return answer(200, { active: false })
    const { iss, sub, aud, client_id: clientId, jti, iat, nbf, exp, act } = token
    const claims = { iss, sub, aud, client_id: clientId, jti, iat, nbf, exp, ...(act && { act }) }
    return answer(200, { active: true, scope: live.scope, token_type: 'Bearer', ...claims })
  }
}

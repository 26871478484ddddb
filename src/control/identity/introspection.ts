/**
 * Token introspection (RFC 7662): whether an access token is still accepted at its API, or a refresh token in force.
 *
 * A client can introspect only its own tokens. Any other token is reported as inactive, like one that never existed.
 */

import type { AuthenticateClient, Client } from './client-authentication.ts'
import type { GrantPerson } from '../access/people/person-grants.ts'
import type { IssuedTokens } from './issued-token.ts'
import { answer, refuse, type OauthAnswer, type OauthEndpoint } from '../../boundary/plan/oauth-call.ts'
import { isRefreshTokenShaped, type RefreshGrants } from './refresh-grants.ts'
import { readForm } from './token-request.ts'

export interface IntrospectionOptions {
  readonly authenticateClient: AuthenticateClient
  readonly tokens: IssuedTokens
  readonly refreshGrants: Pick<RefreshGrants, 'find' | 'expiryOf'>
  readonly grantPerson: GrantPerson
}

export function createIntrospection(options: IntrospectionOptions): OauthEndpoint {
  const { authenticateClient, tokens } = options

  return async ({ api, form, authorization, certificate }): Promise<OauthAnswer> => {
    const fields = readForm(form)
    if ('fault' in fields) return refuse('invalid_request', fields.fault)
    const client = await authenticateClient(api, fields.values, authorization, certificate)
    if ('refused' in client) return client.refused
    // The caller has to authenticate (RFC 7662, 2.1).
    if (client.isPublic)
      return refuse('unauthorized_client', 'A public client cannot introspect tokens, because it has no secret.')
    const text = fields.values.get('token')
    if (text === undefined) return refuse('invalid_request', 'token is missing.')
    if (isRefreshTokenShaped(text)) return introspectRefreshToken(options, api, client, text)
    const token = await tokens.read(text, api)
    if (token === null || token.client_id !== client.clientId) return answer(200, { active: false })
    const live = await tokens.live(token)
    if (live === null) return answer(200, { active: false })
    const { iss, sub, aud, client_id: clientId, jti, iat, nbf, exp, act, cnf } = token
    const claims = { iss, sub, aud, client_id: clientId, jti, iat, nbf, exp, ...(act && { act }), ...(cnf && { cnf }) }
    return answer(200, { active: true, scope: live.scope, token_type: 'Bearer', ...claims })
  }
}

/** Does not count as a use. */
async function introspectRefreshToken(
  { refreshGrants, grantPerson }: IntrospectionOptions,
  api: string,
  client: Client,
  text: string,
): Promise<OauthAnswer> {
  const inactive = answer(200, { active: false })
  const found = await refreshGrants.find(text)
  if (found === null || !found.isInForce) return inactive
  const { grant } = found
  const { tenant, clientId, person, epoch, scope, loggedInAtMs } = grant
  const expiresAtMs = refreshGrants.expiryOf(grant)
  if (clientId !== client.clientId || grant.api !== api) return inactive
  if (!client.mayRefresh || expiresAtMs === null) return inactive
  const granted = await grantPerson({ client: client.grant, tenant, api, person: { id: person, epoch } })
  if (granted === null || granted === 'unsubscribed') return inactive
  const [iat, exp] = [Math.floor(loggedInAtMs / 1_000), Math.floor(expiresAtMs / 1_000)]
  return answer(200, { active: true, scope, client_id: clientId, sub: person, aud: api, iat, exp })
}

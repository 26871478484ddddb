/**
 * The token endpoint of an API (RFC 6749, 3.2): client credentials, and authorization codes with PKCE.
 *
 * A code is bound to its client, its verifier, its redirect URI and its API. A request without the right verifier gets a
 * uniform error and leaves the code unused. A second use of a code revokes the token of the first use. Failed attempts
 * carry a signal, so that they are recorded for the client that they concern.
 */

import type { GrantPerson } from '../access/people/person-grants.ts'
import type { AccessToken, AccessTokenRequest, ApiScopes, MintAccessToken } from './access-token.ts'
import { entitledTo, isSubscribed, LIFETIME_SECONDS } from './access-token.ts'
import type { AuthorizationCodes, Code, GivenToken } from './authorization-codes.ts'
import type { AuthenticateClient, Client } from './client-authentication.ts'
import type { MintIdToken } from './id-token.ts'
import { answer, refuse, signalled, type OauthAnswer, type OauthEndpoint } from '../plan/oauth-call.ts'
import { verifies } from './pkce.ts'
import { readForm } from './token-request.ts'
import type { Clock } from '../runtime/clock.ts'

export interface TokenEndpointOptions {
  readonly authenticateClient: AuthenticateClient
  readonly scopesOf: (api: string) => Promise<ApiScopes | null>
  readonly mint: MintAccessToken
  readonly mintIdToken: MintIdToken
  readonly codes: AuthorizationCodes
  readonly grantPerson: GrantPerson
  /** Resolves when every gateway thread rejects the token. */
  readonly revoke: (token: GivenToken & { readonly tenant: string; readonly credential: string }) => Promise<void>
  readonly clock: Pick<Clock, 'nowMs'>
  readonly gatewayUrl: string
}

interface TokenRequest {
  readonly api: string
  readonly target: ApiScopes
  readonly client: Client
  readonly values: ReadonlyMap<string, string>
}

export function createTokenEndpoint(options: TokenEndpointOptions): OauthEndpoint {
  const { authenticateClient, scopesOf, gatewayUrl } = options
  const grantTypes = new Map([
    ['client_credentials', issueForClient],
    ['authorization_code', redeemCode],
  ])

  return async ({ api, form, authorization }) => {
    const fields = readForm(form)
    if ('fault' in fields) return refuse('invalid_request', fields.fault)
    const { values } = fields
    const grantType = values.get('grant_type')
    if (grantType === undefined) return refuse('invalid_request', 'grant_type is missing.')
    const issue = grantTypes.get(grantType)
    if (issue === undefined) {
      return refuse('unsupported_grant_type', `grant_type must be ${[...grantTypes.keys()].join(' or ')}.`)
    }
    const client = await authenticateClient(api, values, authorization)
    if ('refused' in client) return client.refused
    const target = await scopesOf(api)
    if (target === null) return refuse('invalid_request', 'There is no such API.', 404)
    const { grant } = client
    if (!isSubscribed(grant, api, target)) {
      const refused = refuse('unauthorized_client', 'The client has no active subscription to this API.')
      return signalled(refused, { api, outcome: 'subscription_required', grant })
    }
    const resource = values.get('resource')
    if (resource !== undefined && resource !== `${gatewayUrl}/${api}`) {
      return refuse('invalid_target', 'resource must be the address of the API that this token endpoint belongs to.')
    }
    return issue(options, { api, target, client, values })
  }
}

async function issueForClient(
  options: TokenEndpointOptions,
  { api, target, client, values }: TokenRequest,
): Promise<OauthAnswer> {
  const { grant, clientId, isPublic } = client
  if (isPublic)
    return refuse('unauthorized_client', 'A public client cannot use client_credentials, because it has no secret.')
  const scope = values.get('scope') ?? null
  const token = options.mint({ api, target, grant, clientId, scope, person: null, opensUserinfo: false })
  return token === null ? tooLong() : answer(200, bearer(token))
}

async function redeemCode(options: TokenEndpointOptions, tokenRequest: TokenRequest): Promise<OauthAnswer> {
  const { mint, mintIdToken, codes, clock } = options
  const { api, target, client, values } = tokenRequest
  const [text, verifier] = [values.get('code'), values.get('code_verifier')]
  if (text === undefined) return refuse('invalid_request', 'code is missing.')
  if (verifier === undefined) return refuse('invalid_request', 'code_verifier is missing.')
  const code = await codes.find(text)
  if (code === null || !isBoundTo(code, tokenRequest, verifier)) return invalidCode()
  if (code.gave !== null) return refuseReuse(options, code, code.gave)
  if (code.expiresAtMs <= clock.nowMs()) return invalidCode()

  const { clientId } = client
  const { tenant, scope, person, wantsIdToken } = code
  const granted = await options.grantPerson({ client: client.grant, tenant, api, person })
  if (granted === null) return invalidCode()
  if (granted === 'unsubscribed' || !isSubscribed(granted.grant, api, target)) return refuseUnsubscribed(api)
  const { grant } = granted
  const entitled = entitledTo(target, granted.scopes)
  const opensUserinfo = wantsIdToken
  const request: AccessTokenRequest = { api, target: entitled, grant, clientId, scope, person, opensUserinfo }
  const token = mint(request)
  if (token === null) return tooLong()
  if (!(await codes.use(code, { jti: token.jti, expiresAtMs: token.expiresAtMs }))) {
    const used = await codes.find(text)
    return used === null || used.gave === null ? invalidCode() : refuseReuse(options, used, used.gave)
  }
  if (!granted.isCurrent()) return invalidCode()
  if (!wantsIdToken) return answer(200, bearer(token))
  const algorithm = target.tokenAlgorithm ?? 'ES256'
  const idToken = mintIdToken({ api, code, accessToken: token.text, algorithm })
  return answer(200, { ...bearer(token), id_token: idToken })
}

function refuseUnsubscribed(api: string): OauthAnswer {
  const refused = refuse('unauthorized_client', 'No consumer of the person has an active subscription to this API.')
  return signalled(refused, { api, outcome: 'subscription_required', grant: null })
}

function isBoundTo(code: Code, { api, client, values }: TokenRequest, verifier: string): boolean {
  if (code.clientId !== client.clientId || !verifies(code.challenge, verifier)) return false
  const redirectUri = values.get('redirect_uri') ?? code.redirectUri
  return redirectUri === code.redirectUri && (code.api === '' || code.api === api)
}

/** Revokes the token of the first use, because it may have been issued to an attacker (RFC 6749, 10.5). */
async function refuseReuse(
  options: TokenEndpointOptions,
  { tenant, credential }: Code,
  gave: GivenToken,
): Promise<OauthAnswer> {
  await options.revoke({ tenant, credential, ...gave })
  return invalidCode()
}

function bearer({ text, scope }: AccessToken): object {
  return { access_token: text, token_type: 'Bearer', expires_in: LIFETIME_SECONDS, scope }
}

/** The same answer for every fault, so that it reveals nothing about codes of other clients. */
function invalidCode(): OauthAnswer {
  return refuse(
    'invalid_grant',
    'The code is invalid or expired, or it was issued for another client, code_verifier, redirect_uri or API.',
  )
}

function tooLong(): OauthAnswer {
  return refuse('invalid_scope', 'The token would be too long for an HTTP header; request fewer scopes.')
}

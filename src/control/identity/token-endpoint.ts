/**
 * The token endpoint of an API (RFC 6749, 3.2): client credentials, authorization codes with PKCE, refresh tokens and
 * device codes.
 *
 * A code is bound to its client, its verifier, its redirect URI and its API. A request without the right verifier gets a
 * uniform error and leaves the code unused. A second use of a code revokes the tokens of the first use. Failed attempts
 * carry a signal, so that they are recorded for the client that they concern.
 */

import { PLATFORM_API } from '../../foundation/domain/platform-api.ts'
import type { ApiScopes } from './access-token.ts'
import { isSubscribed } from './access-token.ts'
import type { AuthorizationCodes, Code, GivenToken } from './authorization-codes.ts'
import type { AuthenticateClient } from './client-authentication.ts'
import { refuse, signalled, type OauthAnswer, type OauthEndpoint } from '../../boundary/plan/oauth-call.ts'
import { createDeviceExchange, DEVICE_CODE_GRANT, type DeviceExchangeOptions } from './device-exchange.ts'
import { createLoginTokens, type IssueLogin, type LoginTokensOptions } from './login-tokens.ts'
import { verifies } from './pkce.ts'
import { createRefreshExchange, type RefreshExchangeOptions } from './refresh-exchange.ts'
import type { RefreshGrants } from './refresh-grants.ts'
import { tooLong, bearer, type TokenRequest, type IssueToken } from './token-grants.ts'
import { apiOfResource, type ResourceAddresses } from './resource.ts'
import { readForm } from './token-request.ts'

export interface TokenEndpointOptions
  extends LoginTokensOptions, RefreshExchangeOptions, DeviceExchangeOptions, ResourceAddresses {
  readonly authenticateClient: AuthenticateClient
  readonly scopesOf: (api: string) => Promise<ApiScopes | null>
  readonly codes: AuthorizationCodes
  readonly refreshGrants: RefreshGrants
  /** Resolves when every gateway thread rejects the token. */
  readonly revoke: (token: GivenToken & { readonly tenant: string; readonly credential: string }) => Promise<void>
}

export function createTokenEndpoint(options: TokenEndpointOptions): OauthEndpoint {
  const { authenticateClient, scopesOf } = options
  const issueLogin = createLoginTokens(options)
  const grantTypes = new Map<string, IssueToken>([
    ['client_credentials', (request) => issueForClient(options, request)],
    ['authorization_code', (request) => redeemCode(options, issueLogin, request)],
    ['refresh_token', createRefreshExchange(options)],
    [DEVICE_CODE_GRANT, createDeviceExchange(options, issueLogin)],
  ])

  return async ({ api, form, authorization, certificate, keeper }) => {
    const fields = readForm(form)
    if ('fault' in fields) return refuse('invalid_request', fields.fault)
    const { values } = fields
    const grantType = values.get('grant_type')
    if (grantType === undefined) return refuse('invalid_request', 'grant_type is missing.')
    const issue = grantTypes.get(grantType)
    if (issue === undefined) {
      return refuse('unsupported_grant_type', `grant_type must be one of ${[...grantTypes.keys()].join(', ')}.`)
    }
    const client = await authenticateClient(api, values, authorization, certificate)
    if ('refused' in client) return client.refused
    const target = await scopesOf(api)
    if (target === null) return refuse('invalid_request', 'There is no such API.', 404)
    const { grant } = client
    if (!isSubscribed(grant, api, target)) {
      const refused = refuse('unauthorized_client', 'The client has no active subscription to this API.')
      return signalled(refused, { api, outcome: 'subscription_required', grant })
    }
    const resource = values.get('resource')
    if (resource !== undefined && apiOfResource(options, resource) !== api) {
      return refuse('invalid_target', 'resource must be the address of the API that this token endpoint belongs to.')
    }
    return issue({ api, target, client, values, keeper, certificate: toBinding(api, certificate) })
  }
}

/** Callers of the platform API cannot present a certificate there, so that its tokens are not bound. */
function toBinding(api: string, certificate: string | undefined): string | undefined {
  return api === PLATFORM_API ? undefined : certificate
}

async function issueForClient(
  options: TokenEndpointOptions,
  { api, target, client, values, certificate }: TokenRequest,
): Promise<OauthAnswer> {
  const { grant, clientId, isPublic } = client
  if (isPublic)
    return refuse('unauthorized_client', 'A public client cannot use client_credentials, because it has no secret.')
  const scope = values.get('scope') ?? null
  const token = options.mint({ api, target, grant, clientId, scope, person: null, opensUserinfo: false, certificate })
  return token === null ? tooLong() : bearer(token)
}

async function redeemCode(
  options: TokenEndpointOptions,
  issueLogin: IssueLogin,
  tokenRequest: TokenRequest,
): Promise<OauthAnswer> {
  const { codes, clock } = options
  const { values } = tokenRequest
  const [text, verifier] = [values.get('code'), values.get('code_verifier')]
  if (text === undefined) return refuse('invalid_request', 'code is missing.')
  if (verifier === undefined) return refuse('invalid_request', 'code_verifier is missing.')
  const code = await codes.find(text)
  if (code === null || !isBoundTo(code, tokenRequest, verifier)) return invalidCode()
  if (code.gave !== null) return refuseReuse(options, code, code.gave)
  if (code.expiresAtMs <= clock.nowMs()) return invalidCode()
  const issued = await issueLogin(tokenRequest, code, (gives, writes) => codes.use(code, gives, writes))
  if (issued !== null) return issued
  // A concurrent request may have used the code.
  const used = await codes.find(text)
  return used === null || used.gave === null ? invalidCode() : refuseReuse(options, used, used.gave)
}

function isBoundTo(code: Code, { api, client, values }: TokenRequest, verifier: string): boolean {
  if (code.clientId !== client.clientId || !verifies(code.challenge, verifier)) return false
  const redirectUri = values.get('redirect_uri') ?? code.redirectUri
  return redirectUri === code.redirectUri && (code.api === '' || code.api === api)
}

/** Revokes the tokens of the first use, because they may have been issued to an attacker (RFC 6749, 10.5). */
async function refuseReuse(
  { revoke, refreshGrants }: TokenEndpointOptions,
  { tenant, credential, person }: Code,
  { grant, ...gave }: GivenToken,
): Promise<OauthAnswer> {
  // A shared client has no credential; its tokens are bounded per person.
  await revoke({ tenant, credential: credential || person.id, ...gave })
  if (grant !== undefined) {
    await refreshGrants.end({ tenant, consumer: 'system', person: person.id }, grant, 'refresh_grant.reuse')
  }
  return invalidCode()
}

/** The same answer for every fault, so that it reveals nothing about codes of other clients. */
function invalidCode(): OauthAnswer {
  return refuse(
    'invalid_grant',
    'The code is invalid or expired, or it was issued for another client, code_verifier, redirect_uri or API.',
  )
}

/**
 * The discovery documents of an API: as an issuer (RFC 8414; OpenID Connect Discovery 1.0, 3) and as a protected resource.
 * Everything that they list is implemented.
 */

import { MCP_PATH } from '../../boundary/plan/mcp-exposure.ts'

export interface Discovered {
  readonly gatewayUrl: string
  readonly api: string
  readonly scopes: readonly string[]
}

/** An API with what the authorization server offers for it. */
export interface DiscoveredIssuer extends Discovered {
  /** Whether clients can register themselves (RFC 7591). */
  readonly allowsRegistration: boolean
  /** Whether tokens are bound to the certificate of a client that presents one (RFC 8705, 3.3). */
  readonly bindsTokens: boolean
}

/** The metadata of an API as a protected resource (RFC 9728). */
export function toProtectedResource({ gatewayUrl, api, scopes }: Discovered, path = ''): object {
  const issuer = `${gatewayUrl}/${api}`
  return {
    resource: issuer + path,
    authorization_servers: [issuer],
    scopes_supported: scopes,
    bearer_methods_supported: ['header'],
    resource_name: api,
  }
}

/** The metadata of the MCP endpoint of an API: RFC 9728, 3.3, requires the address from which it was derived. */
export function toMcpResource(discovered: Discovered): object {
  return toProtectedResource(discovered, MCP_PATH)
}

export function toDiscovery({ gatewayUrl, api, scopes, allowsRegistration, bindsTokens }: DiscoveredIssuer): object {
  const issuer = `${gatewayUrl}/${api}`
  const oauth = `${issuer}/oauth2/v2`
  const byConfidential = ['client_secret_basic', 'client_secret_post']
  return {
    issuer,
    // One endpoint for all APIs; the subscription or `resource` (RFC 8707) selects the API.
    authorization_endpoint: `${gatewayUrl}/oauth2/v2/authorize`,
    device_authorization_endpoint: `${gatewayUrl}/oauth2/v2/device_authorization`,
    token_endpoint: `${oauth}/token`,
    introspection_endpoint: `${oauth}/introspect`,
    revocation_endpoint: `${oauth}/revoke`,
    userinfo_endpoint: `${oauth}/userinfo`,
    ...(allowsRegistration && { registration_endpoint: `${oauth}/register` }),
    jwks_uri: `${gatewayUrl}/.well-known/jwks`,
    scopes_supported: [...new Set([...scopes, 'openid', 'profile', 'offline_access'])],
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: [
      'client_credentials',
      'authorization_code',
      'refresh_token',
      'urn:ietf:params:oauth:grant-type:device_code',
    ],
    token_endpoint_auth_methods_supported: [...byConfidential, 'none'],
    introspection_endpoint_auth_methods_supported: byConfidential,
    revocation_endpoint_auth_methods_supported: [...byConfidential, 'none'],
    code_challenge_methods_supported: ['S256'],
    ...(bindsTokens && { tls_client_certificate_bound_access_tokens: true }),
    client_id_metadata_document_supported: true,
    authorization_response_iss_parameter_supported: true,
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256', 'RS256'],
    claims_supported: [
      'iss',
      'sub',
      'aud',
      'exp',
      'iat',
      'auth_time',
      'nonce',
      'at_hash',
      'name',
      'preferred_username',
    ],
    claims_parameter_supported: false,
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
  }
}

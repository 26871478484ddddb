/**
 * Reads the metadata of a provider that the sign-in of people needs (OpenID Connect Discovery, 3).
 *
 * Accepts only asymmetric algorithms for ID tokens: a symmetric one would let the owner of the client secret sign in as anybody.
 */

export interface SignInMetadata {
  readonly authorizationEndpoint: string
  readonly tokenEndpoint: string
  /** Null: the ID token has all claims. */
  readonly userinfoEndpoint: string | null
  readonly authentication: 'client_secret_basic' | 'client_secret_post'
  readonly algorithms: readonly string[]
  /** Whether each authorization response names the issuer (RFC 9207). */
  readonly namesIssuer: boolean
}

type Members = Readonly<Record<string, unknown>>

const URL_LENGTH_MAX = 2_048
const METHODS = ['client_secret_basic', 'client_secret_post'] as const
const ALGORITHMS: readonly string[] = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
]

/** Returns null if people cannot sign in with what the discovery document offers. */
export function readSignInMetadata(issuer: string, document: Members): SignInMetadata | null {
  const authorizationEndpoint = urlOf(issuer, document['authorization_endpoint'])
  const tokenEndpoint = urlOf(issuer, document['token_endpoint'])
  const methods = document['token_endpoint_auth_methods_supported'] ?? ['client_secret_basic']
  const authentication = METHODS.find((method) => Array.isArray(methods) && methods.includes(method))
  const supported = document['id_token_signing_alg_values_supported']
  const algorithms = ALGORITHMS.filter((name) => !Array.isArray(supported) || supported.includes(name))
  if (authorizationEndpoint === null || tokenEndpoint === null || authentication === undefined) return null
  if (algorithms.length === 0) return null
  return {
    authorizationEndpoint,
    tokenEndpoint,
    userinfoEndpoint: urlOf(issuer, document['userinfo_endpoint']),
    authentication,
    algorithms,
    namesIssuer: document['authorization_response_iss_parameter_supported'] === true,
  }
}

/** Accepts http only if the issuer itself has it, which the deployment must allow. */
function urlOf(issuer: string, value: unknown): string | null {
  if (typeof value !== 'string' || value.length > URL_LENGTH_MAX) return null
  const url = URL.parse(value)
  if (url === null || url.hash !== '' || url.username !== '' || url.password !== '') return null
  return url.protocol === 'https:' || (url.protocol === 'http:' && issuer.startsWith('http:')) ? url.href : null
}

/**
 * Issues access tokens (RFC 6749, JWTs of RFC 9068) for client credentials.
 *
 * A token is for exactly one API and carries what of the requested scopes the credential was granted,
 * the API declares and its proxy allows (RFC 6749, 3.3); what is not is dropped. Unknown clients and
 * wrong secrets answer alike and take alike. An attempt that fails comes with a signal, so that it can
 * be recorded against whom it concerns.
 */

import type { Grant } from '../catalogue/grant.ts'
import { isSameHash } from '../catalogue/secret.ts'
import type { Clock } from '../runtime/clock.ts'
import type { CreateId } from '../runtime/ids.ts'
import { readClient, readForm, type ClientCredentials } from './token-request.ts'
import type { KeyRing, TokenAlgorithm } from './key-ring.ts'
import type { SecretBrake } from './secret-brake.ts'

export interface TokenRequest {
  readonly api: string
  readonly form: readonly (readonly [string, string])[]
  readonly authorization: string | undefined
}

export interface TokenAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
  /** How the attempt is recorded; null: not at all. */
  readonly signal: TokenSignal | null
}

export interface TokenSignal {
  readonly outcome: 'credential_invalid' | 'subscription_required'
  readonly grant: Grant | null
}

export interface ApiScopes {
  readonly tenant: string
  readonly declared: readonly string[]
  readonly allowed: readonly string[]
  readonly productIds: readonly string[]
  /** ES256 where the API does not ask for another. */
  readonly tokenAlgorithm?: TokenAlgorithm
}

export interface TokenIssuerOptions {
  readonly keyRing: Pick<KeyRing, 'sign'>
  readonly clientFor: (clientId: string) => Promise<{ readonly grant: Grant; readonly secretHash: string } | null>
  readonly scopesOf: (api: string) => Promise<ApiScopes | null>
  readonly keyedHash: (text: string) => string
  readonly brake: SecretBrake
  readonly clock: Clock
  readonly createId: CreateId
  readonly gatewayUrl: string
}

export type IssueToken = (request: TokenRequest) => Promise<TokenAnswer>

const LIFETIME_SECONDS = 3_600
const HEADER_BYTES_MAX = 8_000
const NOBODY: TokenSignal = { outcome: 'credential_invalid', grant: null }

export function createTokenIssuer(options: TokenIssuerOptions): IssueToken {
  const { keyRing, clientFor, scopesOf, keyedHash, brake, clock, createId, gatewayUrl } = options
  /** Compared with where there is no client, so that both cases take the same time. */
  const nobodysHash = keyedHash('no client has this secret')

  return async ({ api, form, authorization }) => {
    const fields = readForm(form)
    if ('fault' in fields) return refuse('invalid_request', fields.fault)
    const { values } = fields
    const grantType = values.get('grant_type')
    if (grantType === undefined) return refuse('invalid_request', 'grant_type is missing.')
    if (grantType !== 'client_credentials')
      return refuse('unsupported_grant_type', 'This endpoint takes client_credentials.')
    const client = readClient(values, authorization)
    if ('fault' in client) {
      if (client.error === 'invalid_request') return refuse(client.error, client.fault)
      return { ...unauthenticated(client.fault, authorization !== undefined), signal: NOBODY }
    }
    const target = await scopesOf(api)
    if (target === null) return refuse('invalid_request', 'There is no such API.', 404)
    return forClient(api, target, client, values.get('scope'))
  }

  async function forClient(
    api: string,
    target: ApiScopes,
    client: ClientCredentials,
    scope: string | undefined,
  ): Promise<TokenAnswer> {
    const known = await clientFor(client.clientId)
    const isRight = isSameHash(keyedHash(client.clientSecret), known?.secretHash || nobodysHash)
    if (known === null || !isRight || !known.grant.valid || isPast(known.grant))
      return wrongSecret(client, known?.grant ?? null)
    const { grant } = known
    if (!grant.active || !isFor(grant, api, target)) {
      return {
        ...refuse('unauthorized_client', 'The client holds no active subscription to this API.'),
        signal: { outcome: 'subscription_required', grant },
      }
    }
    return mint(api, target, grant, client.clientId, scope)
  }

  function mint(
    api: string,
    target: ApiScopes,
    grant: Grant,
    clientId: string,
    requested: string | undefined,
  ): TokenAnswer {
    const possible = grant.scopes.filter((scope) => target.declared.includes(scope) && target.allowed.includes(scope))
    const asked = requested === undefined ? null : new Set(requested.split(' '))
    const scope = possible.filter((each) => asked === null || asked.has(each)).join(' ')
    const iat = Math.floor(clock.nowMs() / 1_000)
    const claims = {
      iss: `${gatewayUrl}/${api}`,
      sub: grant.consumer,
      client_id: clientId,
      aud: api,
      scope,
      tenant: grant.tenant,
      subscription: grant.subscription,
      ...(grant.apiProductId !== '' && { ApiProductId: grant.apiProductId }),
      iat,
      nbf: iat,
      exp: iat + LIFETIME_SECONDS,
      jti: createId('tok'),
    }
    const token = keyRing.sign(claims, target.tokenAlgorithm ?? 'ES256', 'at+jwt')
    if (`Authorization: Bearer ${token}\r\n`.length > HEADER_BYTES_MAX) {
      return refuse('invalid_scope', 'The token would be too long for a header; ask for fewer scopes.')
    }
    return answer(200, { access_token: token, token_type: 'Bearer', expires_in: LIFETIME_SECONDS, scope })
  }

  function wrongSecret(client: ClientCredentials, grant: Grant | null): TokenAnswer {
    const waitSeconds = brake.failed(client.clientId)
    const signal: TokenSignal = { outcome: 'credential_invalid', grant }
    if (waitSeconds > 0) {
      const body = { error: 'invalid_client', error_description: 'Too many wrong secrets; wait before the next try.' }
      return { ...answer(429, body, { 'Retry-After': String(waitSeconds) }), signal }
    }
    return { ...unauthenticated('The client is not known, or its secret is wrong.', client.isBasic), signal }
  }

  function isPast({ expiresAtMs }: Grant): boolean {
    return expiresAtMs !== 0 && expiresAtMs <= clock.nowMs()
  }
}

function isFor(grant: Grant, api: string, { tenant, productIds }: ApiScopes): boolean {
  if (grant.tenant !== tenant) return false
  return grant.apiProductId === '' ? grant.api === api : productIds.includes(grant.apiProductId)
}

/** A challenge goes with it where the client came with an Authorization header (RFC 6749, 5.2). */
function unauthenticated(description: string, isChallenged: boolean): TokenAnswer {
  const body = { error: 'invalid_client', error_description: description }
  return answer(401, body, isChallenged ? { 'WWW-Authenticate': 'Basic realm="token"' } : {})
}

function refuse(error: string, description: string, status = 400): TokenAnswer {
  return answer(status, { error, error_description: description })
}

function answer(status: number, body: object, headers: Readonly<Record<string, string>> = {}): TokenAnswer {
  return { status, headers: { 'Cache-Control': 'no-store', Pragma: 'no-cache', ...headers }, body, signal: null }
}

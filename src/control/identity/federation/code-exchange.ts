/**
 * The relying party of OpenID Connect: authorization requests to a provider, and the exchange of its codes (Core, 3.1; RFC 7636).
 *
 * `oauth4webapi` validates the response, the token endpoint's answer and the ID token; its requests go through the guarded fetch with
 * bounds in time and size. Signatures are verified with the keys that the federation has fetched. Whatever a provider answers, the
 * result is claims or a fault.
 */

import { createHash } from 'node:crypto'
import * as oauth from 'oauth4webapi'
import type { Claims } from '../../access/people/role-mapping.ts'
import type { RelyingParty } from '../../access/sign-in-providers.ts'
import type { GuardedFetch } from '../../../foundation/outbound/guarded-fetch.ts'
import type { Clock } from '../../../foundation/runtime/clock.ts'
import type { Published, PublicKey } from './discover.ts'
import type { SignInMetadata } from './sign-in-metadata.ts'

/** The secrets of one sign-in. */
export interface SignInProof {
  readonly nonce: string
  readonly verifier: string
}

export interface ProviderRequest {
  readonly state: string
  /** Whether the provider has to ask a person who is signed in there. */
  readonly needsNewLogin: boolean
}

export type ExchangeResult =
  | { readonly claims: Claims }
  /** The error of the provider, as in `access_denied`. */
  | { readonly refused: string }
  /** For the log. */
  | { readonly fault: string }

export interface CodeExchange {
  /** Returns the address that the browser is sent to; null if the provider does not publish what a sign-in needs. */
  authorizationUrl(party: RelyingParty, proof: SignInProof, request: ProviderRequest): string | null
  /** Validates the response of the provider and returns the claims of the person. */
  redeem(party: RelyingParty, proof: SignInProof, response: URLSearchParams): Promise<ExchangeResult>
}

export interface CodeExchangeOptions {
  readonly publishedBy: (provider: string) => Published | null
  /** Fetches the keys of a provider, if the last such fetch was not just before. */
  readonly refetch: (provider: string) => Promise<unknown>
  readonly fetch: GuardedFetch['fetch']
  readonly clock: Pick<Clock, 'nowMs'>
}

const TIMEOUT_MS = 5_000
const ANSWER_BYTES_MAX = 65_536
const CODE_LENGTH_MAX = 4_096
const TOLERANCE_SECONDS = 60
/** An ID token is used right after it was issued. */
const AGE_SECONDS_MAX = 600

export function createCodeExchange(options: CodeExchangeOptions): CodeExchange {
  const { publishedBy } = options

  return {
    authorizationUrl({ id, clientId, scopes, redirectUri }, { nonce, verifier }, { state, needsNewLogin }) {
      const metadata = publishedBy(id)?.signIn
      if (metadata === undefined || metadata === null) return null
      const url = new URL(metadata.authorizationEndpoint)
      const parameters = {
        response_type: 'code',
        client_id: clientId,
        redirect_uri: redirectUri,
        scope: [...new Set(['openid', ...scopes])].join(' '),
        state,
        nonce,
        code_challenge: createHash('sha256').update(verifier).digest('base64url'),
        code_challenge_method: 'S256',
        ...(needsNewLogin && { prompt: 'login' }),
      }
      for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
      return url.href
    },
    async redeem(party, proof, response) {
      const published = publishedBy(party.id)
      if (published?.signIn === undefined || published.signIn === null)
        return { fault: 'the provider is not known yet' }
      try {
        return { claims: await exchange(options, party, published.signIn, proof, response) }
      } catch (cause) {
        return cause instanceof oauth.AuthorizationResponseError ? { refused: cause.error } : { fault: faultOf(cause) }
      }
    },
  }
}

/** Leaves out the cause, which has tokens and claims. */
function faultOf(cause: unknown): string {
  if (cause instanceof oauth.ResponseBodyError) return `the provider answered ${cause.error.slice(0, 64)}`
  return cause instanceof Error ? cause.message.slice(0, 500) : 'unknown'
}

async function exchange(
  options: CodeExchangeOptions,
  party: RelyingParty,
  metadata: SignInMetadata,
  { nonce, verifier }: SignInProof,
  response: URLSearchParams,
): Promise<Claims> {
  const { fetch, clock } = options
  const { issuer, clientId, clientSecret, redirectUri } = party
  const server = toServer(issuer, metadata)
  const nowSeconds = Math.floor(clock.nowMs() / 1_000)
  const client: oauth.Client = {
    client_id: clientId,
    [oauth.clockSkew]: nowSeconds - Math.floor(Date.now() / 1_000),
    [oauth.clockTolerance]: TOLERANCE_SECONDS,
  }
  const requests = { [oauth.customFetch]: toFetch(fetch), [oauth.allowInsecureRequests]: true }
  // The state is compared where it is opened.
  const parameters = oauth.validateAuthResponse(server, client, response, oauth.skipStateCheck)
  if ((parameters.get('code') ?? '').length > CODE_LENGTH_MAX) throw new Error('the code is too long')
  const authentication =
    metadata.authentication === 'client_secret_basic'
      ? oauth.ClientSecretBasic(clientSecret)
      : oauth.ClientSecretPost(clientSecret)
  const answer = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    authentication,
    parameters,
    redirectUri,
    verifier,
    requests,
  )
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, answer, {
    expectedNonce: nonce,
    requireIdToken: true,
  })
  await verifySignature(options, party, server, answer)
  const claims = oauth.getValidatedIdTokenClaims(tokens)
  if (claims === undefined) throw new Error('there is no ID token')
  checkFresh(claims, nowSeconds)
  checkAccessToken(claims, tokens)
  return metadata.userinfoEndpoint === null
    ? claims
    : { ...(await readUserinfo(server, client, tokens.access_token, claims.sub, requests)), ...claims }
}

function toServer(issuer: string, metadata: SignInMetadata): oauth.AuthorizationServer {
  const { authorizationEndpoint, tokenEndpoint, userinfoEndpoint, algorithms, namesIssuer } = metadata
  return {
    issuer,
    authorization_endpoint: authorizationEndpoint,
    token_endpoint: tokenEndpoint,
    // Keys come from the federation; this address is never fetched.
    jwks_uri: issuer,
    id_token_signing_alg_values_supported: [...algorithms],
    authorization_response_iss_parameter_supported: namesIssuer,
    ...(userinfoEndpoint !== null && { userinfo_endpoint: userinfoEndpoint }),
  }
}

/** Verifies with the last known keys; if none of them fits, with those that the provider publishes now. */
async function verifySignature(
  { publishedBy, refetch }: CodeExchangeOptions,
  { id }: RelyingParty,
  server: oauth.AuthorizationServer,
  answer: Response,
): Promise<void> {
  // A copy for each attempt, because the library remembers the keys of a server.
  const verify = (keys: readonly PublicKey[]): Promise<void> =>
    oauth.validateApplicationLevelSignature({ ...server }, answer, {
      [oauth.jwksCache]: { jwks: { keys: [...keys] as oauth.JWK[] }, uat: Math.floor(Date.now() / 1_000) },
    })
  const known = publishedBy(id)?.keys ?? []
  try {
    await verify(known)
  } catch (cause) {
    if (!(cause instanceof oauth.OperationProcessingError) || cause.code !== oauth.KEY_SELECTION) throw cause
    await refetch(id)
    const keys = publishedBy(id)?.keys ?? known
    // Another sign-in may have fetched them meanwhile.
    if (keys === known) throw cause
    await verify(keys)
  }
}

function checkFresh({ iat }: oauth.IDToken, nowSeconds: number): void {
  if (iat > nowSeconds + TOLERANCE_SECONDS) throw new Error('the ID token was issued in the future')
  if (iat < nowSeconds - AGE_SECONDS_MAX) throw new Error('the ID token is too old')
}

/** Compares `at_hash` (OpenID Connect Core, 3.1.3.8), if the provider sends it. */
function checkAccessToken({ at_hash: hash }: oauth.IDToken, tokens: oauth.TokenEndpointResponse): void {
  if (hash === undefined) return
  const [head = ''] = (tokens.id_token ?? '').split('.')
  const { alg = '' } = JSON.parse(Buffer.from(head, 'base64url').toString()) as { alg?: string }
  // EdDSA uses SHA-512, the others the hash of their name.
  const digest = createHash(/^Ed/.test(alg) ? 'sha512' : `sha${alg.slice(2)}`)
    .update(tokens.access_token)
    .digest()
  if (hash !== digest.subarray(0, digest.length / 2).toString('base64url')) throw new Error('at_hash does not match')
}

/** Many providers put the claims of a person only there. */
async function readUserinfo(
  server: oauth.AuthorizationServer,
  client: oauth.Client,
  accessToken: string,
  subject: string,
  requests: Parameters<typeof oauth.userInfoRequest>[3],
): Promise<Claims> {
  const answer = await oauth.userInfoRequest(server, client, accessToken, requests)
  return oauth.processUserInfoResponse(server, client, subject, answer)
}

/** Adapts the guarded fetch to the library. */
function toFetch(fetch: GuardedFetch['fetch']) {
  return async (
    url: string,
    { method, headers, body }: oauth.CustomFetchOptions<string, unknown>,
  ): Promise<Response> => {
    const result = await fetch({
      url,
      method: method === 'POST' ? 'POST' : 'GET',
      headers: { ...headers },
      ...(body instanceof URLSearchParams && { body: body.toString() }),
      timeoutMs: TIMEOUT_MS,
      bytesMax: ANSWER_BYTES_MAX,
    })
    if (result.kind === 'failed') throw new Error(`${new URL(url).origin}: ${result.detail}`)
    const type = result.headers['content-type']
    return new Response(result.status === 204 ? null : new Uint8Array(result.body), {
      status: result.status,
      headers: typeof type === 'string' ? { 'content-type': type } : {},
    })
  }
}

/**
 * Who a client is, at every endpoint that asks: by its secret in the form or by HTTP Basic, or by its
 * name alone where it is public (RFC 6749, 2.3).
 *
 * Unknown clients and wrong secrets answer alike and take alike; secrets are compared as keyed hashes,
 * in constant time. From the 10th wrong secret in 60 s the wrong ones are told to wait.
 */

import type { Grant } from '../plan/grant.ts'
import { isSameHash } from '../plan/credential-format.ts'
import type { Clock } from '../runtime/clock.ts'
import { answer, refuse, signalled, type OauthAnswer, type OauthSignal } from '../plan/oauth-call.ts'
import type { SecretThrottle } from './secret-throttle.ts'
import { readClient, type NamedClient } from './token-request.ts'

export interface RegisteredClient {
  readonly grant: Grant
  /** `''`: a public client. */
  readonly secretHash: string
  readonly redirectUris: readonly string[]
}

export interface Client {
  readonly clientId: string
  readonly grant: Grant
  readonly isPublic: boolean
}

export type AuthenticateClient = (
  api: string,
  values: ReadonlyMap<string, string>,
  authorization: string | undefined,
) => Promise<Client | { readonly refused: OauthAnswer }>

export interface ClientAuthenticationOptions {
  readonly clientFor: (clientId: string) => Promise<RegisteredClient | null>
  readonly keyedHash: (text: string) => string
  readonly throttle: SecretThrottle
  readonly clock: Pick<Clock, 'nowMs'>
}

export function createClientAuthentication(options: ClientAuthenticationOptions): AuthenticateClient {
  const { clientFor, keyedHash, throttle, clock } = options
  /** Compared with where there is no client, so that both cases take the same time. */
  const nobodysHash = keyedHash('no client has this secret')

  return async (api, values, authorization) => {
    const named = readClient(values, authorization)
    if ('fault' in named) {
      if (named.error === 'invalid_request') return { refused: refuse(named.error, named.fault) }
      const outcome = named.isMissing ? 'credential_missing' : 'credential_invalid'
      const refused = unauthenticated(named.fault, authorization !== undefined)
      return { refused: signalled(refused, { api, outcome, grant: null }) }
    }
    const { clientId, clientSecret, isBasic } = named
    const known = await clientFor(clientId)
    const isPublic = known?.secretHash === ''
    if (clientSecret === null && !isPublic) {
      const refused = unauthenticated('The client must send its client_secret.', isBasic)
      return { refused: signalled(refused, { api, outcome: 'credential_missing', grant: null }) }
    }
    const isRight = clientSecret === null || isSameHash(keyedHash(clientSecret), known?.secretHash || nobodysHash)
    if (known === null || !isRight) return { refused: wrongSecret(api, named, known?.grant ?? null) }
    const { grant } = known
    if (grant.valid && !isPast(grant)) return { clientId, grant, isPublic }
    return { refused: wrongSecret(api, named, grant) }
  }

  function wrongSecret(api: string, { clientId, isBasic }: NamedClient, grant: Grant | null): OauthAnswer {
    const waitSeconds = throttle.failed(clientId)
    const signal: OauthSignal = { api, outcome: 'credential_invalid', grant }
    if (waitSeconds === 0)
      return signalled(
        unauthenticated('The client is unknown or no longer valid, or its secret is wrong.', isBasic),
        signal,
      )
    const body = {
      error: 'invalid_client',
      error_description: 'Too many wrong secrets; retry after the time in the Retry-After header.',
    }
    return signalled(answer(429, body, { 'Retry-After': String(waitSeconds) }), signal)
  }

  function isPast({ expiresAtMs }: Grant): boolean {
    return expiresAtMs !== 0 && expiresAtMs <= clock.nowMs()
  }
}

/** A challenge goes with it where the client came with an Authorization header (RFC 6749, 5.2). */
function unauthenticated(description: string, isChallenged: boolean): OauthAnswer {
  const body = { error: 'invalid_client', error_description: description }
  return answer(401, body, isChallenged ? { 'WWW-Authenticate': 'Basic realm="token"' } : {})
}

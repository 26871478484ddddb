/**
 * Authenticates OAuth clients: by secret in the form or by HTTP Basic, or by client id alone if the client is public
 * (RFC 6749, 2.3).
 *
 * An unknown client and a wrong secret give the same answer after the same time. Secrets are compared as keyed hashes in
 * constant time. `secret-throttle.ts` limits guessing.
 */

import type { Grant } from '../../boundary/plan/grant.ts'
import { isSameHash } from '../../boundary/plan/credential-format.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import { answer, refuse, signalled, type OauthAnswer, type OauthSignal } from '../../boundary/plan/oauth-call.ts'
import type { SecretThrottle } from './secret-throttle.ts'
import { readClient, type NamedClient } from './token-request.ts'

export interface RegisteredClient {
  readonly grant: Grant
  /** `''` for a public client. */
  readonly secretHash: string
  readonly redirectUris: readonly string[]
  /** Whether sign-ins with the client give refresh tokens. */
  readonly mayRefresh: boolean
  /** The client may return to every address on the computer of the browser. */
  readonly isLocal?: true
  /** The client is a page of this service itself: a sign-in needs no consent. */
  readonly isOwnPage?: true
  /** The sign-in page asks people for their organisation, because the client belongs to none. */
  readonly asksOrganisation?: true
  /** The client registered itself, and its name is not verified. */
  readonly isSelfRegistered?: true
}

/** Whether devices may sign people in to the client. */
export function mayUseDevices({ isPublic, mayRefresh }: { isPublic: boolean; mayRefresh: boolean }): boolean {
  return isPublic && mayRefresh
}

export interface Client {
  readonly clientId: string
  readonly grant: Grant
  readonly isPublic: boolean
  /** Whether sign-ins with the client give refresh tokens. */
  readonly mayRefresh: boolean
}

export type AuthenticateClient = (
  api: string,
  values: ReadonlyMap<string, string>,
  authorization: string | undefined,
  /** Thumbprint of the client certificate of the connection. */
  certificate: string | undefined,
) => Promise<Client | { readonly refused: OauthAnswer }>

export interface ClientAuthenticationOptions {
  readonly clientFor: (clientId: string) => Promise<RegisteredClient | null>
  readonly keyedHash: (text: string) => string
  readonly throttle: SecretThrottle
  readonly clock: Pick<Clock, 'nowMs'>
  /** Called with the id of a credential whose secret was right. */
  readonly onUse: (credential: string) => void
}

export function createClientAuthentication(options: ClientAuthenticationOptions): AuthenticateClient {
  const { clientFor, keyedHash, throttle, clock, onUse } = options
  /** Compared if the client is unknown, so that both cases take the same time. */
  const dummyHash = keyedHash('no client has this secret')

  return async (api, values, authorization, certificate) => {
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
    const isRight = clientSecret === null || isSameHash(keyedHash(clientSecret), known?.secretHash || dummyHash)
    if (known === null || !isRight) return { refused: wrongSecret(api, named, known?.grant ?? null) }
    const { grant, mayRefresh } = known
    if (isBoundElsewhere(grant, certificate)) {
      const refused = unauthenticated(
        'The client must connect with the client certificate that it is bound to.',
        isBasic,
      )
      return { refused: signalled(refused, { api, outcome: 'credential_invalid', grant }) }
    }
    if (grant.valid && !isPast(grant)) {
      // The id of a public client proves nothing.
      if (!isPublic) onUse(grant.credential)
      return { clientId, grant, isPublic, mayRefresh }
    }
    return { refused: wrongSecret(api, named, grant) }
  }

  function wrongSecret(api: string, { clientId, isBasic }: NamedClient, grant: Grant | null): OauthAnswer {
    const waitSeconds = throttle.addFailure(clientId)
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

function isBoundElsewhere({ certificateThumbprint: bound }: Grant, certificate: string | undefined): boolean {
  return bound !== undefined && bound !== certificate
}

/** Carries a challenge if the client sent an Authorization header (RFC 6749, 5.2). */
function unauthenticated(description: string, isChallenged: boolean): OauthAnswer {
  const body = { error: 'invalid_client', error_description: description }
  return answer(401, body, isChallenged ? { 'WWW-Authenticate': 'Basic realm="token"' } : {})
}

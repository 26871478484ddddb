/**
 * ID tokens (OpenID Connect Core 1.0, 2): identify the signed-in person to the client and grant no access to an API.
 * Signed by the same keys and with the same issuer as the API's access tokens.
 */

import { createHash } from 'node:crypto'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Login } from './token-grants.ts'
import type { KeyRing, TokenAlgorithm } from './key-ring.ts'

export interface IdTokenRequest {
  readonly api: string
  readonly login: Omit<Login, 'tenant' | 'scope'>
  readonly accessToken: string
  readonly algorithm: TokenAlgorithm
}

export type MintIdToken = (request: IdTokenRequest) => string

export interface IdTokenOptions {
  readonly keyRing: Pick<KeyRing, 'sign'>
  readonly clock: Pick<Clock, 'nowMs'>
  readonly gatewayUrl: string
}

const LIFETIME_SECONDS = 600

export function createIdTokens({ keyRing, clock, gatewayUrl }: IdTokenOptions): MintIdToken {
  return ({ api, login, accessToken, algorithm }) => {
    const { person, clientId, nonce, loggedInAtMs, wantsProfile } = login
    const iat = Math.floor(clock.nowMs() / 1_000)
    const claims = {
      iss: `${gatewayUrl}/${api}`,
      sub: person.id,
      aud: clientId,
      azp: clientId,
      iat,
      exp: iat + LIFETIME_SECONDS,
      auth_time: Math.floor(loggedInAtMs / 1_000),
      at_hash: halfHash(accessToken),
      ...(nonce !== null && { nonce }),
      ...(wantsProfile && { name: person.name, preferred_username: person.username }),
    }
    return keyRing.sign(claims, algorithm, 'JWT')
  }
}

/** Returns the left half of the SHA-256 hash, which both algorithms use (OpenID Connect Core, 3.1.3.6). */
function halfHash(text: string): string {
  return createHash('sha256').update(text).digest().subarray(0, 16).toString('base64url')
}

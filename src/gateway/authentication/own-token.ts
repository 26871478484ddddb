/**
 * Verifies that this gateway issued an access token (RFC 9068): cheap checks first, the signature last.
 *
 * Expiry and API are checked later, by `checkCaller`: the call is then refused, but attributed to its consumer,
 * because the signature has verified.
 *
 * Two algorithms are allowed, each bound to its kind of key, so that a token cannot choose how it is verified (RFC
 * 8725, 3.1). Keys are found by `kid` alone; the headers `jwk`, `jku` and `x5u` are ignored. The signature of ES256
 * is 64 bytes, never DER.
 */

import { createPublicKey, verify, type JsonWebKeyInput, type KeyObject } from 'node:crypto'
import { readConfirmation } from '../../boundary/plan/certificate-binding.ts'
import { REVOCATION_CLAIM } from '../../boundary/plan/gateway-port.ts'
import type { CredentialName } from '../../boundary/plan/grant.ts'
import { CLOCK_MARGIN_MS } from '../../foundation/runtime/clock.ts'
import type { Fault, Jwt } from './jwt.ts'
import type { VerifiedToken } from './verified-token.ts'
import { isRsaLength } from './rsa-length.ts'

export interface TokenClaims {
  readonly iss: string
  readonly sub: string
  readonly client_id: string
  readonly aud: string
  readonly scope: string
  readonly exp: number
  readonly nbf: number
  readonly jti: string
  readonly act?: { readonly sub: string }
  readonly subscription?: string
  /** The client has no subscription of its own: the token acts under `subscription`. */
  readonly shared_client?: boolean
  readonly [REVOCATION_CLAIM]?: string
  readonly cnf?: { readonly 'x5t#S256': string }
}

export interface TokenKeys {
  /** Replaces all keys; true if a key was removed. */
  set(keys: readonly Readonly<Record<string, unknown>>[]): boolean
  get(kid: string): TokenKey | undefined
}

export interface TokenKey {
  readonly alg: 'ES256' | 'RS256'
  readonly key: KeyObject
}

export type TokenResult = { readonly claims: TokenClaims } | Fault

const ES256_BYTES = 64

export function createTokenKeys(): TokenKeys {
  let known = new Map<string, TokenKey>()
  return {
    get: (kid) => known.get(kid),
    set(keys) {
      const before = known
      known = new Map(
        keys.flatMap((jwk) => {
          const { kid, alg } = jwk
          if (typeof kid !== 'string' || (alg !== 'ES256' && alg !== 'RS256')) return []
          return [[kid, { alg, key: createPublicKey({ key: jwk as JsonWebKeyInput['key'], format: 'jwk' }) }] as const]
        }),
      )
      return before.keys().some((kid) => !known.has(kid))
    },
  }
}

/** `aud` must name one API, and `iss` must be that API's issuer: `{gatewayUrl}/{aud}`. */
export function verifyOwnToken(
  { header, claims, signed, signature }: Jwt,
  gatewayUrl: string,
  keys: TokenKeys,
): TokenResult {
  const { kid, typ, alg } = header
  if (typ !== 'at+jwt' && typ !== 'application/at+jwt') return { fault: 'The token is not an access token.' }
  const key = typeof kid === 'string' ? keys.get(kid) : undefined
  if (key === undefined || key.alg !== alg) return { fault: 'The token is signed with an unknown key.' }
  if (!isClaims(claims)) return { fault: 'A required claim of the token is missing, or a claim has the wrong form.' }
  if (claims.iss !== `${gatewayUrl}/${claims.aud}`) return { fault: 'This API does not accept tokens of this issuer.' }
  if (!isSigned(signed, signature, key)) return { fault: 'The signature of the token is invalid.' }
  return { claims }
}

export function toVerifiedToken(claims: TokenClaims): VerifiedToken {
  const { aud, scope, sub, act, nbf, exp, jti, [REVOCATION_CLAIM]: revocation, cnf } = claims
  // A token may be used at once, also at a node whose clock is behind that of the node that issued it.
  const times = { startsMs: nbf * 1_000 - CLOCK_MARGIN_MS, endsMs: exp * 1_000 }
  const names = { subject: sub, actor: act?.sub ?? '', jti, revocation }
  const certificate = cnf?.['x5t#S256'] ?? ''
  return { api: aud, scopes: scope.split(' '), ...names, ...times, certificate, provider: null }
}

/** Returns the name of the credential that the token was issued to. */
export function toCredentialName({
  client_id: clientId,
  shared_client: isShared,
  subscription,
}: TokenClaims): CredentialName {
  return isShared === true ? { kind: 'subscription', subscription: subscription ?? '' } : { kind: 'client', clientId }
}

function isSigned(signed: string, signature: Buffer, { alg, key }: TokenKey): boolean {
  if (alg === 'RS256') return isRsaLength(key, signature) && verify('sha256', Buffer.from(signed), key, signature)
  return (
    signature.length === ES256_BYTES &&
    verify('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' }, signature)
  )
}

function isClaims(
  claims: Readonly<Record<string, unknown>>,
): claims is Readonly<Record<string, unknown>> & TokenClaims {
  const { iss, sub, aud, exp, nbf, scope, jti, client_id: client, act, shared_client: isShared } = claims
  const texts = [iss, sub, aud, scope, client, jti, ...(isShared === undefined ? [] : [claims['subscription']])]
  const revocation = claims[REVOCATION_CLAIM]
  if (revocation !== undefined && typeof revocation !== 'string') return false
  if (texts.some((text) => typeof text !== 'string')) return false
  if (readConfirmation(claims['cnf']) === null) return false
  if (typeof exp !== 'number' || typeof nbf !== 'number') return false
  return (
    act === undefined || (typeof act === 'object' && act !== null && typeof (act as { sub?: unknown }).sub === 'string')
  )
}

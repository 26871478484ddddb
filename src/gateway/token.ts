/**
 * Verifies that an access token (RFC 9068) is one of ours: cheap checks first, the signature last.
 *
 * Whether it has expired or is for another API is for the caller to judge: such a token is refused, but
 * its signature tells whose it is.
 *
 * Algorithms are a list of two, each bound to the kind of key it may be used with, so that no token
 * chooses how it is judged (RFC 8725, 3.1). Keys are known ones by `kid`; whatever else a header offers
 * (`jwk`, `jku`, `x5u`) is not looked at, and `crit` is refused. The signature of ES256 is 64 bytes,
 * never DER.
 */

import { createPublicKey, verify, type JsonWebKeyInput, type KeyObject } from 'node:crypto'

export interface TokenClaims {
  readonly iss: string
  readonly sub: string
  readonly client_id: string
  readonly aud: string
  readonly scope: string
  readonly exp: number
  readonly nbf: number
  readonly act?: { readonly sub: string }
}

export interface TokenKeys {
  /** Replaces all keys at once; true where one that was known is not among them. */
  set(keys: readonly Readonly<Record<string, unknown>>[]): boolean
  get(kid: string): TokenKey | undefined
}

export interface TokenKey {
  readonly alg: 'ES256' | 'RS256'
  readonly key: KeyObject
}

export type TokenResult = { readonly claims: TokenClaims } | { readonly fault: string }

export const TOKEN_LENGTH_MAX = 12_288
const ES256_BYTES = 64
const BASE64URL = /^[A-Za-z0-9_-]+$/

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
export function verifyToken(token: string, gatewayUrl: string, keys: TokenKeys): TokenResult {
  if (token.length > TOKEN_LENGTH_MAX) return { fault: 'The token is too long.' }
  const parts = token.split('.', 4)
  const [head = '', body = '', signature = ''] = parts
  if (parts.length !== 3 || !BASE64URL.test(head) || !BASE64URL.test(body) || !BASE64URL.test(signature)) {
    return { fault: 'The token is not a signed JWT.' }
  }
  const header = parseJson(head)
  if (header === null || header['crit'] !== undefined) return { fault: 'The header of the token cannot be used.' }
  const { kid, typ, alg } = header
  if (typ !== 'at+jwt' && typ !== 'application/at+jwt') return { fault: 'The token is not an access token.' }
  const key = typeof kid === 'string' ? keys.get(kid) : undefined
  if (key === undefined || key.alg !== alg) return { fault: 'The token is signed by a key that is not known.' }
  const claims = parseJson(body)
  if (claims === null || !isClaims(claims)) return { fault: 'The claims of the token cannot be used.' }
  if (claims.iss !== `${gatewayUrl}/${claims.aud}`) return { fault: 'The token is of another issuer.' }
  if (!isSigned(`${head}.${body}`, signature, key)) return { fault: 'The signature of the token is wrong.' }
  return { claims }
}

function isSigned(signed: string, signature: string, { alg, key }: TokenKey): boolean {
  const bytes = Buffer.from(signature, 'base64url')
  if (bytes.toString('base64url') !== signature) return false
  if (alg === 'RS256') return verify('sha256', Buffer.from(signed), key, bytes)
  return (
    bytes.length === ES256_BYTES && verify('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' }, bytes)
  )
}

function isClaims(
  claims: Readonly<Record<string, unknown>>,
): claims is Readonly<Record<string, unknown>> & TokenClaims {
  const { iss, sub, aud, exp, nbf, scope, client_id: client, act } = claims
  const texts = [iss, sub, aud, scope, client]
  if (texts.some((text) => typeof text !== 'string')) return false
  if (typeof exp !== 'number' || typeof nbf !== 'number') return false
  return (
    act === undefined || (typeof act === 'object' && act !== null && typeof (act as { sub?: unknown }).sub === 'string')
  )
}

function parseJson(part: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}

/**
 * Verifies an access token of a federated provider: cheap checks first, the signature last.
 *
 * `aud` must be a single name: the audience in the provider's registration, otherwise the technical name of the API.
 * With several audiences each of them could replay the token against the others. Some providers send access tokens
 * with `typ: JWT` or without `typ`, so ID tokens are recognised by claims that only they carry, and logout tokens
 * by `events`. Most of them fail the check of `aud` anyway: in an ID token it names the client.
 *
 * `checkCaller` checks expiry, with a tolerance of 60 s for clock skew. This module refuses tokens without a valid
 * expiry and tokens with names that cannot be recorded.
 */

import { constants, verify } from 'node:crypto'
import { readConfirmation } from '../../boundary/plan/certificate-binding.ts'
import type { VerificationAlgorithm, VerificationKey } from '../../boundary/plan/verification-key.ts'
import { readClient, readPerson, readScopes } from './federated-claims.ts'
import type { Fault, Jwt } from './jwt.ts'
import type { Provider } from './providers.ts'
import type { VerifiedToken } from './verified-token.ts'
import { isRsaLength } from './rsa-length.ts'

export interface FederatedToken {
  readonly clientId: string
  readonly token: VerifiedToken
}

const SKEW_MS = 60_000
const TYPES: readonly unknown[] = [undefined, 'at+jwt', 'application/at+jwt', 'jwt', 'application/jwt']
/** Claims of ID and logout tokens: OpenID Connect Core, 2 and 3.3.2.11; Back-Channel Logout, 2.4. */
const CLAIMS_OF_OTHER_TOKENS = ['at_hash', 'c_hash', 's_hash', 'events', 'sub_jwk']
/** Values of the claims `typ` (Keycloak) and `token_use` (Cognito). */
const OTHER_KINDS: readonly unknown[] = ['id', 'refresh', 'offline', 'logout']
const ACCESS_KINDS: readonly unknown[] = ['bearer', 'access']

const HASHES: Readonly<Record<VerificationAlgorithm, string | null>> = {
  RS256: 'sha256',
  RS384: 'sha384',
  RS512: 'sha512',
  PS256: 'sha256',
  PS384: 'sha384',
  PS512: 'sha512',
  ES256: 'sha256',
  ES384: 'sha384',
  ES512: 'sha512',
  EdDSA: null,
  Ed25519: null,
}
/** Length of a signature as two concatenated numbers (RFC 7518, 3.4), never DER. */
const ECDSA_BYTES: Readonly<Record<string, number>> = { ES256: 64, ES384: 96, ES512: 132 }

const PSS = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }

/** Returns `unknown_key` if all other checks pass: the provider may have published the key since its last fetch. */
export function verifyFederatedToken(
  { header, claims, signed, signature }: Jwt,
  provider: Provider,
  api: string,
): FederatedToken | Fault | 'unknown_key' {
  if (!TYPES.includes(lower(header['typ'])) || isOtherToken(header, claims))
    return { fault: 'The token is not an access token.' }
  const { plan } = provider
  if (!isFor(claims['aud'], plan.audience === '' ? api : plan.audience)) {
    return { fault: 'The token was issued for another audience.' }
  }
  const times = readTimes(claims)
  const clientId = readClient(claims, plan.claims)
  const scopes = readScopes(claims, plan.claims)
  const subject = clientId === null ? null : readPerson(claims, plan.claims, clientId)
  if (times === null || clientId === null || scopes === null || subject === null) {
    return { fault: 'A required claim of the token is missing, or a claim has the wrong form.' }
  }
  const certificate = readConfirmation(claims['cnf'])
  if (certificate === null) return { fault: 'The gateway cannot check what the claim cnf of the token is bound to.' }
  const key = provider.keyFor(header['kid'], header['alg'])
  if (key === 'unknown') return 'unknown_key'
  if (key === null) return { fault: 'The token is signed with an unknown key.' }
  if (!isSigned(signed, signature, key, header['alg'] as VerificationAlgorithm)) {
    return { fault: 'The signature of the token is invalid.' }
  }
  const names = { subject, actor: '', jti: '', revocation: undefined }
  return { clientId, token: { api, scopes, ...names, ...times, certificate, provider } }
}

function isOtherToken(header: Jwt['header'], claims: Jwt['claims']): boolean {
  if (CLAIMS_OF_OTHER_TOKENS.some((name) => Object.hasOwn(claims, name))) return true
  const kinds = [lower(claims['typ']), lower(claims['token_use'])]
  if (kinds.some((kind) => OTHER_KINDS.includes(kind))) return true
  // Keycloak copies the nonce of the sign-in into access tokens, but marks them as access tokens.
  const isMarked = String(lower(header['typ'])).endsWith('at+jwt') || kinds.some((kind) => ACCESS_KINDS.includes(kind))
  return !isMarked && Object.hasOwn(claims, 'nonce')
}

function isFor(aud: unknown, audience: string): boolean {
  return aud === audience || (Array.isArray(aud) && aud.length === 1 && aud[0] === audience)
}

function readTimes({ exp, nbf = 0, iat = 0 }: Jwt['claims']): Pick<VerifiedToken, 'startsMs' | 'endsMs'> | null {
  if (typeof exp !== 'number' || typeof nbf !== 'number' || typeof iat !== 'number') return null
  const startsMs = Math.max(nbf, iat) * 1_000 - SKEW_MS
  const endsMs = exp * 1_000 + SKEW_MS
  return Number.isFinite(startsMs) && Number.isFinite(endsMs) ? { startsMs, endsMs } : null
}

/** The provider chooses its keys. If OpenSSL throws on one, the signature is invalid and the thread continues. */
function isSigned(signed: string, signature: Buffer, { key }: VerificationKey, alg: VerificationAlgorithm): boolean {
  const bytes = ECDSA_BYTES[alg]
  if (bytes !== undefined && signature.length !== bytes) return false
  if (key.asymmetricKeyType?.startsWith('rsa') === true && !isRsaLength(key, signature)) return false
  const padded = alg.startsWith('PS') ? PSS : {}
  try {
    return verify(HASHES[alg], Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363', ...padded }, signature)
  } catch {
    return false
  }
}

function lower(value: unknown): unknown {
  return typeof value === 'string' ? value.toLowerCase() : value
}

/**
 * Decides which published keys may verify a federated token, and with which algorithms.
 *
 * The key determines its algorithms, never the token (RFC 8725, 3.1): only the algorithm that the key names, otherwise all of its
 * type. Keys that cannot verify are ignored: other uses (`enc`), shared secrets, RSA below 2,048 bits (RFC 7518, 3.3), and RSA so
 * large that one signature would block a thread.
 */

import { createPublicKey, type JsonWebKeyInput, type KeyObject } from 'node:crypto'

export interface VerificationKey {
  /** `''` if the key has no name. */
  readonly kid: string
  readonly algorithms: readonly VerificationAlgorithm[]
  readonly key: KeyObject
  /** The public members only, which may be stored and published. */
  readonly jwk: Readonly<Record<string, string>>
}

const RSA = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const
const CURVES = {
  'P-256': ['ES256'],
  'P-384': ['ES384'],
  'P-521': ['ES512'],
  // The names of RFC 8037 and of RFC 9864.
  Ed25519: ['EdDSA', 'Ed25519'],
} as const

export type VerificationAlgorithm = (typeof RSA)[number] | (typeof CURVES)[keyof typeof CURVES][number]

const MEMBERS = ['kty', 'kid', 'alg', 'crv', 'x', 'y', 'n', 'e'] as const
const RSA_BITS_MIN = 2_048
const RSA_BITS_MAX = 8_192
const RSA_EXPONENT_MAX = 0xffff_ffffn
const NAME_LENGTH_MAX = 512

/** Returns null if the key must not verify anything. */
export function toVerificationKey(value: unknown): VerificationKey | null {
  if (typeof value !== 'object' || value === null) return null
  const { use, key_ops: operations, kid = '', alg } = value as Readonly<Record<string, unknown>>
  if (use !== undefined && use !== 'sig') return null
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify'))) return null
  if (typeof kid !== 'string' || kid.length > NAME_LENGTH_MAX) return null
  const jwk = publicMembers(value as Readonly<Record<string, unknown>>)
  const algorithms = algorithmsOf(jwk).filter((each) => alg === undefined || alg === each)
  if (algorithms.length === 0) return null
  const key = open(jwk)
  return key === null ? null : { kid, algorithms, key, jwk }
}

function publicMembers(value: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  const members = MEMBERS.flatMap((name) => {
    const member = value[name]
    return typeof member === 'string' ? [[name, member] as const] : []
  })
  return Object.fromEntries(members)
}

function algorithmsOf({ kty, crv = '' }: Readonly<Record<string, string>>): readonly VerificationAlgorithm[] {
  if (kty === 'RSA') return RSA
  if (!Object.hasOwn(CURVES, crv) || kty !== (crv === 'Ed25519' ? 'OKP' : 'EC')) return []
  return CURVES[crv as keyof typeof CURVES]
}

function open(jwk: Readonly<Record<string, string>>): KeyObject | null {
  try {
    const key = createPublicKey({ key: jwk as JsonWebKeyInput['key'], format: 'jwk' })
    if (jwk['kty'] !== 'RSA') return key
    const { modulusLength: bits = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {}
    return bits >= RSA_BITS_MIN && bits <= RSA_BITS_MAX && publicExponent <= RSA_EXPONENT_MAX ? key : null
  } catch {
    return null
  }
}

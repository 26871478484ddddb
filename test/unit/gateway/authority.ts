/** An issuer of tokens in the test's hands: real keys, any header, any claims, any signature. */

import { createHmac, generateKeyPairSync, sign, type KeyObject } from 'node:crypto'
import type { Grant } from '../../../src/plan/grant.ts'

export const GATEWAY_URL = 'https://gateway.example'
export const API = 'payments-v1'
export const NOW_MS = 1_800_000_000_000

export interface Authority {
  readonly jwks: { readonly keys: readonly Readonly<Record<string, unknown>>[] }
  /** A token as the token endpoint gives it, with `claims` and `header` laid over. */
  token(claims?: object, header?: object): string
  /** The same, signed by `signature` instead of the key that the header names. */
  forge(header: object, claims: object, signature: (signed: string) => Buffer): string
  readonly es256: KeyObject
  readonly rs256: KeyObject
  readonly publicPem: string
}

const es256 = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const rs256 = generateKeyPairSync('rsa', { modulusLength: 2048 })

export function createAuthority(): Authority {
  const keys = [
    { ...es256.publicKey.export({ format: 'jwk' }), kid: 'ec-1', alg: 'ES256', use: 'sig' },
    { ...rs256.publicKey.export({ format: 'jwk' }), kid: 'rsa-1', alg: 'RS256', use: 'sig' },
  ]

  function forge(header: object, claims: object, signature: (signed: string) => Buffer): string {
    const signed = `${encode({ ...HEADER, ...header })}.${encode({ ...CLAIMS, ...claims })}`
    return `${signed}.${signature(signed).toString('base64url')}`
  }

  return {
    jwks: { keys },
    es256: es256.privateKey,
    rs256: rs256.privateKey,
    publicPem: es256.publicKey.export({ format: 'pem', type: 'spki' }).toString(),
    forge,
    token: (claims = {}, header = {}) =>
      forge(header, claims, (signed) =>
        'alg' in header && header.alg === 'RS256'
          ? sign('sha256', Buffer.from(signed), rs256.privateKey)
          : signEs256(signed, es256.privateKey),
      ),
  }
}

export function signEs256(signed: string, key: KeyObject): Buffer {
  return sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' })
}

export function signHs256(signed: string, secret: string): Buffer {
  return createHmac('sha256', secret).update(signed).digest()
}

export const CLAIMS = {
  iss: `${GATEWAY_URL}/${API}`,
  sub: 'con_1',
  client_id: 'cli_1',
  aud: API,
  scope: 'payments:read payments:write',
  tenant: 'acme',
  subscription: 'sub_1',
  iat: NOW_MS / 1_000,
  nbf: NOW_MS / 1_000,
  exp: NOW_MS / 1_000 + 3_600,
  jti: 'tok_1',
}

const HEADER = { alg: 'ES256', typ: 'at+jwt', kid: 'ec-1' }

export const GRANT: Grant = {
  credential: 'crd_1',
  type: 'OAuth2',
  valid: true,
  active: true,
  expiresAtMs: 0,
  tenant: 'acme',
  subscription: 'sub_1',
  consumer: 'con_1',
  consumerName: 'Shop',
  consumerKind: 'application',
  api: API,
  apiProductId: '',
  scopes: ['payments:read', 'payments:write'],
  variant: '',
  version: 3,
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

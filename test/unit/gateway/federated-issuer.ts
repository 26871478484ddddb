/** A foreign issuer in the test's hands: real keys of every allowed kind, any header, any claims, any signature. */

import { constants, generateKeyPairSync, sign, type KeyObject } from 'node:crypto'
import type { Grant } from '../../../src/plan/grant.ts'
import type { ProviderPlan } from '../../../src/plan/provider-plan.ts'
import { API, GRANT, NOW_MS } from './authority.ts'

export const ISSUER = 'https://login.example/realms/acme'

export interface IssuerKey {
  readonly kid: string
  readonly alg: string
  readonly privateKey: KeyObject
  readonly publicPem: string
  readonly jwk: Readonly<Record<string, unknown>>
}

const PAIRS: Readonly<Record<string, () => { publicKey: KeyObject; privateKey: KeyObject }>> = {
  ES256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  ES384: () => generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  ES512: () => generateKeyPairSync('ec', { namedCurve: 'P-521' }),
  EdDSA: () => generateKeyPairSync('ed25519'),
}

export function createIssuerKey(kid: string, alg = 'ES256', bits = 2_048): IssuerKey {
  const make = PAIRS[alg] ?? (() => generateKeyPairSync('rsa', { modulusLength: bits }))
  const { publicKey, privateKey } = make()
  const publicPem = publicKey.export({ format: 'pem', type: 'spki' }).toString()
  return { kid, alg, privateKey, publicPem, jwk: { ...publicKey.export({ format: 'jwk' }), kid, alg, use: 'sig' } }
}

export function signBy({ alg, privateKey: key }: IssuerKey, signed: string): Buffer {
  const data = Buffer.from(signed)
  if (alg === 'EdDSA') return sign(null, data, key)
  const hash = `sha${alg.slice(2)}`
  if (alg.startsWith('ES')) return sign(hash, data, { key, dsaEncoding: 'ieee-p1363' })
  if (alg.startsWith('RS')) return sign(hash, data, key)
  const saltLength = constants.RSA_PSS_SALTLEN_DIGEST
  return sign(hash, data, { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength })
}

export const FEDERATED_CLAIMS = {
  iss: ISSUER,
  sub: 'robot',
  client_id: 'robot',
  aud: API,
  scope: 'payments:read other:scope',
  iat: NOW_MS / 1_000,
  exp: NOW_MS / 1_000 + 600,
  jti: 'foreign_1',
}

/** A token as a provider gives it, with `claims` and `header` laid over; `undefined` takes a member out. */
export function issue(
  key: IssuerKey,
  claims: object = {},
  header: object = {},
  signature = (signed: string): Buffer => signBy(key, signed),
): string {
  const head = { alg: key.alg, typ: 'at+jwt', kid: key.kid, ...header }
  return issueText(JSON.stringify(head), JSON.stringify({ ...FEDERATED_CLAIMS, ...claims }), signature)
}

/** The same from the JSON text of both parts. */
export function issueText(head: string, claims: string, signature: (signed: string) => Buffer): string {
  const signed = `${Buffer.from(head).toString('base64url')}.${Buffer.from(claims).toString('base64url')}`
  return `${signed}.${signature(signed).toString('base64url')}`
}

export const FEDERATED_GRANT: Grant = { ...GRANT, credential: 'crd_9', type: 'Federated', consumer: 'con_9' }

export function toPlan(keys: readonly IssuerKey[], plan: Partial<ProviderPlan> = {}): ProviderPlan {
  return {
    id: 'idp_1',
    tenant: 'acme',
    issuer: ISSUER,
    audience: '',
    claims: { clientId: '', scope: '', person: '' },
    apis: [],
    keys: keys.map(({ jwk }) => jwk),
    ...plan,
  }
}

/** What a credential costs: one that is known, one that is seen for the first time, one that is forged. */

import { generateKeyPairSync, sign } from 'node:crypto'
import type { Grant } from '../../src/boundary/plan/grant.ts'
import { createAuthenticator } from '../../src/gateway/authentication/authenticate.ts'
import { measure } from '../harness.ts'

const NOW_MS = 1_800_000_000_000
const API = 'payments-v1'
const GATEWAY_URL = 'https://gateway.example'
const ISSUER = 'https://login.example'
const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'key-1', alg: 'ES256' }

const grant = {
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
  version: 1,
  subscriptionRevision: 1,
} as const satisfies Grant

function toHeader(claims: object, header: object = {}, signature?: Buffer): string {
  const seconds = NOW_MS / 1_000
  const times = { iat: seconds, nbf: seconds, exp: seconds + 3_600 }
  const own = { iss: `${GATEWAY_URL}/${API}`, sub: 'con_1', client_id: 'cli_1', aud: API, tenant: 'acme' }
  const all = { ...own, scope: 'payments:read payments:write', subscription: 'sub_1', ...times, ...claims }
  const parts = [{ alg: 'ES256', typ: 'at+jwt', kid: 'key-1', ...header }, all]
  const signed = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  const bytes = signature ?? sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  // As it comes from a socket: one flat string.
  return Buffer.from(`Bearer ${signed}.${bytes.toString('base64url')}`).toString('latin1')
}

async function open(callersMax: number, revoked = 0) {
  const authenticator = createAuthenticator({
    gatewayUrl: GATEWAY_URL,
    keyedHash: (text) => text,
    resolve: async ({ kind }) => (kind === 'federated' ? { ...grant, credential: 'crd_2', type: 'Federated' } : grant),
    tenantOf: () => 'acme',
    refetch: async () => false,
    clock: { nowMs: () => NOW_MS },
    count: () => {},
    onUse: () => {},
    callersMax,
  })
  authenticator.setKeys({ keys: [jwk] })
  const claims = { clientId: '', scope: '', person: '' }
  const plan = { id: 'idp_1', tenant: 'acme', issuer: ISSUER, audience: '', claims, apis: [], keys: [jwk] }
  authenticator.setProviders([plan])
  for (let index = 0; index < revoked; index++) {
    authenticator.revokeToken({ jti: `other_${index}`, untilMs: NOW_MS + 3_600_000 })
  }
  await authenticator.authenticate(toHeader({ jti: 'warm' }), undefined, API)
  await authenticator.authenticate(toHeader({ jti: 'warm', iss: ISSUER }), undefined, API)
  return (headers: readonly string[]) => {
    let good = 0
    for (const header of headers) {
      const result = authenticator.authenticate(header, undefined, API)
      if (!(result instanceof Promise) && !('code' in result)) good++
    }
    return good
  }
}

const OPERATIONS = 500
const many = (one: (index: number) => string) => Array.from({ length: OPERATIONS }, (_, index) => one(index))
const known = await open(10 * OPERATIONS)
const knownWhileRevoked = await open(10 * OPERATIONS, 10_000)
// Remembers nothing, so that every use of a token is its first.
const first = await open(2)

const cases: readonly (readonly [string, (headers: readonly string[]) => number, readonly string[]])[] = [
  ['known', known, many((index) => toHeader({ jti: `tok_${index}` }))],
  ['known-while-10000-are-revoked', knownWhileRevoked, many((index) => toHeader({ jti: `tok_${index}` }))],
  ['known-federated', known, many((index) => toHeader({ jti: `tok_${index}`, iss: ISSUER }))],
  ['first-use', first, many((index) => toHeader({ jti: `tok_${index}` }))],
  ['first-use-federated', first, many((index) => toHeader({ jti: `tok_${index}`, iss: ISSUER }))],
  ['forged', first, many((index) => toHeader({ jti: `tok_${index}` }, {}, Buffer.alloc(64, 1)))],
  ['forged-key-name', first, many((index) => toHeader({ jti: `tok_${index}` }, { kid: 'x' }, Buffer.alloc(64, 1)))],
]

for (const [name, authenticate, headers] of cases) {
  measure({ name: `authenticate/${name}`, operations: OPERATIONS, run: () => authenticate(headers) })
}

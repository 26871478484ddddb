/** Attacks with tokens of a federated issuer. */

import { createHmac, sign } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { ProviderPlan } from '../../../../src/boundary/plan/provider-plan.ts'
import { verifyFederatedToken } from '../../../../src/gateway/authentication/federated-token.ts'
import { readJwt } from '../../../../src/gateway/authentication/jwt.ts'
import { createProviders } from '../../../../src/gateway/authentication/providers.ts'
import { API, NOW_MS } from '../../../fixtures/token-authority.ts'
import {
  createIssuerKey,
  FEDERATED_CLAIMS,
  issue,
  issueText,
  ISSUER,
  signBy,
  toPlan,
} from '../../../fixtures/federated-issuer.ts'

const key = createIssuerKey('k1')
const rsa = createIssuerKey('r1', 'RS256')
const keys = [key, rsa]
const WRONG_SIGNATURE = { fault: 'The signature of the token is invalid.' }
const UNKNOWN_KEY = { fault: 'The token is signed with an unknown key.' }
const UNUSABLE_CLAIMS = { fault: 'A required claim of the token is missing, or a claim has the wrong form.' }
const UNREADABLE_CLAIMS = { fault: 'The claims of the token are not a valid JSON object.' }
const OTHER_AUDIENCE = { fault: 'The token was issued for another audience.' }
const NO_ACCESS_TOKEN = { fault: 'The token is not an access token.' }

function verify(token: string, plan: Partial<ProviderPlan> = {}, published = keys) {
  const jwt = readJwt(token)
  if ('fault' in jwt) return jwt
  const providers = createProviders()
  providers.set([toPlan(published, plan)])
  const provider = providers.find('acme', String(jwt.claims['iss']), API)
  return provider === undefined ? 'another issuer' : verifyFederatedToken(jwt, provider, API)
}

describe('a federated token', () => {
  it('is bound to the certificate in cnf, and refused if it is bound to anything else', () => {
    const certificate = '47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU'
    expect(verify(issue(key, { cnf: { 'x5t#S256': certificate } }))).toMatchObject({ token: { certificate } })
    expect(verify(issue(key))).toMatchObject({ token: { certificate: '' } })
    const fault = 'The gateway cannot check what the claim cnf of the token is bound to.'
    for (const cnf of [null, certificate, {}, { jkt: certificate }, { jkt: certificate, 'x5t#S256': certificate }]) {
      expect(verify(issue(key, { cnf }))).toEqual({ fault })
    }
  })

  it('verifies, with a tolerance of a minute for clock skew', () => {
    expect(verify(issue(key))).toMatchObject({
      clientId: 'robot',
      token: {
        api: API,
        scopes: ['payments:read', 'other:scope'],
        subject: '',
        actor: '',
        startsMs: NOW_MS - 60_000,
        endsMs: NOW_MS + 660_000,
        jti: '',
        provider: { isCurrent: true },
      },
    })
  })

  it.each(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'])(
    'may be signed with %s, by a key that names the algorithm and by one that does not',
    (alg) => {
      const one = createIssuerKey('one', alg)
      const { alg: _, ...jwk } = one.jwk
      const plan = { keys: [jwk] }

      expect(verify(issue(one), {}, [one])).toMatchObject({ clientId: 'robot' })
      expect(verify(issue(one), plan)).toMatchObject({ clientId: 'robot' })
      expect(
        verify(
          issue(one, {}, {}, () => Buffer.alloc(64)),
          plan,
        ),
      ).toEqual(WRONG_SIGNATURE)
      expect(
        verify(
          issue(one, {}, {}, (signed) => signBy(one, signed).subarray(1)),
          plan,
        ),
      ).toEqual(WRONG_SIGNATURE)
      expect(
        verify(
          issue(one, {}, {}, (signed) => Buffer.concat([signBy(one, signed), Buffer.of(0)])),
          plan,
        ),
      ).toEqual(WRONG_SIGNATURE)
    },
  )

  it('is refused if the leading zeros of its signature were removed', () => {
    const rsa = createIssuerKey('rsa', 'PS256')
    const shorter = (signed: string): Buffer => {
      for (let signature = signBy(rsa, signed); ; signature = signBy(rsa, signed)) {
        if (signature[0] === 0) return signature.subarray(1)
      }
    }

    expect(verify(issue(rsa, {}, {}, shorter), { keys: [rsa.jwk] })).toEqual(WRONG_SIGNATURE)
  })

  it('is refused with the algorithm none, in every spelling', () => {
    for (const alg of ['none', 'None', 'NONE', '', undefined, null, 0, ['ES256']])
      expect(verify(issue(key, {}, { alg })), String(alg)).toEqual(UNKNOWN_KEY)
    expect(verify(issue(key, {}, { alg: 'none' }, () => Buffer.alloc(0)))).toHaveProperty('fault')
  })

  it('is refused with HS256 and a public key as the secret', () => {
    for (const one of keys) {
      for (const secret of [one.publicPem, JSON.stringify(one.jwk), ''])
        for (const alg of ['HS256', 'HS384', 'HS512']) {
          const hmac = (signed: string) =>
            createHmac(`sha${alg.slice(2)}`, secret)
              .update(signed)
              .digest()
          expect(verify(issue(one, {}, { alg }, hmac))).toEqual(UNKNOWN_KEY)
        }
    }
  })

  it('is refused if its algorithm is not the one of its key', () => {
    expect(verify(issue(key, {}, { alg: 'RS256' }))).toEqual(UNKNOWN_KEY)
    expect(verify(issue(key, {}, { alg: 'ES384' }))).toEqual(UNKNOWN_KEY)
    expect(verify(issue(rsa, {}, { alg: 'PS256' }))).toEqual(UNKNOWN_KEY)
    expect(verify(issue(rsa, {}, { alg: 'ES256' }))).toEqual(UNKNOWN_KEY)
    expect(verify(issue(rsa, {}, { alg: 'toString' }))).toEqual(UNKNOWN_KEY)
  })

  it.each(['jwk', 'jku', 'x5u', 'x5c'])('is refused if it brings its own key in %s', (name) => {
    const attacker = createIssuerKey('k1')
    const offer = {
      jwk: attacker.jwk,
      jku: 'https://attacker.example/jwks',
      x5u: 'https://attacker.example/x5u',
      x5c: [attacker.publicPem.replace(/-----.*?-----|\n/g, '')],
    }
    const value = offer[name as keyof typeof offer]

    expect(verify(issue(attacker, {}, { [name]: value }))).toEqual(WRONG_SIGNATURE)
    expect(verify(issue(attacker, {}, { [name]: value, kid: undefined }))).toEqual(UNKNOWN_KEY)
    expect(verify(issue(attacker, {}, { [name]: value, kid: 'k2' }))).toBe('unknown_key')
  })

  it('is refused if it requires an extension in crit', () => {
    for (const crit of [['b64'], [], ['exp'], null, 'b64'])
      expect(verify(issue(key, {}, { crit, b64: false }))).toHaveProperty('fault')
  })

  it('is refused with a signature of zeros, in r or in s (CVE-2022-21449)', () => {
    const half = (signed: string, from: number) => {
      const bytes = Buffer.from(signBy(key, signed))
      bytes.fill(0, from, from + 32)
      return bytes
    }
    expect(verify(issue(key, {}, {}, () => Buffer.alloc(64)))).toEqual(WRONG_SIGNATURE)
    expect(verify(issue(key, {}, {}, (signed) => half(signed, 0)))).toEqual(WRONG_SIGNATURE)
    expect(verify(issue(key, {}, {}, (signed) => half(signed, 32)))).toEqual(WRONG_SIGNATURE)
    expect(verify(issue(key, {}, {}, () => Buffer.alloc(64, 0xff)))).toEqual(WRONG_SIGNATURE)
  })

  it('is refused with a signature in DER, or one that is truncated or extended', () => {
    expect(verify(issue(key, {}, {}, (signed) => sign('sha256', Buffer.from(signed), key.privateKey)))).toEqual(
      WRONG_SIGNATURE,
    )
    for (const length of [1, 32, 63])
      expect(verify(issue(key, {}, {}, (signed) => signBy(key, signed).subarray(0, length)))).toEqual(WRONG_SIGNATURE)
    expect(verify(issue(key, {}, {}, (signed) => Buffer.concat([signBy(key, signed), Buffer.alloc(64)])))).toEqual(
      WRONG_SIGNATURE,
    )
  })

  it('is refused if its claims were changed after signing', () => {
    const [head = '', , tail = ''] = issue(key).split('.')
    const claims = Buffer.from(JSON.stringify({ ...FEDERATED_CLAIMS, client_id: 'admin' })).toString('base64url')
    expect(verify(`${head}.${claims}.${tail}`)).toEqual(WRONG_SIGNATURE)
  })

  it('must name exactly one audience', () => {
    expect(verify(issue(key, { aud: [API] }))).toMatchObject({ clientId: 'robot' })
    expect(verify(issue(key, {}), { audience: 'https://api.example' })).toEqual(OTHER_AUDIENCE)
    expect(verify(issue(key, { aud: 'https://api.example' }), { audience: 'https://api.example' })).toMatchObject({
      clientId: 'robot',
    })
    for (const aud of [
      [API, 'orders-v1'],
      [API, API],
      [[API]],
      [],
      'orders-v1',
      `${API} `,
      API.toUpperCase(),
      `${API},orders-v1`,
      { 0: API, length: 1 },
      undefined,
      null,
      true,
    ])
      expect(verify(issue(key, { aud })), JSON.stringify(aud)).toEqual(OTHER_AUDIENCE)
  })

  it('finds no provider if its issuer differs from the registered one in any character', () => {
    for (const iss of [`${ISSUER}/`, ISSUER.toUpperCase(), ISSUER.replace('https', 'http'), `${ISSUER}#`, ''])
      expect(verify(issue(key, { iss })), iss).toBe('another issuer')
  })

  it('may have the type JWT or none, but must not be an ID, logout or refresh token', () => {
    for (const typ of ['JWT', 'jwt', 'at+JWT', 'application/at+jwt', undefined])
      expect(verify(issue(key, {}, { typ })), String(typ)).toMatchObject({ clientId: 'robot' })
    for (const typ of ['id+jwt', 'logout+jwt', 'secevent+jwt', 'dpop+jwt', '', null, 1])
      expect(verify(issue(key, {}, { typ })), String(typ)).toEqual(NO_ACCESS_TOKEN)
    const bare = { typ: 'JWT' }
    expect(verify(issue(key, { nonce: 'n' }, bare))).toEqual(NO_ACCESS_TOKEN)
    expect(verify(issue(key, { nonce: 'n' }, { typ: undefined }))).toEqual(NO_ACCESS_TOKEN)
    expect(verify(issue(key, { nonce: 'n', typ: 'Bearer' }, bare))).toMatchObject({ clientId: 'robot' })
    expect(verify(issue(key, { nonce: 'n' }))).toMatchObject({ clientId: 'robot' })
    for (const claims of [
      { at_hash: 'h' },
      { c_hash: 'h' },
      { events: {} },
      { typ: 'ID' },
      { typ: 'Refresh' },
      { token_use: 'id' },
    ])
      expect(verify(issue(key, claims)), JSON.stringify(claims)).toEqual(NO_ACCESS_TOKEN)
  })

  it('must have an expiry, and times that are numbers', () => {
    for (const claims of [
      { exp: undefined },
      { exp: '1900000000' },
      { exp: null },
      { nbf: 'now' },
      { iat: null },
      { exp: [1] },
    ])
      expect(verify(issue(key, claims)), JSON.stringify(claims)).toEqual(UNUSABLE_CLAIMS)
    const endless = JSON.stringify(FEDERATED_CLAIMS).replace(/"exp":\d+/, '"exp":1e999')
    const head = JSON.stringify({ alg: 'ES256', typ: 'at+jwt', kid: 'k1' })
    expect(verify(issueText(head, endless, (signed) => signBy(key, signed)))).toEqual(UNUSABLE_CLAIMS)
  })

  it('is valid from the later one of nbf and iat', () => {
    const later = NOW_MS / 1_000 + 120
    expect(verify(issue(key, { nbf: later }))).toMatchObject({ token: { startsMs: NOW_MS + 60_000 } })
    expect(verify(issue(key, { iat: later }))).toMatchObject({ token: { startsMs: NOW_MS + 60_000 } })
  })

  it('is refused with duplicate members in its header or claims, also in another spelling', () => {
    const head = JSON.stringify({ alg: 'ES256', typ: 'at+jwt', kid: 'k1' })
    const claims = JSON.stringify(FEDERATED_CLAIMS)
    const by = (signed: string) => signBy(key, signed)
    expect(verify(issueText(head, claims, by))).toMatchObject({ clientId: 'robot' })
    for (const twice of [`"client_id":"admin",`, `"\\u0063lient_id":"admin",`, `"nested":{"a":1,"a":2},`])
      expect(verify(issueText(head, claims.replace('{', `{${twice}`), by)), twice).toEqual(UNREADABLE_CLAIMS)
    expect(verify(issueText(head.replace('{', '{"alg":"none",'), claims, by))).toHaveProperty('fault')
  })

  it('is refused without being parsed if it is longer than 12 KB', () => {
    expect(verify(issue(key, { filler: 'x'.repeat(12_288) }))).toEqual({
      fault: 'The token is longer than 12288 characters.',
    })
  })

  it('may omit the name of its key only if the provider has one key', () => {
    const token = issue(key, {}, { kid: undefined })
    expect(verify(token, {}, [key])).toMatchObject({ clientId: 'robot' })
    expect(verify(token)).toEqual(UNKNOWN_KEY)
    expect(verify(token, {}, [])).toEqual(UNKNOWN_KEY)
  })

  it('asks for new keys only if all other checks pass', () => {
    const stranger = createIssuerKey('k9')
    expect(verify(issue(stranger))).toBe('unknown_key')
    expect(verify(issue(stranger, { aud: 'orders-v1' }))).toEqual(OTHER_AUDIENCE)
    expect(verify(issue(stranger, { exp: undefined }))).toEqual(UNUSABLE_CLAIMS)
    expect(verify(issue(stranger, {}, { typ: 'id+jwt' }))).toEqual(NO_ACCESS_TOKEN)
    for (const kid of [1, null, ['k1'], { a: 1 }, true])
      expect(verify(issue(key, {}, { kid })), String(kid)).toEqual(UNKNOWN_KEY)
  })
})

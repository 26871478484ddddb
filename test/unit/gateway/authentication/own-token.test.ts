/** Verification of the gateway's own tokens: a valid one, and forged or altered ones. */

import { generateKeyPairSync, sign } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { readJwt } from '../../../../src/gateway/authentication/jwt.ts'
import {
  createTokenKeys,
  toCredentialName,
  toVerifiedToken,
  verifyOwnToken,
  type TokenResult,
} from '../../../../src/gateway/authentication/own-token.ts'
import { API, CLAIMS, createAuthority, GATEWAY_URL, signEs256, signHs256 } from '../../../fixtures/token-authority.ts'

const authority = createAuthority()
const keys = createTokenKeys()
keys.set(authority.jwks.keys)

function verify(token: string): TokenResult {
  const jwt = readJwt(token)
  return 'fault' in jwt ? jwt : verifyOwnToken(jwt, GATEWAY_URL, keys)
}

const byUs = (signed: string) => signEs256(signed, authority.es256)
const signatureOf = (token: string) => Buffer.from(token.split('.')[2] ?? '', 'base64url')
const WRONG_SIGNATURE = { fault: 'The signature of the token is invalid.' }
const UNKNOWN_KEY = { fault: 'The token is signed with an unknown key.' }
const UNUSABLE_CLAIMS = { fault: 'A required claim of the token is missing, or a claim has the wrong form.' }
const UNREADABLE_CLAIMS = { fault: 'The claims of the token are not a valid JSON object.' }
const OTHER_ISSUER = { fault: 'This API does not accept tokens of this issuer.' }

describe('a token of this gateway', () => {
  it('verifies', () => {
    expect(verify(authority.token())).toEqual({ claims: CLAIMS })
  })

  it('is bound to the certificate in cnf, and refused with any other cnf', () => {
    const certificate = '47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU'
    const bound = verify(authority.token({ cnf: { 'x5t#S256': certificate } }))
    expect('claims' in bound && toVerifiedToken(bound.claims)).toMatchObject({ certificate })
    expect(toVerifiedToken(CLAIMS)).toMatchObject({ certificate: '' })
    for (const cnf of [null, certificate, {}, { jkt: certificate }, { 'x5t#S256': 'short' }]) {
      expect(verify(authority.token({ cnf }))).toEqual(UNUSABLE_CLAIMS)
    }
  })

  it('of a shared client names the subscription, and is refused without one', () => {
    const shared = { ...CLAIMS, subscription: 'sub_1', shared_client: true }
    expect(toCredentialName(shared)).toEqual({ kind: 'subscription', subscription: 'sub_1' })
    expect(toCredentialName({ ...shared, shared_client: false })).toMatchObject({ kind: 'client' })
    for (const subscription of [undefined, null, 7, ['sub_1']]) {
      expect(verify(authority.forge({}, { shared_client: true, subscription }, byUs))).toEqual(UNUSABLE_CLAIMS)
    }
  })

  it('is refused with the algorithm none, in every spelling, with and without a signature', () => {
    for (const alg of ['none', 'None', 'NONE', 'nOnE', '']) {
      expect(verify(authority.forge({ alg }, {}, byUs))).toEqual(UNKNOWN_KEY)
      expect(verify(authority.forge({ alg }, {}, () => Buffer.alloc(0)))).toHaveProperty('fault')
    }
  })

  it('is refused with HS256 and the public key as the secret', () => {
    const secrets = [authority.publicPem, JSON.stringify(authority.jwks.keys[0]), '']
    for (const secret of secrets) {
      expect(verify(authority.forge({ alg: 'HS256' }, {}, (signed) => signHs256(signed, secret)))).toEqual(UNKNOWN_KEY)
    }
  })

  it('is refused if its algorithm is not the one of its key', () => {
    expect(verify(authority.forge({ alg: 'RS256' }, {}, byUs))).toEqual(UNKNOWN_KEY)
    expect(verify(authority.forge({ alg: 'ES256', kid: 'rsa-1' }, {}, byUs))).toEqual(UNKNOWN_KEY)
    expect(verify(authority.forge({ alg: 'ES384' }, {}, byUs))).toEqual(UNKNOWN_KEY)
    expect(verify(authority.forge({ alg: 'PS256', kid: 'rsa-1' }, {}, byUs))).toEqual(UNKNOWN_KEY)
  })

  it.each(['jwk', 'jku', 'x5u', 'x5c'])('is refused if it brings its own key in %s', (name) => {
    const attacker = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const jwk = attacker.publicKey.export({ format: 'jwk' })
    const byAttacker = (signed: string) => signEs256(signed, attacker.privateKey)
    const offer = { jwk, jku: 'https://attacker.example/jwks', x5u: 'https://attacker.example/x5u', x5c: ['AA=='] }
    const value = offer[name as keyof typeof offer]

    expect(verify(authority.forge({ [name]: value }, {}, byAttacker))).toEqual(WRONG_SIGNATURE)
    expect(verify(authority.forge({ [name]: value, kid: undefined }, {}, byAttacker))).toEqual(UNKNOWN_KEY)
    expect(verify(authority.forge({ [name]: value, kid: 'ec-9' }, {}, byAttacker))).toEqual(UNKNOWN_KEY)
  })

  it('is refused if it requires an extension in crit, even with a valid signature', () => {
    expect(verify(authority.forge({ crit: ['b64'], b64: false }, {}, byUs))).toHaveProperty('fault')
    expect(verify(authority.forge({ crit: [] }, {}, byUs))).toHaveProperty('fault')
  })

  it('is refused if its type is not at+jwt, even with a valid signature', () => {
    for (const typ of ['JWT', 'id+jwt', 'logout+jwt', undefined]) {
      expect(verify(authority.forge({ typ }, {}, byUs))).toEqual({ fault: 'The token is not an access token.' })
    }
  })

  it('is refused with an unknown or malformed kid', () => {
    for (const kid of ['__proto__', 'constructor', '../../etc/passwd', "' OR 1=1", ['ec-1'], { a: 1 }, 1, null]) {
      expect(verify(authority.forge({ kid }, {}, byUs))).toEqual(UNKNOWN_KEY)
    }
  })

  it('is refused with a signature of zeros (CVE-2022-21449)', () => {
    expect(verify(authority.forge({}, {}, () => Buffer.alloc(64)))).toEqual(WRONG_SIGNATURE)
  })

  it('is refused with a signature in DER', () => {
    const der = (signed: string) => sign('sha256', Buffer.from(signed), authority.es256)
    expect(verify(authority.forge({}, {}, der))).toEqual(WRONG_SIGNATURE)
  })

  it('is refused with a truncated or extended signature', () => {
    for (const length of [0, 1, 32, 63])
      expect(verify(authority.forge({}, {}, (signed) => byUs(signed).subarray(0, length)))).toHaveProperty('fault')
    for (const tail of [Buffer.alloc(1), Buffer.alloc(64)])
      expect(verify(authority.forge({}, {}, (signed) => Buffer.concat([byUs(signed), tail])))).toEqual(WRONG_SIGNATURE)
  })

  it('is refused if the unused bits at the end of its signature are not zero', () => {
    const token = authority.token()
    const last = token.at(-1) ?? ''
    const sibling = ALPHABET[ALPHABET.indexOf(last) ^ 1] ?? ''
    expect(Buffer.from(token.slice(0, -1) + sibling, 'base64url')).toEqual(Buffer.from(token, 'base64url'))
    expect(signatureOf(token.slice(0, -1) + sibling)).toEqual(signatureOf(token))

    expect(verify(token.slice(0, -1) + sibling)).toEqual(WRONG_SIGNATURE)
  })

  it('is refused if its claims were changed after signing', () => {
    const [head = '', , signature = ''] = authority.token().split('.')
    const claims = Buffer.from(JSON.stringify({ ...CLAIMS, scope: 'admin' })).toString('base64url')

    expect(verify(`${head}.${claims}.${signature}`)).toEqual(WRONG_SIGNATURE)
  })

  it('is refused if its audience is a list, even if the list contains the API', () => {
    expect(verify(authority.token({ aud: [API] }))).toEqual(UNUSABLE_CLAIMS)
    expect(verify(authority.token({ aud: [API, 'orders-v1'] }))).toEqual(UNUSABLE_CLAIMS)
  })

  it('is refused if its issuer does not belong to its audience', () => {
    expect(verify(authority.token({ aud: 'orders-v1' }))).toEqual(OTHER_ISSUER)
    expect(verify(authority.token({ iss: `${GATEWAY_URL}/orders-v1` }))).toEqual(OTHER_ISSUER)
  })

  it('is refused if its issuer differs from the issuer of its API in any character', () => {
    for (const iss of [
      `${CLAIMS.iss}/`,
      CLAIMS.iss.toUpperCase(),
      CLAIMS.iss.replace('https', 'http'),
      `${CLAIMS.iss}?`,
      `https://gateway.example.attacker.example/${API}`,
      GATEWAY_URL,
      '',
    ]) {
      expect(verify(authority.token({ iss })), iss).toEqual(OTHER_ISSUER)
    }
  })

  it('is refused if a required claim is missing or a claim has the wrong form', () => {
    const odd: object[] = [
      { exp: undefined },
      { exp: '1900000000' },
      { nbf: null },
      { scope: ['payments:read'] },
      { client_id: { $ne: null } },
      { sub: 1 },
      { act: 'agt_1' },
      { act: {} },
      { aud: undefined },
      { jti: undefined },
      { jti: 1 },
    ]
    for (const claims of odd) expect(verify(authority.token(claims)), JSON.stringify(claims)).toEqual(UNUSABLE_CLAIMS)
  })

  it('is refused if it is longer than 12 KB', () => {
    expect(verify(authority.token({ filler: 'x'.repeat(12_288) }))).toEqual({
      fault: 'The token is longer than 12288 characters.',
    })
  })

  it('is refused with duplicate members or a byte order mark, even with a valid signature', () => {
    const encode = (text: string) => Buffer.from(text).toString('base64url')
    const head = JSON.stringify({ alg: 'ES256', typ: 'at+jwt', kid: 'ec-1' })
    const claims = JSON.stringify(CLAIMS)
    const signed = (one: string, other: string) => {
      const text = `${encode(one)}.${encode(other)}`
      return `${text}.${byUs(text).toString('base64url')}`
    }
    expect(verify(signed(head, claims))).toEqual({ claims: CLAIMS })
    expect(verify(signed(head, claims.replace('{', '{"scope":"admin",')))).toEqual(UNREADABLE_CLAIMS)
    expect(verify(signed(head, claims.replace('{', '{"\\u0073cope":"admin",')))).toEqual(UNREADABLE_CLAIMS)
    expect(verify(signed(head.replace('{', '{"kid":"ec-2",'), claims))).toHaveProperty('fault')
    expect(verify(signed(head, `\ufeff${claims}`))).toEqual(UNREADABLE_CLAIMS)
  })

  it('is refused if it is not UTF-8 or is nested too deeply, even with a valid signature', () => {
    for (const bytes of [
      Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
      Buffer.from('{"a":'.repeat(100) + '1'),
    ]) {
      const [head = ''] = authority.token().split('.')
      const text = `${head}.${bytes.toString('base64url')}`
      expect(verify(`${text}.${byUs(text).toString('base64url')}`)).toEqual(UNREADABLE_CLAIMS)
    }
  })

  it('is refused if it is not a JWT', () => {
    const [head = '', claims = '', signature = ''] = authority.token().split('.')
    const odd = [
      '',
      '.',
      '..',
      '...',
      `${head}.${claims}`,
      `${head}.${claims}.`,
      `${head}.${claims}.${signature}.`,
      `${head}.${claims}.${signature}.${signature}`,
      `${head}=.${claims}.${signature}`,
      ` ${head}.${claims}.${signature}`,
      `${head}.${claims}.${signature}\n`,
      `bnVsbA.${claims}.${signature}`,
      `${Buffer.from('[]').toString('base64url')}.${claims}.${signature}`,
      `${Buffer.from('{"alg":').toString('base64url')}.${claims}.${signature}`,
      'a.'.repeat(6_000),
    ]
    for (const token of odd) expect(verify(token), token.slice(0, 40)).toHaveProperty('fault')
  })
})

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

import { generateKeyPairSync, X509Certificate } from 'node:crypto'
import { afterAll, expect, it } from 'vitest'
import { Problem } from '../../../../src/foundation/domain/problem.ts'
import { certificateFault, checkTls, type CheckedTls } from '../../../../src/control/publishing/backend-tls.ts'
import { createTestAuthority } from '../../../fixtures/test-certificates.ts'

const authority = createTestAuthority()
afterAll(() => authority.remove())

const NOW_MS = Date.now()
const DAY_MS = 86_400_000
const ca = authority.cert.toString()
const own = authority.signFor('clientAuth', 'gateway.example')
const certificate = own.cert.toString()
const key = own.key.toString()
const shortLived = authority.sign('gateway.example', 20).cert.toString()
const longLived = authority.sign('gateway.example', 90).cert.toString()
const other = authority.signFor('clientAuth', 'other.example').key.toString()
const { privateKey: encrypted } = generateKeyPairSync('ec', {
  namedCurve: 'P-256',
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'secret' },
})

function keyOf(type: 'rsa' | 'dsa', modulusLength: number): string {
  const { privateKey } = generateKeyPairSync(type as 'rsa', { modulusLength })
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}

function faultOf(tls: CheckedTls, nowMs = NOW_MS): readonly [string, string] | null {
  try {
    checkTls(tls, nowMs)
    return null
  } catch (cause) {
    if (!(cause instanceof Problem)) throw cause
    const [{ pointer, detail } = { pointer: '', detail: '' }] = cause.errors
    return [pointer.slice('/backend/tls'.length), detail]
  }
}

it.each<[string, CheckedTls]>([
  ['a certificate with its key', { certificate, key }],
  ['authorities', { ca }],
  ['all of them', { certificate, key, ca: ca + certificate }],
  ['a chain', { certificate: certificate + ca, key }],
  ['a certificate whose key is stored', { certificate }],
  ['text between certificates', { ca: `subject=CN = Test\n${ca}\n\nissuer=x\n${ca}` }],
])('accepts %s', (_, tls) => {
  expect(faultOf(tls)).toBeNull()
})

it.each<[string, string, string, CheckedTls]>([
  ['nothing', '', 'Give a certificate', {}],
  ['a key alone', '/certificate', 'A key needs', { key }],
  ['a key beside authorities', '/certificate', 'A key needs', { key, ca }],
  ['text', '/certificate', 'PEM', { certificate: 'hello', key }],
  ['a key as a certificate', '/certificate', 'PEM', { certificate: key, key }],
  ['a key behind a certificate', '/certificate', 'PEM', { certificate: certificate + key, key }],
  ['a cut certificate', '/ca', 'PEM', { ca: ca.slice(0, -30) }],
  ['a broken certificate', '/ca', 'cannot be read', { ca: ca.replace(/M/, 'A') }],
  [
    'a broken certificate behind a good one',
    '/ca',
    'Certificate 2 cannot',
    { ca: ca + ca.replace(/\n..../, '\nAAAA') },
  ],
  ['very many certificates', '/ca', 'at most', { ca: ca.repeat(65) }],
  ['the key of another certificate', '/key', 'does not match', { certificate, key: other }],
  ['a certificate as a key', '/key', 'unencrypted', { certificate, key: certificate }],
  ['a key that would block a thread', '/key', 'up to 4096 bits', { certificate, key: keyOf('rsa', 4_104) }],
  ['a key for DSA', '/key', 'ECDSA', { certificate, key: keyOf('dsa', 1_024) }],
  ['an encrypted key', '/key', 'unencrypted', { certificate, key: encrypted }],
  ['the key of the second certificate', '/key', 'does not match', { certificate: ca + certificate, key }],
])('refuses %s', (_, pointer, detail, tls) => {
  expect(faultOf(tls)).toEqual([pointer, expect.stringContaining(detail)])
})

it('refuses what has expired', () => {
  expect(faultOf({ certificate, key }, NOW_MS + 31 * DAY_MS)).toEqual([
    '/certificate',
    expect.stringContaining('expired'),
  ])
  expect(faultOf({ ca }, NOW_MS + 31 * DAY_MS)).toEqual(['/ca', expect.stringContaining('expired')])
})

it('refuses what is not valid yet, unless clocks may differ by that', () => {
  const fromMs = new X509Certificate(certificate).validFromDate.getTime()
  expect(faultOf({ certificate, key }, fromMs - 60_000)).toBeNull()
  expect(faultOf({ certificate, key }, fromMs - 61_000)).toEqual([
    '/certificate',
    expect.stringContaining('not valid until'),
  ])
})

it('finds the certificate of a stored chain that has expired', () => {
  expect(certificateFault({ certificate: certificate + ca }, NOW_MS)).toBeNull()
  expect(certificateFault({ certificate: shortLived + ca }, NOW_MS + 29 * DAY_MS)).toContain('Certificate 1 expired')
  expect(certificateFault({ certificate: longLived + ca }, NOW_MS + 31 * DAY_MS)).toContain('Certificate 2 expired')
  expect(certificateFault({}, NOW_MS)).toBeNull()
})

it('never repeats a key in its answer', () => {
  for (const wrong of [other, encrypted, `${key.slice(0, 60)}marker`])
    expect(JSON.stringify(faultOf({ certificate, key: wrong }))).not.toMatch(/BEGIN|marker|PRIVATE/)
})

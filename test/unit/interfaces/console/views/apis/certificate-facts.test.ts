// @module-tag openssl

import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { readCertificates } from '../../../../../../src/interfaces/console/views/apis/certificate-facts.ts'

const HOSTILE = 'CN=<img src=x onerror=ran(1)>'

function make(subject: string, ...more: string[]): string {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', '/dev/null']
  const made = ['req', '-x509', ...key, '-subj', subject, '-utf8', ...more]
  return execFileSync('openssl', made, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
}

const DER = (pem: string): Buffer => new X509Certificate(pem).raw
const toPem = (der: Uint8Array): string =>
  `-----BEGIN CERTIFICATE-----\n${Buffer.from(der).toString('base64')}\n-----END CERTIFICATE-----\n`

describe('The certificates of a text', () => {
  it.each([
    ['/CN=gateway.example', [], 'CN=gateway.example'],
    ['/C=DE/O=Bäckerei \u202eäß/OU=a, b/CN=gateway', [], 'C=DE, O=Bäckerei \u202eäß, OU=a, b, CN=gateway'],
    [`/${HOSTILE}`, [], HOSTILE],
    ['/CN=far', ['-days', '20000'], 'CN=far'],
    ['/', [], ''],
  ])('have the subject and the expiry of %s', (subject, more, expected) => {
    const pem = make(subject, ...more)
    const expiresAt = new X509Certificate(pem).validToDate.toISOString()
    expect(readCertificates(pem)).toEqual([{ subject: expected, expiresAt }])
  })

  it('are read in their order, with the text around them', () => {
    const pem = `${make('/CN=leaf')} text -----BEGIN CERTIFICATE----- \n${make('/CN=issuer')}`
    expect(readCertificates(pem).map((each) => each?.subject)).toEqual(['CN=leaf', 'CN=issuer'])
    expect(readCertificates('')).toEqual([])
  })

  it('have names of attributes that are not known by the bytes of their ids', () => {
    const pem = make('/UID=7/CN=gateway')
    expect(readCertificates(pem)[0]?.subject).toBe('0992268993f22c640101=7, CN=gateway')
  })

  it('never throw, and never end late, if their bytes are cut or changed', () => {
    const der = DER(make('/O=Example/CN=gateway'))
    for (let at = 0; at < der.length; at++) {
      expect(readCertificates(toPem(der.subarray(0, at)))).toEqual([null])
      const changed = Buffer.from(der)
      for (const byte of [0x00, 0x30, 0x80, 0x84, 0xff]) {
        changed[at] = byte
        expect(readCertificates(toPem(changed))).toHaveLength(1)
      }
    }
    expect(readCertificates(toPem(Buffer.alloc(20_000, 0x30)))).toEqual([null])
    expect(readCertificates('-----BEGIN CERTIFICATE-----=-----END CERTIFICATE-----')).toEqual([null])
  })
})

/** Checks the certificate, the key and the authorities of the connections to a backend, when they are staged. */

import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { invalidAt } from '../command/commands.ts'

export interface CheckedTls {
  readonly certificate?: string
  readonly key?: string
  readonly ca?: string
}

const BLOCK = /-----BEGIN ([A-Z0-9 ]{1,64})-----[^-]*-----END \1-----/g
const CERTIFICATE = 'CERTIFICATE'
/** Each is parsed on the main thread. */
const CERTIFICATES_MAX = 64
const KEY_TYPES: ReadonlySet<string | undefined> = new Set(['rsa', 'rsa-pss', 'ec', 'ed25519', 'ed448'])
/** A gateway thread signs with the key at each new connection: longer ones would block it. */
const RSA_BITS_MAX = 4_096

/** The clocks of an authority and of this service may differ. */
const CLOCKS_DIFFER_MS = 60_000

/** Throws a problem at the first member that cannot be used. Its text never has a part of the key. */
export function checkTls({ certificate, key, ca }: CheckedTls, nowMs: number): void {
  if (certificate === undefined && key !== undefined)
    throw invalidAt('/backend/tls/certificate', 'A key needs its certificate.')
  if (certificate === undefined && ca === undefined) throw invalidAt('/backend/tls', 'Give a certificate or `ca`.')
  if (ca !== undefined) readCertificates(ca, '/backend/tls/ca', nowMs)
  if (certificate === undefined) return
  const [own] = readCertificates(certificate, '/backend/tls/certificate', nowMs)
  if (key === undefined) return
  const privateKey = readKey(key)
  const { asymmetricKeyType: type, asymmetricKeyDetails: { modulusLength = 0 } = {} } = privateKey
  if (!KEY_TYPES.has(type) || modulusLength > RSA_BITS_MAX) {
    throw invalidAt('/backend/tls/key', `Give a key for ECDSA or EdDSA, or one for RSA of up to ${RSA_BITS_MAX} bits.`)
  }
  if (own?.checkPrivateKey(privateKey) !== true) {
    throw invalidAt('/backend/tls/key', 'The key does not match the first certificate of `certificate`.')
  }
  refuseUnusable(certificate, key)
}

function readCertificates(text: string, pointer: string, nowMs: number): readonly X509Certificate[] {
  const blocks = [...text.matchAll(BLOCK)]
  const isOther = blocks.some(([, label]) => label !== CERTIFICATE)
  if (blocks.length === 0 || isOther || text.replaceAll(BLOCK, '').includes('-----'))
    throw invalidAt(pointer, 'Give certificates in PEM, and nothing else.')
  if (blocks.length > CERTIFICATES_MAX) throw invalidAt(pointer, `Give at most ${CERTIFICATES_MAX} certificates.`)
  return blocks.map(([block], index) => {
    const certificate = readCertificate(block, `${pointer}`, index)
    const fault = validityFault(certificate, index, nowMs)
    if (fault !== null) throw invalidAt(pointer, fault)
    return certificate
  })
}

/** Returns the certificates of a text that was checked before. */
export function certificatesOf(text: string): readonly X509Certificate[] {
  return [...text.matchAll(BLOCK)].map(([block]) => new X509Certificate(block))
}

/** Returns why a certificate that was checked before is of no use now: it is outside the time of its validity. */
export function certificateFault({ certificate = '' }: CheckedTls, nowMs: number): string | null {
  for (const [index, read] of certificatesOf(certificate).entries()) {
    const fault = validityFault(read, index, nowMs)
    if (fault !== null) return fault
  }
  return null
}

function validityFault({ validFromDate, validToDate }: X509Certificate, index: number, nowMs: number): string | null {
  if (validToDate.getTime() <= nowMs) return `Certificate ${index + 1} expired at ${validToDate.toISOString()}.`
  if (validFromDate.getTime() <= nowMs + CLOCKS_DIFFER_MS) return null
  return `Certificate ${index + 1} is not valid until ${validFromDate.toISOString()}.`
}

function readCertificate(block: string, pointer: string, index: number): X509Certificate {
  try {
    return new X509Certificate(block)
  } catch {
    throw invalidAt(pointer, `Certificate ${index + 1} cannot be read.`)
  }
}

function readKey(text: string): KeyObject {
  try {
    return createPrivateKey(text)
  } catch {
    throw invalidAt('/backend/tls/key', 'Give an unencrypted private key in PEM.')
  }
}

/** TLS refuses some keys that can be read, such as short ones. */
function refuseUnusable(cert: string, key: string): void {
  try {
    createSecureContext({ cert, key })
  } catch {
    throw invalidAt('/backend/tls/certificate', 'TLS does not accept this certificate or its key; it may be too short.')
  }
}

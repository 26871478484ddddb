/**
 * Reads the certificates that the settings name.
 *
 * A folder holds pairs: `api.crt` or `api.pem` with `api.key`, or a folder with `tls.crt` and `tls.key` (Kubernetes) or
 * `fullchain.pem` and `privkey.pem` (Certbot). The names of a certificate are those in the certificate.
 */

import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join, parse } from 'node:path'
import { createSecureContext } from 'node:tls'
import type { CertificatePlan } from './tls-plan.ts'

export interface TlsSettings {
  /** Null: only hosts with a certificate in the folder are served. */
  readonly pair: CertificatePair | null
  readonly folder: string | null
  readonly clientCaFile: string | null
}

export interface CertificatePair {
  readonly certFile: string
  readonly keyFile: string
}

export interface StoredCertificate extends CertificatePlan {
  readonly file: string
  readonly expiresMs: number
}

export interface Certificates {
  readonly fallback: StoredCertificate | null
  readonly others: readonly StoredCertificate[]
  readonly clientCa: string | null
  /** One sentence for each file that could not be read. */
  readonly faults: readonly string[]
}

const FOLDER_PAIRS = [
  ['tls.crt', 'tls.key'],
  ['fullchain.pem', 'privkey.pem'],
] as const
const HOST = /^(?:\*\.)?[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*$/
const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** A certificate that cannot be read is taken from `previous`, and reported. */
export async function readCertificates(settings: TlsSettings, previous: Certificates | null): Promise<Certificates> {
  const faults: string[] = []

  async function attempt<T>(file: string, read: () => Promise<T>, kept: T): Promise<T> {
    try {
      return await read()
    } catch (cause) {
      faults.push(`${file}: ${reasonOf(cause)}`)
      return kept
    }
  }

  const { pair, folder, clientCaFile } = settings
  const known = new Map(previous?.others.map((certificate) => [certificate.file, certificate]))
  const readOne = ({ certFile, keyFile }: CertificatePair, kept: StoredCertificate | null) =>
    attempt(certFile, () => readPair(certFile, keyFile), kept)
  const fallback = pair === null ? null : await readOne(pair, previous?.fallback ?? null)
  const found = folder === null ? [] : await attempt(folder, () => findPairs(folder), null)
  const others: StoredCertificate[] = []
  for (const each of found ?? []) {
    const certificate = await readOne(each, known.get(each.certFile) ?? null)
    if (certificate !== null) others.push(certificate)
  }
  const clientCa =
    clientCaFile === null
      ? null
      : await attempt(clientCaFile, () => readAuthorities(clientCaFile), previous?.clientCa ?? null)
  const isEmpty = fallback === null && others.length === 0 && faults.length === 0
  if (isEmpty) faults.push(`${folder}: it contains no certificate with a key`)
  const kept = found === null || isEmpty ? (previous?.others ?? []) : others
  return { fallback, others: kept.toSorted(byExpiry), clientCa, faults }
}

/** The certificate that expires last is presented for a name that several have. */
function byExpiry(one: StoredCertificate, other: StoredCertificate): number {
  return other.expiresMs - one.expiresMs || (one.file < other.file ? -1 : 1)
}

async function findPairs(folder: string): Promise<readonly CertificatePair[]> {
  const pairs: CertificatePair[] = []
  const names = new Set(await readdir(folder))
  for (const name of [...names].toSorted()) {
    if (name.startsWith('.')) continue
    const path = join(folder, name)
    const { name: base, ext } = parse(name)
    if (ext === '.crt' || ext === '.pem') {
      const keyFile = join(folder, `${base}.key`)
      if (names.has(`${base}.key`) || ext === '.crt') pairs.push({ certFile: path, keyFile })
    } else if ((await stat(path)).isDirectory()) pairs.push(...(await pairsInFolder(path)))
  }
  return pairs
}

async function pairsInFolder(folder: string): Promise<readonly CertificatePair[]> {
  const names = new Set(await readdir(folder))
  return FOLDER_PAIRS.filter(([cert]) => names.has(cert)).map(([cert, key]) => {
    return { certFile: join(folder, cert), keyFile: join(folder, key) }
  })
}

async function readPair(certFile: string, keyFile: string): Promise<StoredCertificate> {
  const cert = await readFile(certFile, 'utf8')
  const key = await readFile(keyFile, 'utf8')
  const [leaf] = chainOf(cert)
  if (leaf === undefined) throw new Error('it contains no certificate in PEM')
  if (!leaf.checkPrivateKey(readKey(key, keyFile)))
    throw new Error(`the key in ${keyFile} belongs to another certificate`)
  createSecureContext({ cert, key })
  // Not those of its issuers: an expired one of several chains does no harm.
  return { file: certFile, cert, key, names: namesOf(leaf), expiresMs: leaf.validToDate.getTime() }
}

function readKey(pem: string, file: string): ReturnType<typeof createPrivateKey> {
  try {
    return createPrivateKey(pem)
  } catch {
    throw new Error(`the key in ${file} is not in PEM, or has a passphrase`)
  }
}

async function readAuthorities(file: string): Promise<string> {
  const pem = await readFile(file, 'utf8')
  if (chainOf(pem).length === 0) throw new Error('it contains no certificate in PEM')
  createSecureContext({ ca: pem })
  return pem
}

function chainOf(pem: string): readonly X509Certificate[] {
  return [...pem.matchAll(PEM)].map(([block]) => new X509Certificate(block))
}

/** Names of the subject count only in a certificate without alternative names, as for clients (RFC 6125, 6.4.4). */
function namesOf(certificate: X509Certificate): readonly string[] {
  const { subjectAltName } = certificate
  const texts =
    subjectAltName === undefined
      ? [/^CN=(.+)$/m.exec(certificate.subject)?.[1] ?? '']
      : subjectAltName.split(', ').flatMap((entry) => (entry.startsWith('DNS:') ? [entry.slice('DNS:'.length)] : []))
  return texts.map((text) => text.toLowerCase()).filter((text) => HOST.test(text))
}

function reasonOf(cause: unknown): string {
  const { code, message } = cause as NodeJS.ErrnoException
  if (code === 'ENOENT') return 'a file of this name, or its key, does not exist'
  if (code === 'EACCES') return 'it must be readable for the service'
  return message
}

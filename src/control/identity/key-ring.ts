/**
 * The keys that sign tokens. They are created on first start, encrypted at rest, and never leave the main thread.
 *
 * A key is published before it signs and stays published until the last token that it signed has expired: `next` is
 * published, `signing` signs, `retired` is only published. A rotation advances every key by one role, so that verifiers
 * have a key before they receive a token signed by it.
 */

import { createPrivateKey, generateKeyPair, sign as signBytes, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { calculateJwkThumbprint, type JWK } from 'jose'
import { CLOCK_MARGIN_MS, type Clock } from '../../foundation/runtime/clock.ts'
import { StartRefused } from '../../foundation/runtime/start-refused.ts'
import type { Vault } from '../../foundation/runtime/vault.ts'
import { documentKind, type Author, type Registry, type Write } from '../../storage/store/registry.ts'

export type TokenAlgorithm = 'ES256' | 'RS256'

export interface KeyRing {
  /** Returns the public parts of all keys that a verifier may need (RFC 7517). */
  publicKeys(): { readonly keys: readonly JWK[] }
  /** Returns a signed JWT with `kid` and `typ` in its header. */
  sign(claims: object, algorithm: TokenAlgorithm, typ: string): string
  /** Makes the next keys sign and creates new next keys, which must be published before the following rotation. */
  rotate(): Promise<void>
  /** Reads the keys again, after another node has changed them. */
  reload(): Promise<void>
  /** Deletes keys whose last token has expired. */
  deleteExpired(): Promise<void>
  times(): KeyTimes
  list(): readonly ListedKey[]
}

export interface KeyTimes {
  /** When the current signing keys began to sign. */
  readonly signingSinceMs: number
  /** When the next keys were published. */
  readonly nextSinceMs: number
  /** When the first retired key expires; null if there is none. */
  readonly unpublishAtMs: number | null
}

/** A key as operators see it. */
export interface ListedKey {
  readonly id: string
  readonly algorithm: TokenAlgorithm
  readonly role: KeyBody['role']
  readonly createdAtMs: number
  /** Null unless the key is retired. */
  readonly publishedUntilMs: number | null
}

interface KeyBody {
  readonly algorithm: TokenAlgorithm
  readonly role: 'next' | 'signing' | 'retired'
  readonly publicKey: JWK
  /** Encrypted PKCS #8. */
  readonly privateKey: string
  /** When the last token signed by the key has expired; 0 until the key retires. */
  readonly publishedUntilMs: number
  /** When the key got its role; missing in keys of an earlier version. */
  readonly sinceMs?: number
}

export const SIGNING_KEY_KIND = documentKind<KeyBody>('signing_key', 'hidden')

interface StoredKey extends KeyBody {
  readonly id: string
  readonly createdAtMs: number
  readonly sinceMs: number
  readonly revision: number
  readonly key: KeyObject
}

export interface KeyRingOptions {
  readonly registry: Registry
  readonly vault: Vault
  readonly clock: Clock
  readonly author: Author
}

const ALGORITHMS: readonly TokenAlgorithm[] = ['ES256', 'RS256']
const TOKEN_LIFETIME_MS = 3_600_000
const KEYS_MAX = 100
const generate = promisify(generateKeyPair)

export async function openKeyRing(options: KeyRingOptions): Promise<KeyRing> {
  const { registry, clock, author } = options
  let keys = await loadOrCreate(options)

  function published(): readonly StoredKey[] {
    const nowMs = clock.nowMs()
    return keys.filter(({ role, publishedUntilMs }) => role !== 'retired' || publishedUntilMs > nowMs)
  }

  return {
    publicKeys: () => ({ keys: published().map(({ publicKey }) => publicKey) }),
    sign(claims, algorithm, typ) {
      const signing = keys.find((key) => key.algorithm === algorithm && key.role === 'signing')
      if (signing === undefined) throw new Error(`there is no ${algorithm} key that signs`)
      return signJwt(signing, claims, typ)
    },
    async rotate() {
      const nowMs = clock.nowMs()
      const made = await Promise.all(ALGORITHMS.map((algorithm) => makeKey(options, algorithm, 'next', nowMs)))
      const moved = keys.flatMap((key) => advance(author, key, nowMs))
      await registry.commit(author, 'signing_key.rotate', [...moved, ...made])
      keys = await load(options)
    },
    async reload() {
      keys = await load(options)
    },
    async deleteExpired() {
      const nowMs = clock.nowMs()
      const expired = keys.filter((key) => isExpired(key, nowMs)).map((key) => change(author, key, null))
      if (expired.length === 0) return
      await registry.commit(author, 'signing_key.forget', expired)
      keys = await load(options)
    },
    times: () => timesOf(keys),
    list: () => keys.map(toListedKey),
  }
}

/** Loads the keys, after creating those that are missing. */
async function loadOrCreate(options: KeyRingOptions): Promise<readonly StoredKey[]> {
  const { registry, clock, author } = options
  const keys = await load(options)
  const missing = ALGORITHMS.flatMap((algorithm) =>
    (['signing', 'next'] as const)
      .filter((role) => !keys.some((key) => key.algorithm === algorithm && key.role === role))
      .map((role) => ({ algorithm, role })),
  )
  if (missing.length === 0) return keys
  const sinceMs = clock.nowMs()
  const made = await Promise.all(missing.map(({ algorithm, role }) => makeKey(options, algorithm, role, sinceMs)))
  await registry.commit(author, 'signing_key.create', made)
  return load(options)
}

function signJwt({ id, algorithm, key }: StoredKey, claims: object, typ: string): string {
  const header = { alg: algorithm, typ, kid: id }
  const text = `${encode(header)}.${encode(claims)}`
  const signer = algorithm === 'ES256' ? { key, dsaEncoding: 'ieee-p1363' as const } : key
  return `${text}.${signBytes('sha256', Buffer.from(text), signer).toString('base64url')}`
}

/** Returns the write that advances a key by one role or deletes it, or nothing if a retired key is still published. */
function advance(author: Author, key: StoredKey, nowMs: number): readonly Write[] {
  const { role } = key
  if (role === 'next') return [change(author, key, { role: 'signing', sinceMs: nowMs })]
  if (role === 'signing') {
    const publishedUntilMs = nowMs + TOKEN_LIFETIME_MS + CLOCK_MARGIN_MS
    return [change(author, key, { role: 'retired', sinceMs: nowMs, publishedUntilMs })]
  }
  return isExpired(key, nowMs) ? [change(author, key, null)] : []
}

function isExpired({ role, publishedUntilMs }: StoredKey, nowMs: number): boolean {
  return role === 'retired' && publishedUntilMs <= nowMs
}

function change({ tenant }: Author, stored: StoredKey, to: Partial<KeyBody> | null): Write {
  const { id, revision: expected, key: _key, createdAtMs: _createdAtMs, ...body } = stored
  return { kind: SIGNING_KEY_KIND, id, tenant, expected, body: to === null ? null : { ...body, ...to } }
}

async function load(options: KeyRingOptions): Promise<readonly StoredKey[]> {
  const documents = await options.registry.list(SIGNING_KEY_KIND, { limit: KEYS_MAX })
  return documents.map(({ id, revision, body, createdAtMs }) => ({
    ...body,
    id,
    revision,
    createdAtMs,
    sinceMs: body.sinceMs ?? createdAtMs,
    key: createPrivateKey(open(options, body.privateKey, id)),
  }))
}

function timesOf(keys: readonly StoredKey[]): KeyTimes {
  const since = (role: KeyBody['role']): number =>
    Math.min(...keys.filter((key) => key.role === role).map((key) => key.sinceMs))
  const ends = keys.filter(({ role }) => role === 'retired').map(({ publishedUntilMs }) => publishedUntilMs)
  return {
    signingSinceMs: since('signing'),
    nextSinceMs: since('next'),
    unpublishAtMs: ends.length === 0 ? null : Math.min(...ends),
  }
}

function toListedKey({ id, algorithm, role, createdAtMs, publishedUntilMs }: StoredKey): ListedKey {
  return { id, algorithm, role, createdAtMs, publishedUntilMs: role === 'retired' ? publishedUntilMs : null }
}

function open(options: KeyRingOptions, encrypted: string, id: string): string {
  try {
    return options.vault.decrypt(encrypted, id)
  } catch (cause) {
    throw new StartRefused(
      'the master key does not open the stored secrets; set the MASTER_KEY that they were created with',
      {
        cause,
      },
    )
  }
}

async function makeKey(
  options: KeyRingOptions,
  algorithm: TokenAlgorithm,
  role: KeyBody['role'],
  sinceMs: number,
): Promise<Write> {
  const { publicKey, privateKey } =
    algorithm === 'ES256'
      ? await generate('ec', { namedCurve: 'P-256' })
      : await generate('rsa', { modulusLength: 2048 })
  const jwk = publicKey.export({ format: 'jwk' }) as JWK
  const kid = await calculateJwkThumbprint(jwk)
  const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
  const body: KeyBody = {
    algorithm,
    role,
    publicKey: { ...jwk, kid, alg: algorithm, use: 'sig' },
    privateKey: options.vault.encrypt(pem, kid),
    publishedUntilMs: 0,
    sinceMs,
  }
  return { kind: SIGNING_KEY_KIND, id: kid, tenant: options.author.tenant, expected: 0, body }
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

/**
 * The keys that sign tokens: made on first start, encrypted at rest, never outside the main thread.
 *
 * A key is published before it signs and stays published until the last token it signed has expired:
 * `next` is published, `signing` signs, `retired` is only published. A rotation moves each one on, so
 * that every verifier knows a key before it meets it.
 */

import { createPrivateKey, generateKeyPair, sign as signBytes, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { calculateJwkThumbprint, type JWK } from 'jose'
import type { Clock } from '../runtime/clock.ts'
import { StartRefused } from '../runtime/start-refused.ts'
import type { Vault } from '../runtime/vault.ts'
import type { Author, Registry, Write } from '../store/registry.ts'

export type TokenAlgorithm = 'ES256' | 'RS256'

export interface KeyRing {
  /** Every key a verifier may meet, public parts alone (RFC 7517). */
  publicKeys(): { readonly keys: readonly JWK[] }
  /** A signed JWT with `kid` and `typ` in its header. */
  sign(claims: object, algorithm: TokenAlgorithm, typ: string): string
  /** Makes the next keys sign, and others the next; publish `publicKeys` before tokens leave. */
  rotate(): Promise<void>
}

interface KeyBody {
  readonly algorithm: TokenAlgorithm
  readonly role: 'next' | 'signing' | 'retired'
  readonly publicKey: JWK
  /** Encrypted PKCS #8. */
  readonly privateKey: string
  /** When the last token it signed has expired; 0 while it signs. */
  readonly publishedUntilMs: number
}

interface Held extends KeyBody {
  readonly id: string
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
/** For verifiers whose clock is behind. */
const LEEWAY_MS = 60_000
const KEYS_MAX = 100
const generate = promisify(generateKeyPair)

export async function openKeyRing(options: KeyRingOptions): Promise<KeyRing> {
  const { registry, vault, clock, author } = options
  let held = await load()
  const missing = ALGORITHMS.flatMap((algorithm) =>
    (['signing', 'next'] as const)
      .filter((role) => !held.some((key) => key.algorithm === algorithm && key.role === role))
      .map((role) => ({ algorithm, role })),
  )
  if (missing.length > 0) {
    const made = await Promise.all(missing.map(({ algorithm, role }) => makeKey(algorithm, role)))
    await registry.commit(author, 'signing_key.create', made)
    held = await load()
  }

  async function load(): Promise<readonly Held[]> {
    const documents = await registry.list<KeyBody>('signing_key', { limit: KEYS_MAX })
    return documents.map(({ id, revision, body }) => ({
      ...body,
      id,
      revision,
      key: createPrivateKey(open(body.privateKey, id)),
    }))
  }

  function open(encrypted: string, id: string): string {
    try {
      return vault.decrypt(encrypted, id)
    } catch (cause) {
      throw new StartRefused('the master key does not open this data folder: give the MASTER_KEY it was made with', {
        cause,
      })
    }
  }

  async function makeKey(algorithm: TokenAlgorithm, role: KeyBody['role']): Promise<Write> {
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
      privateKey: vault.encrypt(pem, kid),
      publishedUntilMs: 0,
    }
    return { kind: 'signing_key', id: kid, tenant: author.tenant, expected: 0, body }
  }

  function published(): readonly Held[] {
    const nowMs = clock.nowMs()
    return held.filter(({ role, publishedUntilMs }) => role !== 'retired' || publishedUntilMs > nowMs)
  }

  return {
    publicKeys: () => ({ keys: published().map(({ publicKey }) => publicKey) }),
    sign(claims, algorithm, typ) {
      const signing = held.find((key) => key.algorithm === algorithm && key.role === 'signing')
      if (signing === undefined) throw new Error(`there is no ${algorithm} key that signs`)
      const header = { alg: algorithm, typ, kid: signing.id }
      const text = `${encode(header)}.${encode(claims)}`
      const key = algorithm === 'ES256' ? { key: signing.key, dsaEncoding: 'ieee-p1363' as const } : signing.key
      return `${text}.${signBytes('sha256', Buffer.from(text), key).toString('base64url')}`
    },
    async rotate() {
      const publishedUntilMs = clock.nowMs() + TOKEN_LIFETIME_MS + LEEWAY_MS
      const made = await Promise.all(ALGORITHMS.map((algorithm) => makeKey(algorithm, 'next')))
      const moved = held.flatMap(({ id, revision, key: _, ...body }): Write[] => {
        const at = { kind: 'signing_key', id, tenant: author.tenant, expected: revision }
        if (body.role === 'next') return [{ ...at, body: { ...body, role: 'signing' } }]
        if (body.role === 'signing') return [{ ...at, body: { ...body, role: 'retired', publishedUntilMs } }]
        return body.publishedUntilMs <= clock.nowMs() ? [{ ...at, body: null }] : []
      })
      await registry.commit(author, 'signing_key.rotate', [...moved, ...made])
      held = await load()
    },
  }
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

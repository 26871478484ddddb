/**
 * Secrets at rest: encrypted, so that a stolen registry reveals none of them; hashed, so that lookups need no decryption.
 *
 * Uses AES-256-GCM with a random nonce per encryption. The context (kind and owner of the secret) is authenticated, so that a
 * ciphertext copied to another document does not decrypt. Encryption and hashing use separate keys, derived from the master key
 * (HKDF, RFC 5869).
 */

import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { chmodSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { opening, StartRefused } from './start-refused.ts'
import { writeWhole } from './sync-folder.ts'

export interface Vault {
  encrypt(text: string, context: string): string
  /** Throws if the ciphertext was changed, or belongs to another context. */
  decrypt(encrypted: string, context: string): string
  /** Returns a deterministic hash, in hex. */
  keyedHash(text: string): string
  /** The key of `keyedHash`, in hex, for other threads. */
  readonly hashKey: string
}

const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const FILE_NAME = 'master.key'

/** Returns the key of `MASTER_KEY` (64 hex digits or 43 base64url characters), or that of the data folder, created if missing. */
export function loadMasterKey({ dataDir, masterKey }: { dataDir: string; masterKey: string | null }): Buffer {
  if (masterKey !== null) return parseKey(masterKey, 'MASTER_KEY')
  return opening(join(dataDir, FILE_NAME), (path) => {
    if (existsSync(path)) {
      chmodSync(path, 0o600)
      return parseKey(readFileSync(path, 'utf8').trim(), path)
    }
    const key = randomBytes(KEY_BYTES)
    writeWhole(path, `${key.toString('hex')}\n`)
    return key
  })
}

function parseKey(text: string, place: string): Buffer {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex')
  if (/^[A-Za-z0-9_-]{43}=?$/.test(text)) return Buffer.from(text, 'base64url')
  const remedy = place === 'MASTER_KEY' ? '' : '; restore it from a backup'
  throw new StartRefused(`${place} takes 32 bytes as 64 hex digits or as base64url${remedy}`)
}

export function createVault(masterKey: Buffer): Vault {
  const encryptionKey = derive(masterKey, 'encryption')
  const hashKey = derive(masterKey, 'lookup').toString('hex')

  return {
    hashKey,
    keyedHash: createKeyedHash(hashKey),
    encrypt(text, context) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', encryptionKey, nonce).setAAD(Buffer.from(context))
      return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString(
        'base64url',
      )
    },
    decrypt(encrypted, context) {
      const bytes = Buffer.from(encrypted, 'base64url')
      if (bytes.length < NONCE_BYTES + TAG_BYTES) throw new Error('an encrypted secret is truncated')
      const nonce = bytes.subarray(0, NONCE_BYTES)
      const decipher = createDecipheriv('aes-256-gcm', encryptionKey, nonce)
        .setAAD(Buffer.from(context))
        .setAuthTag(bytes.subarray(-TAG_BYTES))
      const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES))
      return Buffer.concat([text, decipher.final()]).toString('utf8')
    },
  }
}

/** Returns an HMAC-SHA-256 function for a key in hex (`Vault.hashKey`). */
export function createKeyedHash(hashKey: string): (text: string) => string {
  const key = Buffer.from(hashKey, 'hex')
  return (text) => createHmac('sha256', key).update(text).digest('hex')
}

function derive(masterKey: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', masterKey, 'tollgate', purpose, KEY_BYTES))
}

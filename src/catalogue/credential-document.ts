/** What the registry keeps of a credential: secrets encrypted, and hashed for looking up. */

import type { CreateId } from '../runtime/ids.ts'
import type { Vault } from '../runtime/vault.ts'
import type { Document, Write } from '../store/registry.ts'
import { toTime } from './commands.ts'
import { createApiKey, createClientSecret, type RandomBytes } from './secret.ts'

export interface CredentialBody {
  readonly subscription: string
  readonly type: 'OAuth2' | 'ApiKey'
  readonly clientId: string
  /** Encrypted; `''` where there is none. */
  readonly clientSecret: string
  readonly secretHash: string
  readonly apiKey: string
  readonly keyHash: string
  readonly scopes: readonly string[]
  readonly apiProductId: string
  readonly state: 'Active' | 'Revoked'
  readonly expiresAtMs: number
}

export interface Credential {
  readonly id: string
  readonly type: CredentialBody['type']
  readonly clientId: string | null
  readonly clientSecret: string | null
  readonly apiKey: string | null
  readonly ApiProductId: string | null
  readonly scopes: readonly string[]
  readonly state: 'Active' | 'Expiring' | 'Expired' | 'Revoked'
  readonly createdAt: string
  readonly expiresAt: string
}

export interface Secrets {
  readonly vault: Vault
  readonly createId: CreateId
  readonly randomBytes: RandomBytes
}

export interface NewCredential {
  readonly tenant: string
  readonly subscription: string
  readonly type: CredentialBody['type']
  readonly scopes: readonly string[]
  readonly expiresAtMs: number
  /** A client that its owner has chosen; else one is made. */
  readonly chosen?: { readonly clientId: string; readonly clientSecret: string }
}

/** How long before its end a credential is shown to be near it. */
const EXPIRING_MS = 30 * 86_400_000

export function newCredentialWrite(secrets: Secrets, credential: NewCredential): Write {
  const { vault, createId, randomBytes } = secrets
  const { tenant, subscription, type, scopes, expiresAtMs, chosen } = credential
  const id = createId('crd')
  const shared = { subscription, type, scopes, apiProductId: '', state: 'Active', expiresAtMs } as const
  if (type === 'ApiKey') {
    const apiKey = createApiKey(randomBytes)
    const body = {
      ...shared,
      clientId: '',
      clientSecret: '',
      secretHash: '',
      apiKey: vault.encrypt(apiKey, id),
      keyHash: vault.keyedHash(apiKey),
    }
    return credentialWrite(id, tenant, 0, body)
  }
  const { clientId, clientSecret } = chosen ?? {
    clientId: createId('cli'),
    clientSecret: createClientSecret(randomBytes),
  }
  const body = {
    ...shared,
    clientId,
    clientSecret: vault.encrypt(clientSecret, id),
    secretHash: vault.keyedHash(clientSecret),
    apiKey: '',
    keyHash: '',
  }
  return credentialWrite(id, tenant, 0, body)
}

export function credentialWrite(id: string, tenant: string, expected: number, body: CredentialBody): Write {
  const name: Record<string, string> = body.type === 'ApiKey' ? { keyHash: body.keyHash } : { clientId: body.clientId }
  const keys = { subscription: body.subscription, ...name }
  return { kind: 'credential', id, tenant, expected, body, keys, unique: Object.keys(name) }
}

export function showCredential(
  { id, body, createdAtMs }: Document<CredentialBody>,
  vault: Vault,
  nowMs: number,
): Credential {
  const open = (encrypted: string): string | null => (encrypted === '' ? null : vault.decrypt(encrypted, id))
  return {
    id,
    type: body.type,
    clientId: body.clientId === '' ? null : body.clientId,
    clientSecret: open(body.clientSecret),
    apiKey: open(body.apiKey),
    ApiProductId: body.apiProductId === '' ? null : body.apiProductId,
    scopes: body.scopes,
    state: stateOf(body, nowMs),
    createdAt: toTime(createdAtMs),
    expiresAt: toTime(body.expiresAtMs),
  }
}

function stateOf({ state, expiresAtMs }: CredentialBody, nowMs: number): Credential['state'] {
  if (state === 'Revoked') return state
  if (expiresAtMs <= nowMs) return 'Expired'
  return expiresAtMs - nowMs <= EXPIRING_MS ? 'Expiring' : 'Active'
}

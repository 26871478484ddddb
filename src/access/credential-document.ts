/** What the registry keeps of a credential: secrets encrypted, and hashed for looking up. */

import { credential as machine, type CredentialEvent, type CredentialState } from './credential-machine.ts'
import { begin, step, type PersistedActor } from '../command/persisted-machine.ts'
import type { CreateId } from '../runtime/ids.ts'
import type { Vault } from '../runtime/vault.ts'
import { documentKind, type Document, type Write } from '../store/registry.ts'
import { toTime } from '../command/commands.ts'
import { createApiKey, createClientSecret, type RandomBytes } from '../plan/credential-format.ts'

export type CredentialType = 'OAuth2' | 'ApiKey' | 'PKCE' | 'Federated'

/** A client as a federated issuer names it. */
export interface FederatedClient {
  readonly issuer: string
  readonly clientId: string
}

export interface CredentialBody {
  readonly subscription: string
  readonly type: CredentialType
  /** Of a federated client, as its issuer names it. */
  readonly clientId: string
  /** `''` where we are the issuer; of credentials that an earlier version has made, missing. */
  readonly issuer?: string
  /** Encrypted; `''` where there is none. */
  readonly clientSecret: string
  readonly secretHash: string
  readonly apiKey: string
  readonly keyHash: string
  readonly scopes: readonly string[]
  readonly apiProductId: string
  readonly state: 'Active' | 'Revoked'
  readonly expiresAtMs: number
  /** A newer one was made in its place. */
  readonly isReplaced?: boolean
}

export const CREDENTIAL_KIND = documentKind<CredentialBody>('credential')

export interface Credential {
  readonly id: string
  readonly type: CredentialBody['type']
  readonly clientId: string | null
  readonly clientSecret: string | null
  readonly apiKey: string | null
  readonly ApiProductId: string | null
  readonly scopes: readonly string[]
  readonly state: CredentialState
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
  readonly apiProductId?: string
  readonly expiresAtMs: number
  readonly federated?: FederatedClient | null
  /** A client that its owner has chosen; else one is made. */
  readonly chosen?: { readonly clientId: string; readonly clientSecret: string }
}

/** How long before its end a credential is shown to be near it. */
const EXPIRING_MS = 30 * 86_400_000

export function newCredentialWrite(secrets: Secrets, credential: NewCredential): Write {
  const { tenant, subscription, type, scopes, apiProductId = '', expiresAtMs } = credential
  const id = secrets.createId('crd')
  const shared = { subscription, type, scopes, apiProductId, state: 'Active', expiresAtMs } as const
  return credentialWrite(id, tenant, 0, { ...shared, ...NOTHING, ...secretsOf(secrets, id, credential) })
}

const NOTHING = { clientId: '', issuer: '', clientSecret: '', secretHash: '', apiKey: '', keyHash: '' }

function secretsOf(
  { vault, createId, randomBytes }: Secrets,
  id: string,
  { type, federated, chosen }: NewCredential,
): Partial<CredentialBody> {
  if (type === 'Federated') return { ...federated }
  if (type === 'PKCE') return { clientId: createId('cli') }
  if (type === 'ApiKey') {
    const apiKey = createApiKey(randomBytes)
    return { apiKey: vault.encrypt(apiKey, id), keyHash: vault.keyedHash(apiKey) }
  }
  const { clientId, clientSecret } = chosen ?? {
    clientId: createId('cli'),
    clientSecret: createClientSecret(randomBytes),
  }
  return { clientId, clientSecret: vault.encrypt(clientSecret, id), secretHash: vault.keyedHash(clientSecret) }
}

export function credentialWrite(id: string, tenant: string, expected: number, body: CredentialBody): Write {
  const { subscription, type, clientId, issuer = '' } = body
  const at = { kind: CREDENTIAL_KIND, id, tenant, expected, body }
  // Its name is the issuer's to give, and it holds a subscription for each API: not unique.
  if (type === 'Federated') return { ...at, keys: { subscription, federated: federatedKey(tenant, issuer, clientId) } }
  const name: Record<string, string> = type === 'ApiKey' ? { keyHash: body.keyHash } : { clientId }
  return { ...at, keys: { subscription, ...name }, unique: Object.keys(name) }
}

export function federatedKey(tenant: string, issuer: string, clientId: string): string {
  return JSON.stringify([tenant, issuer, clientId])
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

function stateOf({ state, expiresAtMs }: CredentialBody, nowMs: number): CredentialState {
  const leftMs = expiresAtMs - nowMs
  const events: CredentialEvent['type'][] =
    state === 'Revoked' ? ['revoked'] : leftMs <= 0 ? ['expired'] : leftMs <= EXPIRING_MS ? ['expiring'] : []
  const actor = events.reduce<PersistedActor>(told, begin(machine, undefined))
  return actor.value as CredentialState
}

function told(actor: PersistedActor, type: CredentialEvent['type']): PersistedActor {
  const result = step(machine, actor, { type })
  if ('refused' in result) throw new Error(`a credential that is ${result.refused.state} cannot be ${type}`)
  return result.next
}

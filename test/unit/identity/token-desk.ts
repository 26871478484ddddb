/** A token issuer over a real registry and real keys, with time in the test's hands. */

import { expect } from 'vitest'
import type { Grant } from '../../../src/catalogue/grant.ts'
import { openKeyRing, type KeyRing } from '../../../src/identity/key-ring.ts'
import { createSecretBrake } from '../../../src/identity/secret-brake.ts'
import {
  createTokenIssuer,
  type ApiScopes,
  type IssueToken,
  type TokenAnswer,
} from '../../../src/identity/token-issuer.ts'
import type { Clock } from '../../../src/runtime/clock.ts'
import { createVault, type Vault } from '../../../src/runtime/vault.ts'
import type { Registry } from '../../../src/store/registry.ts'
import { openSqliteRegistry } from '../../../src/store/sqlite/registry.ts'

export const GATEWAY_URL = 'https://gateway.example'
export const API = 'payments-v1'
export const NOW_MS = 1_800_000_000_000
export const SECRET = 'tgs_ right secret + 100 %'
export const AUTHOR = { tenant: 'default', consumer: 'system' }

export const GRANT: Grant = {
  credential: 'crd_1',
  type: 'OAuth2',
  valid: true,
  active: true,
  expiresAtMs: 0,
  tenant: 'acme',
  subscription: 'sub_1',
  consumer: 'con_1',
  consumerName: 'Shop',
  consumerKind: 'application',
  api: API,
  apiProductId: '',
  scopes: ['read', 'write', 'secret', 'gone'],
  variant: '',
  version: 3,
}

export const SCOPES: ApiScopes = {
  tenant: 'acme',
  declared: ['read', 'write', 'secret', 'admin'],
  allowed: ['read', 'write', 'admin'],
  productIds: ['prd_1'],
}

export interface Desk {
  readonly registry: Registry
  readonly vault: Vault
  readonly clock: Clock
  readonly keyRing: KeyRing
  readonly issue: IssueToken
  /** A form for client credentials, with `fields` laid over; undefined leaves one out. */
  post(fields?: Readonly<Record<string, string | undefined>>, authorization?: string): Promise<TokenAnswer>
  forward(ms: number): void
}

export interface DeskOptions {
  readonly grant?: Partial<Grant>
  readonly scopes?: Partial<ApiScopes>
}

/** Knows one client, `cli_1`. */
export async function openDesk({ grant, scopes }: DeskOptions = {}): Promise<Desk> {
  let nowMs = NOW_MS
  let ids = 0
  const clock: Clock = { nowMs: () => nowMs, after: () => () => {}, every: () => () => {} }
  const registry = openSqliteRegistry({ path: ':memory:', clock })
  const vault = createVault(Buffer.alloc(32, 1))
  const keyRing = await openKeyRing({ registry, vault, clock, author: AUTHOR })
  const client = { grant: { ...GRANT, ...grant }, secretHash: vault.keyedHash(SECRET) }
  const issue = createTokenIssuer({
    keyRing,
    clientFor: async (clientId) => (clientId === 'cli_1' ? client : null),
    scopesOf: async (api) => (api === API ? { ...SCOPES, ...scopes } : null),
    keyedHash: vault.keyedHash,
    brake: createSecretBrake(clock),
    clock,
    createId: (prefix) => `${prefix}_${++ids}`,
    gatewayUrl: GATEWAY_URL,
  })

  return {
    registry,
    vault,
    clock,
    keyRing,
    issue,
    forward: (ms) => (nowMs += ms),
    post(fields = {}, authorization = undefined) {
      const all = { grant_type: 'client_credentials', client_id: 'cli_1', client_secret: SECRET, ...fields }
      const form = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined)
      return issue({ api: API, form, authorization })
    },
  }
}

/** Header and claims of the token in an answer. */
export function tokenOf({ status, body }: TokenAnswer): {
  text: string
  header: Record<string, unknown>
  claims: Record<string, unknown>
} {
  expect(status).toBe(200)
  const { access_token: text } = body as { access_token: string }
  const [header, claims] = text.split('.').map((part) => Buffer.from(part, 'base64url').toString())
  return { text, header: JSON.parse(header ?? ''), claims: JSON.parse(claims ?? '') }
}

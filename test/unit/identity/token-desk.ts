/** The OAuth endpoints over a real registry and real keys, with time in the test's hands. */

import { createHash, randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import type { Grant } from '../../../src/plan/grant.ts'
import { createAccessTokens, type ApiScopes } from '../../../src/identity/access-token.ts'
import {
  createAuthorizationCodes,
  type AuthorizationCodes,
  type Consent,
} from '../../../src/identity/authorization-codes.ts'
import { createClientAuthentication, type RegisteredClient } from '../../../src/identity/client-authentication.ts'
import { createIdTokens } from '../../../src/identity/id-token.ts'
import { createIntrospection } from '../../../src/identity/introspection.ts'
import { createIssuedTokens } from '../../../src/identity/issued-token.ts'
import { openKeyRing, type KeyRing } from '../../../src/identity/key-ring.ts'
import type { OauthAnswer, OauthCall, OauthEndpoint } from '../../../src/plan/oauth-call.ts'
import { createOauthDesk } from '../../../src/identity/oauth-desk.ts'
import { createRevocation } from '../../../src/identity/revocation.ts'
import { createSecretBrake } from '../../../src/identity/secret-brake.ts'
import { createTokenEndpoint } from '../../../src/identity/token-endpoint.ts'
import { createUserinfo } from '../../../src/identity/userinfo.ts'
import type { Clock } from '../../../src/runtime/clock.ts'
import { createVault, type Vault } from '../../../src/runtime/vault.ts'
import type { Registry } from '../../../src/store/registry.ts'
import { openSqliteRegistry } from '../../../src/store/sqlite/registry.ts'

export const GATEWAY_URL = 'https://gateway.example'
export const API = 'payments-v1'
export const NOW_MS = 1_800_000_000_000
export const SECRET = 'tgs_ right secret + 100 %'
export const AUTHOR = { tenant: 'default', consumer: 'system' }
export const VERIFIER = 'a-verifier-of-forty-three-characters-or-more'
export const REDIRECT = 'https://app.example/back'
export const PERSON = { id: 'usr_1', username: 'grace', name: 'Grace Hopper' }

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

export type Fields = Readonly<Record<string, string | undefined>>

export interface Desk {
  readonly registry: Registry
  readonly vault: Vault
  readonly clock: Clock
  readonly keyRing: KeyRing
  readonly codes: AuthorizationCodes
  readonly answer: OauthEndpoint
  /** What was revoked so far. */
  readonly revoked: Set<string>
  readonly failures: unknown[]
  /** A form for client credentials, with `fields` laid over; undefined leaves one out. */
  post(fields?: Fields, authorization?: string): Promise<OauthAnswer>
  /** A form of the public client `cli_public` for a code of its own. */
  redeem(fields?: Fields): Promise<OauthAnswer>
  call(endpoint: OauthCall['endpoint'], fields: Fields, more?: Partial<OauthCall>): Promise<OauthAnswer>
  /** A code as it stands after login and consent. */
  code(consent?: Partial<Consent>): Promise<string>
  forward(ms: number): void
}

export interface DeskOptions {
  readonly grant?: Partial<Grant>
  readonly scopes?: Partial<ApiScopes>
  /** Of the public client. */
  readonly publicGrant?: Partial<Grant>
  readonly gatewayUrl?: string
  readonly nowMs?: () => number
  /** File of the registry; default: none. */
  readonly registryPath?: string
}

/** Knows a confidential client `cli_1`, one of another consumer `cli_2`, and a public one `cli_public`. */
export async function openDesk(options: DeskOptions = {}): Promise<Desk> {
  const { grant, scopes, publicGrant, gatewayUrl = GATEWAY_URL } = options
  let time = NOW_MS
  let ids = 0
  const nowMs = options.nowMs ?? (() => time)
  const clock: Clock = { nowMs, after: () => () => {}, every: () => () => {} }
  const registry = openSqliteRegistry({ path: options.registryPath ?? ':memory:', clock })
  const vault = createVault(Buffer.alloc(32, 1))
  const keyRing = await openKeyRing({ registry, vault, clock, author: AUTHOR })
  const { keyedHash } = vault
  const secretHash = keyedHash(SECRET)
  const other = { ...GRANT, credential: 'crd_other', subscription: 'sub_other', consumer: 'con_other' }
  const open = { ...GRANT, type: 'PKCE', credential: 'crd_public', ...publicGrant } as const
  const clients: Readonly<Record<string, RegisteredClient>> = {
    cli_1: { grant: { ...GRANT, ...grant }, secretHash, redirectUris: [] },
    cli_other: { grant: other, secretHash, redirectUris: [] },
    cli_public: { grant: open, secretHash: '', redirectUris: [REDIRECT] },
  }
  const clientFor = async (clientId: string): Promise<RegisteredClient | null> => clients[clientId] ?? null
  const scopesOf = async (api: string): Promise<ApiScopes | null> =>
    api === API || api === 'orders-v1' ? { ...SCOPES, ...scopes } : null
  // Those of codes sort by time, as real ones do.
  const createId = (prefix: string): string => `${prefix}_${prefix === 'code' ? String(++ids).padStart(6, '0') : ++ids}`
  const shared = { keyRing, clientFor, scopesOf, keyedHash, clock, createId, gatewayUrl, randomBytes, registry }
  const authenticateClient = createClientAuthentication({ ...shared, brake: createSecretBrake(clock) })
  const codes = createAuthorizationCodes(shared)
  const revoked = new Set<string>()
  const revoke = async ({ jti }: { jti: string }): Promise<void> => void revoked.add(jti)
  const tokens = createIssuedTokens({ ...shared, isRevoked: (jti) => revoked.has(jti) })
  const failures: unknown[] = []
  const answer = createOauthDesk({
    endpoints: {
      token: createTokenEndpoint({
        ...shared,
        authenticateClient,
        codes,
        revoke,
        mint: createAccessTokens(shared),
        mintIdToken: createIdTokens(shared),
      }),
      introspect: createIntrospection({ authenticateClient, tokens }),
      revoke: createRevocation({ authenticateClient, tokens, revoke }),
      userinfo: createUserinfo({ tokens, personOf: async (_, id) => (id === PERSON.id ? PERSON : null) }),
      authorize: () => Promise.reject(new Error('nobody logs in here')),
    },
    onFailure: (cause) => failures.push(cause),
  })

  const call: Desk['call'] = (endpoint, fields, more = {}) => {
    const form = Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== undefined)
    return answer({ endpoint, api: API, method: 'POST', form, authorization: undefined, cookie: undefined, ...more })
  }
  const code: Desk['code'] = (consent = {}) =>
    codes.create({
      tenant: 'acme',
      clientId: 'cli_public',
      credential: 'crd_public',
      api: API,
      redirectUri: REDIRECT,
      challenge: challengeOf(VERIFIER),
      person: PERSON,
      scope: null,
      wantsIdToken: false,
      wantsProfile: false,
      nonce: null,
      loggedInAtMs: nowMs() - 5_000,
      ...consent,
    })

  return {
    registry,
    vault,
    clock,
    keyRing,
    codes,
    answer,
    revoked,
    failures,
    call,
    code,
    forward: (ms) => (time += ms),
    post(fields = {}, authorization = undefined) {
      const all = { grant_type: 'client_credentials', client_id: 'cli_1', client_secret: SECRET, ...fields }
      return call('token', all, { authorization })
    },
    async redeem(fields = {}) {
      const own = 'code' in fields ? fields['code'] : await code()
      const all = { grant_type: 'authorization_code', client_id: 'cli_public', code_verifier: VERIFIER, ...fields }
      return call('token', { ...all, code: own })
    },
  }
}

export function challengeOf(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url')
}

/** Header and claims of the token in an answer. */
export function tokenOf({ status, body }: OauthAnswer): {
  text: string
  header: Record<string, unknown>
  claims: Record<string, unknown>
} {
  expect(status).toBe(200)
  const { access_token: text } = body as { access_token: string }
  return { text, ...decode(text) }
}

export function decode(token: string): { header: Record<string, unknown>; claims: Record<string, unknown> } {
  const [header, claims] = token.split('.').map((part) => Buffer.from(part, 'base64url').toString())
  return { header: JSON.parse(header ?? ''), claims: JSON.parse(claims ?? '') }
}

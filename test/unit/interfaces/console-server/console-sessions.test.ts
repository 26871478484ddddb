import { randomBytes } from 'node:crypto'
import { expect, it, onTestFinished } from 'vitest'
import { createKeyedMutex } from '../../../../src/control/command/keyed-mutex.ts'
import { DUE_KIND } from '../../../../src/control/command/due-times.ts'
import { createConsoleSessions } from '../../../../src/interfaces/console-server/console-sessions.ts'
import {
  CONSOLE_SESSION_DUE,
  createSessionDocuments,
  createSessionExpiry,
} from '../../../../src/interfaces/console-server/session-documents.ts'
import {
  createTokenSource,
  TokensUnavailable,
  type Tokens,
} from '../../../../src/interfaces/console-server/token-source.ts'
import type { PersonLogin, PersonToken } from '../../../../src/control/identity/person-tokens.ts'
import type { OauthEndpoint, TokenKeeper } from '../../../../src/boundary/plan/oauth-call.ts'
import { createVault } from '../../../../src/foundation/runtime/vault.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'
import { openSqliteRegistry } from '../../../../src/storage/store/sqlite/registry.ts'
import { API, openTestOauthServer, tokenOf, type TestOauthServer } from '../../../fixtures/token-endpoints.ts'

const START_MS = Date.UTC(2026, 0, 1)
const HOUR_MS = 3_600_000
const CLIENT = 'tollgate-console.acme'

function tokens(number: number): Tokens {
  return { access: `access ${number}`, refresh: `refresh ${number}`, lifetimeMs: HOUR_MS, tenant: 'acme' }
}

function openSessions() {
  const clock = { ...createFakeClock(START_MS), ms: START_MS, nowMs: () => clock.ms }
  const registry = openSqliteRegistry({ path: ':memory:', clock })
  onTestFinished(() => registry.close())
  const renewals: string[] = []
  const revoked: string[] = []
  const source = {
    answer: async (): Promise<Tokens | null> => tokens(renewals.length + 1),
    async renew(_: string, refresh: string, keeper: TokenKeeper) {
      renewals.push(refresh)
      const given = await source.answer()
      if (given === null) return null
      await registry.commit({ tenant: 'acme', consumer: 'system' }, 'renew', [keeper.writeOf(given)])
      return given
    },
    async revoke(_: string, refresh: string) {
      revoked.push(refresh)
    },
  }
  const vault = createVault(randomBytes(32))
  const documents = createSessionDocuments({ registry, vault, clock, randomBytes })
  const logins: PersonLogin[] = []
  const issuePersonToken = async (login: PersonLogin, api: string): Promise<PersonToken> => {
    logins.push(login)
    return { kind: 'token', text: `token for ${api}` }
  }
  const sessions = createConsoleSessions({ documents, source, issuePersonToken, mutex: createKeyedMutex(), clock })
  return { clock, registry, renewals, revoked, logins, source, sessions }
}

it('gives the token of the sign-in until shortly before it expires, and then a new one', async () => {
  const { clock, renewals, sessions } = openSessions()
  const id = await sessions.begin(CLIENT, tokens(1))
  clock.ms = START_MS + HOUR_MS - 61_000
  expect(await sessions.tokenOf(id)).toBe('access 1')
  clock.ms = START_MS + HOUR_MS - 60_000
  expect(await sessions.tokenOf(id)).toBe('access 2')
  expect(renewals).toEqual(['refresh 1'])
})

it('renews once for requests that come together', async () => {
  const { clock, renewals, sessions } = openSessions()
  const id = await sessions.begin(CLIENT, tokens(1))
  clock.ms = START_MS + HOUR_MS
  const given = await Promise.all(Array.from({ length: 8 }, () => sessions.tokenOf(id)))
  expect(new Set(given)).toEqual(new Set(['access 2']))
  expect(renewals).toHaveLength(1)
})

it('ends when the refresh token gives no more, and not while the service cannot answer', async () => {
  const { clock, source, sessions } = openSessions()
  const id = await sessions.begin(CLIENT, tokens(1))
  clock.ms = START_MS + HOUR_MS
  source.answer = () => Promise.reject(new TokensUnavailable())
  await expect(sessions.tokenOf(id)).rejects.toThrow(TokensUnavailable)
  source.answer = async () => null
  expect(await sessions.tokenOf(id)).toBeNull()
  source.answer = async () => tokens(2)
  expect(await sessions.tokenOf(id)).toBeNull()
})

it('ends after 12 hours without use, and 7 days after the sign-in', async () => {
  const { clock, sessions } = openSessions()
  const idle = await sessions.begin(CLIENT, tokens(1))
  clock.ms = START_MS + 12 * HOUR_MS
  expect(await sessions.tokenOf(idle)).toBeNull()
  const used = await sessions.begin(CLIENT, tokens(1))
  const beganMs = START_MS + 12 * HOUR_MS
  for (let hour = 6; hour < 7 * 24; hour += 6) {
    clock.ms = beganMs + hour * HOUR_MS
    expect(await sessions.tokenOf(used)).not.toBeNull()
  }
  clock.ms = beganMs + 7 * 24 * HOUR_MS
  expect(await sessions.tokenOf(used)).toBeNull()
})

it('ends its refresh token when the person signs out', async () => {
  const { revoked, sessions } = openSessions()
  const [id, other] = [await sessions.begin(CLIENT, tokens(1)), await sessions.begin(CLIENT, tokens(2))]
  await sessions.end(id)
  expect(revoked).toEqual(['refresh 1'])
  expect([await sessions.tokenOf(id), await sessions.tokenOf(other)]).toEqual([null, 'access 2'])
})

it.each(['', 'x', 'A'.repeat(43), '../'.repeat(14), `${'A'.repeat(42)}\n`])('knows no session %j', async (id) => {
  const { sessions } = openSessions()
  await sessions.begin(CLIENT, tokens(1))
  expect(await sessions.tokenOf(id)).toBeNull()
  await sessions.end(id)
})

it('stores neither the id nor a token in readable form, and removes the session when its week is over', async () => {
  const { registry, sessions } = openSessions()
  const id = await sessions.begin(CLIENT, tokens(1))
  const kind = 'console_session' as never
  const stored = await registry.list(kind, { limit: 10 })
  expect(JSON.stringify(stored)).not.toContain(id)
  expect(JSON.stringify(stored)).not.toMatch(/access 1|refresh 1/)
  const [due] = await registry.list(DUE_KIND, { limit: 10 })
  expect(due?.body).toMatchObject({ kind: CONSOLE_SESSION_DUE, atMs: START_MS + 7 * 24 * HOUR_MS })
  const expire = createSessionExpiry({ registry })
  await expire(due!.body)
  await expire(due!.body)
  expect(await registry.list(kind, { limit: 10 })).toEqual([])
})

it('gives a token for an API while it lasts, with the sign-in that is in force', async () => {
  const { clock, logins, sessions } = openSessions()
  const id = await sessions.begin(CLIENT, tokens(1))
  expect(await sessions.apiTokenOf(id, 'ledger-v1')).toEqual({ kind: 'token', text: 'token for ledger-v1' })
  clock.ms = START_MS + HOUR_MS
  await sessions.tokenOf(id)
  await sessions.apiTokenOf(id, 'ledger-v1')
  expect(logins.map(({ refreshToken }) => refreshToken)).toEqual(['refresh 1', 'refresh 2'])
  await sessions.end(id)
  expect(await sessions.apiTokenOf(id, 'ledger-v1')).toBeNull()
  expect(logins.length).toBe(2)
})

/** Two nodes with one registry, and a session on them. */
async function openOnTwoNodes(options: { readonly beforeAnswer?: () => Promise<void> } = {}) {
  const server = await openTestOauthServer({ mayRefresh: true })
  onTestFinished(() => server.registry.close())
  const oauth: OauthEndpoint = async (call) => {
    await options.beforeAnswer?.()
    return server.answer({ ...call, api: API })
  }
  const nodes = [0, 1].map(() => openNode(server, oauth))
  const { text: access, claims } = tokenOf(await server.redeem())
  const { refresh_token: refresh } = (await server.redeem()).body as { refresh_token: string }
  const given = { access, refresh, lifetimeMs: HOUR_MS, tenant: String(claims['tenant']) }
  const id = await nodes[0]!.begin('cli_public', given)
  server.forward(HOUR_MS)
  return { server, nodes, id, given }
}

function openNode({ registry, vault, clock }: TestOauthServer, oauth: OauthEndpoint) {
  return createConsoleSessions({
    documents: createSessionDocuments({ registry, vault, clock, randomBytes }),
    source: createTokenSource(oauth),
    issuePersonToken: async () => ({ kind: 'unknown' }),
    mutex: createKeyedMutex(),
    clock,
  })
}

it('continues when two nodes renew it at the same time, with one token for both', async () => {
  const { server, nodes, id } = await openOnTwoNodes()
  for (let round = 1; round <= 20; round++) {
    const given = await Promise.all([...nodes, ...nodes].map((node) => node.tokenOf(id)))
    expect(given[0]).not.toBeNull()
    expect(new Set(given).size).toBe(1)
    server.forward(HOUR_MS)
  }
  expect(server.reused).toEqual([])
})

it('continues when a node that was interrupted uses the token that another one has replaced since', async () => {
  const waits: (() => void)[] = []
  let isPaused = false
  const { server, nodes, id } = await openOnTwoNodes({
    beforeAnswer: () => (isPaused ? new Promise((resolve) => waits.push(resolve)) : Promise.resolve()),
  })
  isPaused = true
  const late = nodes[0]!.tokenOf(id)
  await expect.poll(() => waits.length).toBe(1)
  isPaused = false
  const token = await nodes[1]!.tokenOf(id)
  waits[0]!()
  expect(await late).toBe(token)
  expect(token).not.toBeNull()
  expect(server.reused).toEqual([])
})

it('ends when someone else has used its refresh token', async () => {
  const { server, nodes, id, given } = await openOnTwoNodes()
  const stolen = await server.call('token', {
    grant_type: 'refresh_token',
    client_id: 'cli_public',
    refresh_token: given.refresh,
  })
  expect(stolen.status).toBe(200)
  expect(await nodes[0]!.tokenOf(id)).toBeNull()
  expect(server.reused).toHaveLength(1)
  expect(await nodes[1]!.tokenOf(id)).toBeNull()
})

it('ends on every node when the person signs out while another node renews it', async () => {
  for (let round = 1; round <= 20; round++) {
    const { server, nodes, id } = await openOnTwoNodes()
    const [, token] = await Promise.all([nodes[0]!.end(id), nodes[1]!.tokenOf(id)])
    expect(await nodes[1]!.tokenOf(id)).toBeNull()
    if (token !== null) expect(server.revoked).toContain(claimsOf(token)['jti'])
    expect(await server.registry.list('console_session' as never, { limit: 1 })).toEqual([])
  }
})

function claimsOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as Record<string, unknown>
}

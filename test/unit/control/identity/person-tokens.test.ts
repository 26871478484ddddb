import { randomBytes } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { AccessTokenRequest } from '../../../../src/control/identity/access-token.ts'
import { createPersonTokens, type PersonTokensOptions } from '../../../../src/control/identity/person-tokens.ts'
import { createRefreshGrants } from '../../../../src/control/identity/refresh-grants.ts'
import { toSharedClientGrant } from '../../../../src/boundary/plan/grant.ts'
import { openSqliteRegistry } from '../../../../src/storage/store/sqlite/registry.ts'

const CLIENT = 'tollgate-console.acme'
const START_MS = Date.UTC(2026, 0, 1)
const DAY_MS = 86_400_000
const TARGET = { tenant: 'acme', declared: ['read', 'write'], allowed: ['read', 'write'], productIds: [] }
const GRANT = { ...toSharedClientGrant('acme', 'Shop'), subscription: 'sub_1', consumer: 'con_1', api: 'ledger-v1' }

async function openTokens(change: Partial<PersonTokensOptions> = {}) {
  const clock = { ms: START_MS, nowMs: () => clock.ms }
  const registry = openSqliteRegistry({
    path: ':memory:',
    clock: { ...clock, after: () => () => undefined, every: () => () => undefined },
  })
  onTestFinished(() => registry.close())
  const refreshGrants = createRefreshGrants({
    ...{ registry, clock, randomBytes, keyedHash: (text) => `hash of ${text}` },
    createId: (prefix) => `${prefix}_1`,
    revoke: async () => undefined,
  })
  const { id, text, write } = refreshGrants.begin(
    {
      ...{ tenant: 'acme', clientId: CLIENT, credential: '', api: 'platform-v1', scope: 'apis:read' },
      ...{ person: { id: 'usr_1', epoch: 3 }, opensUserinfo: false, loggedInAtMs: START_MS },
    },
    { jti: 'tok_1', expiresAtMs: START_MS + 1 },
  )
  await registry.commit({ tenant: 'acme', consumer: 'system' }, 'begin', [write])
  const asked: object[] = []
  const minted: AccessTokenRequest[] = []
  const issue = createPersonTokens({
    refreshGrants,
    async grantPerson(login) {
      asked.push(login)
      return { grant: GRANT, scopes: null, revocation: '', isCurrent: () => true }
    },
    consumersOf: async () => ['con_1', 'con_2'],
    scopesOf: async (api) => (api === 'ledger-v1' ? TARGET : null),
    mint(request) {
      minted.push(request)
      return { text: 'the token', scope: 'read', jti: 'tok_2', expiresAtMs: 0 }
    },
    ...change,
  })
  const end = () => refreshGrants.end({ tenant: 'acme', consumer: 'system' }, id)
  return {
    clock,
    asked,
    minted,
    end,
    issue: (api = 'ledger-v1', clientId = CLIENT, consumer?: string) =>
      issue({ clientId, refreshToken: text }, api, consumer),
    text,
  }
}

describe('a token in the name of a person who is signed in to the console', () => {
  it('is for one API and a minute, under the subscription of the person', async () => {
    const { issue, asked, minted } = await openTokens()
    expect(await issue()).toEqual({ kind: 'token', text: 'the token' })
    expect(asked).toMatchObject([{ tenant: 'acme', api: 'ledger-v1', person: { id: 'usr_1', epoch: 3 } }])
    expect(minted).toMatchObject([
      { api: 'ledger-v1', clientId: CLIENT, grant: GRANT, person: { id: 'usr_1' }, lifetimeSeconds: 60, scope: null },
    ])
  })

  it('is not given for the platform, for an API that does not serve, and for one of another tenant', async () => {
    const { issue, asked } = await openTokens()
    expect(await issue('platform-v1')).toEqual({ kind: 'unknown' })
    expect(await issue('nowhere-v1')).toEqual({ kind: 'unknown' })
    expect(asked).toEqual([])
    const foreign = await openTokens({ scopesOf: async () => ({ ...TARGET, tenant: 'globex' }) })
    expect(await foreign.issue()).toEqual({ kind: 'unknown' })
    expect([foreign.asked, foreign.minted]).toEqual([[], []])
  })

  it('is not given without a subscription, and the consumers of the person are', async () => {
    const { issue } = await openTokens({ grantPerson: async () => 'unsubscribed' })
    expect(await issue()).toEqual({ kind: 'unsubscribed', consumers: ['con_1', 'con_2'] })
    const grant = { ...GRANT, api: 'other-v1' }
    const other = await openTokens({
      grantPerson: async () => ({ grant, scopes: null, revocation: '', isCurrent: () => true }),
    })
    expect(await other.issue()).toMatchObject({ kind: 'unsubscribed' })
  })

  it('is for the consumer that the person chooses, which must be one of theirs', async () => {
    const { issue, asked, minted } = await openTokens()
    expect(await issue('ledger-v1', CLIENT, 'con_2')).toMatchObject({ kind: 'token' })
    expect(asked).toMatchObject([{ api: 'ledger-v1', consumer: 'con_2' }])
    for (const foreign of ['con_3', '', 'con_2, con_2'])
      expect(await issue('ledger-v1', CLIENT, foreign)).toEqual({ kind: 'foreign' })
    expect([asked.length, minted.length]).toEqual([1, 1])
    const without = await openTokens({ grantPerson: async () => 'unsubscribed' })
    expect(await without.issue('ledger-v1', CLIENT, 'con_2')).toEqual({ kind: 'unsubscribed', consumers: ['con_2'] })
  })

  it('is not given when access of the person was taken away, before or meanwhile', async () => {
    const before = await openTokens({ grantPerson: async () => null })
    expect(await before.issue()).toEqual({ kind: 'ended' })
    const meanwhile = await openTokens({
      grantPerson: async () => ({ grant: GRANT, scopes: null, revocation: '', isCurrent: () => false }),
    })
    expect(await meanwhile.issue()).toEqual({ kind: 'ended' })
  })

  it('is not given by a sign-in that has ended, has expired, or is of another client', async () => {
    const { issue, end, minted } = await openTokens()
    expect(await issue('ledger-v1', 'tollgate-console.globex')).toEqual({ kind: 'ended' })
    await end()
    expect(await issue()).toEqual({ kind: 'ended' })
    const expired = await openTokens()
    expired.clock.ms += 31 * DAY_MS
    expect(await expired.issue()).toEqual({ kind: 'ended' })
    expect([minted, expired.minted]).toEqual([[], []])
  })

  it('is not given if it would be too long', async () => {
    const { issue } = await openTokens({ mint: () => null })
    expect(await issue()).toEqual({ kind: 'tooLong' })
  })
})

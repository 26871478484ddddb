import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createAuthorizationCodes, type Consent } from '../../../../src/control/identity/authorization-codes.ts'
import { ACME, NOW_MS, openTestCatalogue, RIVAL } from '../../../fixtures/test-catalogue.ts'
import { openTestPeople, PASSWORD } from '../../../fixtures/test-people.ts'
import { REDIRECT } from '../../../fixtures/token-endpoints.ts'

const HOUR_MS = 3_600_000

async function openSessions() {
  const catalogue = openTestCatalogue()
  const { registry, createId, vault } = catalogue
  const clock = { nowMs: () => catalogue.clock.nowMs }
  const people = await openTestPeople(catalogue)
  const { id } = await people.users.create(ACME, { username: 'grace', password: PASSWORD, name: 'Grace' })
  const codes = createAuthorizationCodes({ registry, createId, clock, randomBytes, keyedHash: vault.keyedHash })
  const person = { id, username: 'grace', name: 'Grace', epoch: 0 }
  const wanted = { scope: null, wantsIdToken: false, wantsProfile: false, nonce: null, loggedInAtMs: NOW_MS }
  const consent: Consent = {
    ...{ tenant: 'acme', clientId: 'cli_1', credential: 'crd_1', api: 'orders-v1' },
    ...{ redirectUri: REDIRECT, challenge: '', person, ...wanted },
  }

  /** Signs in; the code is redeemed for a token. */
  async function logIn(): Promise<string> {
    const text = await codes.create(consent)
    const code = await codes.find(text)
    const jti = createId('tok')
    if (code !== null) await codes.use(code, { jti, expiresAtMs: catalogue.clock.nowMs + HOUR_MS })
    return text
  }
  /** Signs in with a client that gets refresh tokens. */
  async function stayLoggedIn(epoch = 0): Promise<{ text: string; jti: string }> {
    const text = await codes.create(consent)
    const code = await codes.find(text)
    const gives = { jti: createId('tok'), expiresAtMs: catalogue.clock.nowMs + HOUR_MS }
    const login = { ...consent, person: { id, epoch }, scope: 'read', opensUserinfo: false }
    const { tenant, clientId, credential, api, person: of, scope, opensUserinfo, loggedInAtMs } = login
    const kept = { tenant, clientId, credential, api, person: of, scope, opensUserinfo, loggedInAtMs }
    const begun = people.refreshGrants.begin(kept, gives)
    if (code !== null) await codes.use(code, { ...gives, grant: begun.id }, [begun.write])
    return { text: begun.text, jti: gives.jti }
  }
  const list = async (tenant = 'acme') => (await people.sessions.list(tenant, id, { limit: 9 })).items
  return { ...people, catalogue, codes, consent, id, logIn, stayLoggedIn, list }
}

describe('the sessions of a person', () => {
  it('are the sign-ins whose token is accepted', async () => {
    const { catalogue, codes, consent, list, logIn } = await openSessions()
    await codes.create(consent)
    expect(await list()).toEqual([])
    const text = await logIn()
    const shown = await list()
    expect(shown).toEqual([
      {
        id: expect.stringMatching(/^ses_/),
        clientId: 'cli_1',
        api: 'orders-v1',
        loggedInAt: new Date(NOW_MS).toISOString(),
        lastUsedAt: new Date(NOW_MS).toISOString(),
        expiresAt: new Date(NOW_MS + HOUR_MS).toISOString(),
      },
    ])
    expect(JSON.stringify(shown)).not.toContain(text.split('.')[1])
    expect(await list('rival')).toEqual([])
    catalogue.clock.nowMs += HOUR_MS
    expect(await list()).toEqual([])
  })

  it('end together, and a sign-in afterwards counts', async () => {
    const { catalogue, id, list, logIn, users } = await openSessions()
    await logIn()
    await logIn()
    expect(await list()).toHaveLength(2)
    await expect(users.endSessions(RIVAL, id)).rejects.toMatchObject({ code: 'not_found' })
    await users.endSessions(ACME, id)
    expect(catalogue.gateway.revokedPeople.map(({ person }) => person)).toEqual([id])
    expect(await list()).toEqual([])
    await logIn()
    expect(await list()).toHaveLength(1)
  })

  it('last as long as the refresh token', async () => {
    const { catalogue, list, stayLoggedIn, refreshGrants } = await openSessions()
    const { text } = await stayLoggedIn()
    const [first] = await list()
    const day30 = new Date(NOW_MS + 30 * 24 * HOUR_MS).toISOString()
    expect(await list()).toEqual([{ ...first, expiresAt: day30 }])
    catalogue.clock.nowMs += 24 * HOUR_MS
    const found = await refreshGrants.find(text)
    const gives = { jti: catalogue.createId('tok'), expiresAtMs: catalogue.clock.nowMs + HOUR_MS }
    if (found !== null) await refreshGrants.rotate(found, gives)
    const [used] = await list()
    expect(used).toMatchObject({ id: first?.id, loggedInAt: first?.loggedInAt })
    expect(used?.lastUsedAt).toBe(new Date(NOW_MS + 24 * HOUR_MS).toISOString())
    catalogue.clock.nowMs += 30 * 24 * HOUR_MS
    expect(await list()).toEqual([])
  })

  it('end one by one, with their tokens', async () => {
    const { id, list, logIn, stayLoggedIn, sessions, refreshGrants, revokedTokens } = await openSessions()
    const kept = await stayLoggedIn()
    const { text, jti } = await stayLoggedIn()
    await logIn()
    const [first, second, third] = await list()
    await expect(sessions.end(RIVAL, id, second?.id ?? '')).rejects.toMatchObject({ code: 'not_found' })
    await expect(sessions.end(ACME, 'usr_other', second?.id ?? '')).rejects.toMatchObject({ code: 'not_found' })
    await sessions.end(ACME, id, second?.id ?? '')
    expect(revokedTokens).toEqual(new Set([jti]))
    expect(await refreshGrants.find(text)).toBeNull()
    expect(await list()).toEqual([first, third])
    await sessions.end(ACME, id, third?.id ?? '')
    expect(await list()).toEqual([first])
    expect(revokedTokens.size).toBe(2)
    await expect(sessions.end(ACME, id, third?.id ?? '')).rejects.toMatchObject({ code: 'not_found' })
    expect(await refreshGrants.find(kept.text)).toMatchObject({ isInForce: true })
  })

  it('end with a change that ends the access of the person', async () => {
    const { id, list, stayLoggedIn, users } = await openSessions()
    await stayLoggedIn()
    await users.endSessions(ACME, id)
    expect(await list()).toEqual([])
    await stayLoggedIn(1)
    expect(await list()).toHaveLength(1)
    await users.disable(ACME, id)
    expect(await list()).toEqual([])
  })

  it('are listed page by page', async () => {
    const { id, list, logIn, stayLoggedIn, sessions } = await openSessions()
    for (let count = 0; count < 2; count++) {
      await logIn()
      await stayLoggedIn()
    }
    const ids: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const page = await sessions.list('acme', id, { limit: 1, ...(cursor !== '' && { cursor }) })
      expect(page.items).toHaveLength(1)
      ids.push(...page.items.map((session) => session.id))
      cursor = page.next
    }
    expect(ids).toEqual((await list()).map((session) => session.id))
    expect(new Set(ids).size).toBe(4)
  })
})

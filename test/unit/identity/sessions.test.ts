import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createAuthorizationCodes, type Consent } from '../../../src/identity/authorization-codes.ts'
import { ACME, NOW_MS, openTestCatalogue, RIVAL } from '../../fixtures/test-catalogue.ts'
import { openTestPeople, PASSWORD } from '../../fixtures/test-people.ts'
import { REDIRECT } from '../../fixtures/token-endpoints.ts'

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

  /** Logs in; the code is redeemed for a token. */
  async function logIn(): Promise<string> {
    const text = await codes.create(consent)
    const code = await codes.find(text)
    const jti = createId('tok')
    if (code !== null) await codes.use(code, { jti, expiresAtMs: catalogue.clock.nowMs + HOUR_MS })
    return text
  }
  const list = async (tenant = 'acme') => (await people.sessions.list(tenant, id, { limit: 9 })).items
  return { ...people, catalogue, codes, consent, id, logIn, list }
}

describe('the sessions of a person', () => {
  it('are the logins whose token is accepted', async () => {
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
        expiresAt: new Date(NOW_MS + HOUR_MS).toISOString(),
      },
    ])
    expect(JSON.stringify(shown)).not.toContain(text.split('.')[1])
    expect(await list('rival')).toEqual([])
    catalogue.clock.nowMs += HOUR_MS
    expect(await list()).toEqual([])
  })

  it('end together, and a login afterwards counts', async () => {
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
})

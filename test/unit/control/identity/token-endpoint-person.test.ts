import { describe, expect, it } from 'vitest'
import { openTestOauthServer, tokenOf } from '../../../fixtures/token-endpoints.ts'

describe('a code of a person', () => {
  it('gives no token if the person may no longer sign in, and stays unused', async () => {
    const server = await openTestOauthServer()
    const code = await server.code()
    const { personGrant } = server
    server.personGrant = null
    expect(await server.redeem({ code })).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
    server.personGrant = personGrant
    expect((await server.redeem({ code })).status).toBe(200)
  })

  it('gives only the scopes that the person is entitled to', async () => {
    const server = await openTestOauthServer()
    server.personGrant = { scopes: new Set(['read', 'secret', 'other']), revocation: '', isCurrent: () => true }
    expect(tokenOf(await server.redeem()).claims['scope']).toBe('read')
    server.personGrant = { scopes: new Set(), revocation: '', isCurrent: () => true }
    expect(tokenOf(await server.redeem()).claims['scope']).toBe('')
  })

  it('gives no token if access was taken away while the token was created', async () => {
    const server = await openTestOauthServer()
    server.personGrant = { scopes: null, revocation: '', isCurrent: () => false }
    expect(await server.redeem()).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
  })
})

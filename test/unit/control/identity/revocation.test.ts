import { describe, expect, it } from 'vitest'
import type { OauthAnswer } from '../../../../src/boundary/plan/oauth-call.ts'
import {
  API,
  NOW_MS,
  openTestOauthServer,
  PERSON,
  SECRET,
  tokenOf,
  VERIFIER,
} from '../../../fixtures/token-endpoints.ts'

const BY_CLIENT = { client_id: 'cli_1', client_secret: SECRET }
const OTHER_CLIENT = { client_id: 'cli_other', client_secret: SECRET }

async function openLogin() {
  const server = await openTestOauthServer({ mayRefresh: true })
  const { call, code } = server
  const form = { grant_type: 'authorization_code', code_verifier: VERIFIER, ...BY_CLIENT }
  const first = await call('token', { ...form, code: await code({ clientId: 'cli_1' }) })
  const refresh = (answer: OauthAnswer) =>
    call('token', { grant_type: 'refresh_token', refresh_token: refreshTokenOf(answer), ...BY_CLIENT })
  const jtisOf = (...answers: OauthAnswer[]) => new Set(answers.map((answer) => tokenOf(answer).claims['jti']))
  return { ...server, server, first, refresh, jtisOf }
}

function refreshTokenOf({ body }: OauthAnswer): string {
  return String((body as Record<string, unknown>)['refresh_token'])
}

describe('the revocation of a refresh token', () => {
  it.each(['in force', 'replaced'])('ends the sign-in if the token is %s', async (state) => {
    const { call, first, refresh, revoked, jtisOf } = await openLogin()
    const second = await refresh(first)
    const token = refreshTokenOf(state === 'in force' ? second : first)
    const hint = { token_type_hint: 'access_token' }
    expect(await call('revoke', { token, ...hint, ...BY_CLIENT })).toMatchObject({ status: 200, body: null })
    expect(revoked).toEqual(jtisOf(first, second))
    expect(await refresh(second)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
    expect(await call('revoke', { token, ...BY_CLIENT })).toMatchObject({ status: 200, body: null })
  })

  it('has no effect for another client, or without the secret', async () => {
    const { call, first, refresh, revoked } = await openLogin()
    const token = refreshTokenOf(first)
    expect(await call('revoke', { token, ...OTHER_CLIENT })).toMatchObject({ body: { error: 'invalid_grant' } })
    expect((await call('revoke', { token, client_id: 'cli_1' })).status).toBe(401)
    const guess = token.replace(/\.[\w-]{43}\./, `.${'a'.repeat(43)}.`)
    expect(await call('revoke', { token: guess, ...BY_CLIENT })).toMatchObject({ status: 200 })
    expect(revoked).toEqual(new Set())
    expect((await refresh(first)).status).toBe(200)
  })
})

describe('the introspection of a refresh token', () => {
  it('shows the token in force to its client, and is no use of it', async () => {
    const { server, call, first, refresh, forward } = await openLogin()
    const introspect = (token: string, by: object = BY_CLIENT, more = {}) =>
      call('introspect', { token, ...by }, more).then(({ body }) => body)
    const token = refreshTokenOf(first)
    const iat = NOW_MS / 1_000 - 5
    const exp = NOW_MS / 1_000 + 30 * 86_400
    const claims = { active: true, client_id: 'cli_1', sub: PERSON.id, aud: API, scope: 'read write', iat, exp }
    expect(await introspect(token)).toEqual(claims)
    expect(await introspect(token)).toEqual(claims)
    expect(await introspect(token, OTHER_CLIENT)).toEqual({ active: false })
    expect(await introspect(token, BY_CLIENT, { api: 'orders-v1' })).toEqual({ active: false })

    const second = await refresh(first)
    expect(await introspect(token)).toEqual({ active: false })
    expect(await introspect(refreshTokenOf(second))).toMatchObject({ active: true })
    const { personGrant } = server
    server.personGrant = null
    expect(await introspect(refreshTokenOf(second))).toEqual({ active: false })
    server.personGrant = personGrant
    forward(30 * 86_400_000)
    expect(await introspect(refreshTokenOf(second))).toEqual({ active: false })
  })
})

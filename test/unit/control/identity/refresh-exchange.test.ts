import { describe, expect, it } from 'vitest'
import type { OauthAnswer } from '../../../../src/boundary/plan/oauth-call.ts'
import { REFRESH_GRANT_KIND } from '../../../../src/control/identity/refresh-grants.ts'
import {
  API,
  openTestOauthServer,
  PERSON,
  SECRET,
  tokenOf,
  VERIFIER,
  type Fields,
  type TestOauthServerOptions,
} from '../../../fixtures/token-endpoints.ts'

const DAY_MS = 86_400_000
const refused = { status: 400, body: { error: 'invalid_grant' } }
const jtiOf = (answer: OauthAnswer) => String(tokenOf(answer).claims['jti'])

function refreshTokenOf({ body }: OauthAnswer): string {
  const { refresh_token: text } = body as { refresh_token?: string }
  expect(text).toMatch(/^rfg_/)
  return text ?? ''
}

async function openServer(options: TestOauthServerOptions = {}) {
  const server = await openTestOauthServer({ mayRefresh: true, ...options })
  const refresh = (text: string, fields: Fields = {}, more = {}) =>
    server.call('token', { grant_type: 'refresh_token', client_id: 'cli_public', refresh_token: text, ...fields }, more)
  const grants = async () => (await server.registry.list(REFRESH_GRANT_KIND, { limit: 99 })).map(({ body }) => body)
  return { ...server, refresh, grants, server }
}

describe('a refresh token', () => {
  it('is issued only to a client that is entitled to it', async () => {
    const { redeem } = await openServer({ mayRefresh: false })
    expect((await redeem()).body).not.toHaveProperty('refresh_token')
    const entitled = await openServer()
    refreshTokenOf(await entitled.redeem())
    expect((await entitled.post()).body).not.toHaveProperty('refresh_token')
  })

  it('gives an access token of the person, and is replaced', async () => {
    const { redeem, refresh, revoked } = await openServer()
    const first = await redeem()
    const second = await refresh(refreshTokenOf(first))
    expect(second.body).toMatchObject({ token_type: 'Bearer', expires_in: 3_600, scope: 'read write' })
    expect(tokenOf(second).claims).toMatchObject({ sub: PERSON.id, client_id: 'cli_public', aud: API })
    const third = await refresh(refreshTokenOf(second))
    expect(new Set([first, second, third].map(refreshTokenOf)).size).toBe(3)
    expect(new Set([first, second, third].map(jtiOf)).size).toBe(3)
    expect(revoked).toEqual(new Set())
  })

  it('that is used twice ends the sign-in, with every access token that it gave', async () => {
    const { redeem, refresh, revoked, reused, grants } = await openServer()
    const first = await redeem()
    const second = await refresh(refreshTokenOf(first))
    const third = await refresh(refreshTokenOf(second))
    const answer = await refresh(refreshTokenOf(first))
    expect(answer).toMatchObject({
      ...refused,
      signal: { outcome: 'credential_invalid', grant: { consumer: 'con_1' } },
    })
    expect(revoked).toEqual(new Set([first, second, third].map(jtiOf)))
    expect(reused).toHaveLength(1)
    expect(await grants()).toEqual([])
    expect(await refresh(refreshTokenOf(third))).toMatchObject(refused)
  })

  it('that is used concurrently gives one access token, which is revoked', async () => {
    const { redeem, refresh, revoked } = await openServer()
    const first = await redeem()
    const text = refreshTokenOf(first)
    const answers = await Promise.all([1, 2, 3, 4].map(() => refresh(text)))
    const good = answers.filter(({ status }) => status === 200)
    expect(good).toHaveLength(1)
    expect(revoked).toEqual(new Set([first, ...good].map(jtiOf)))
    for (const answer of good) expect(await refresh(refreshTokenOf(answer))).toMatchObject(refused)
  })

  it('ends with the code that gave it if the code is used twice', async () => {
    const { code, redeem, refresh, revoked } = await openServer()
    const text = await code()
    const first = await redeem({ code: text })
    const second = await refresh(refreshTokenOf(first))
    expect(await redeem({ code: text })).toMatchObject(refused)
    expect(revoked).toEqual(new Set([first, second].map(jtiOf)))
    expect(await refresh(refreshTokenOf(second))).toMatchObject(refused)
  })

  it.each([
    ['another client', { client_id: 'cli_1', client_secret: SECRET }, {}],
    ['another API', {}, { api: 'orders-v1' }],
  ])('is refused for %s, and stays valid for its owner', async (_, fields, more) => {
    const { redeem, refresh, revoked } = await openServer({ publicGrant: { api: '', apiProductId: 'prd_1' } })
    const text = refreshTokenOf(await redeem())
    expect(await refresh(text, fields, more)).toMatchObject(refused)
    expect(await refresh(text)).toMatchObject({ status: 200 })
    expect(revoked).toEqual(new Set())
  })

  it('needs the secret of a confidential client', async () => {
    const { code, call, refresh } = await openServer()
    const form = {
      grant_type: 'authorization_code',
      code_verifier: VERIFIER,
      client_id: 'cli_1',
      client_secret: SECRET,
    }
    const text = refreshTokenOf(await call('token', { ...form, code: await code({ clientId: 'cli_1' }) }))
    expect((await refresh(text, { client_id: 'cli_1' })).status).toBe(401)
    expect((await refresh(text, { client_id: 'cli_1', client_secret: `${SECRET}x` })).status).toBe(401)
    expect((await refresh(text, { client_id: 'cli_1', client_secret: SECRET })).status).toBe(200)
  })

  it('expires 30 days after its last use, and 90 days after the sign-in', async () => {
    const { redeem, refresh, forward } = await openServer()
    const idle = refreshTokenOf(await redeem())
    let used = await redeem()
    for (let day = 0; day < 90; day += 29) {
      used = await refresh(refreshTokenOf(used))
      expect(used.status).toBe(200)
      forward(29 * DAY_MS)
    }
    expect(await refresh(refreshTokenOf(used))).toMatchObject(refused)
    expect(await refresh(idle)).toMatchObject(refused)
  })

  it('narrows the scopes for one access token, and never widens them', async () => {
    const { code, redeem, refresh } = await openServer()
    const first = await redeem({ code: await code({ scope: 'openid read', wantsIdToken: true }) })
    expect(first.body).toMatchObject({ scope: 'read', id_token: expect.any(String) })
    const wider = await refresh(refreshTokenOf(first), { scope: 'read write' })
    expect(wider).toMatchObject({ status: 400, body: { error: 'invalid_scope' } })
    const none = await refresh(refreshTokenOf(first), { scope: 'openid' })
    expect(none.body).toMatchObject({ scope: '' })
    const whole = await refresh(refreshTokenOf(none))
    expect(whole.body).toMatchObject({ scope: 'read' })
    expect(whole.body).not.toHaveProperty('id_token')
    expect(tokenOf(whole).claims).toMatchObject({ openid: true })
  })

  it('gives only scopes that the person still has, and no scope that was added since the sign-in', async () => {
    const { server, redeem, refresh } = await openServer()
    server.personGrant = { scopes: new Set(['read']), revocation: '', isCurrent: () => true }
    const first = await redeem()
    server.personGrant = { scopes: new Set(['read', 'write']), revocation: '', isCurrent: () => true }
    const second = await refresh(refreshTokenOf(first))
    expect(second.body).toMatchObject({ scope: 'read' })
    server.personGrant = { scopes: new Set(['write']), revocation: '', isCurrent: () => true }
    expect((await refresh(refreshTokenOf(second))).body).toMatchObject({ scope: '' })
  })

  it('is refused while the person may not use the sign-in, and stays unused', async () => {
    const { server, redeem, refresh } = await openServer()
    const { personGrant } = server
    const text = refreshTokenOf(await redeem())
    server.personGrant = null
    expect(await refresh(text)).toMatchObject(refused)
    server.personGrant = personGrant
    expect((await refresh(text)).status).toBe(200)
  })

  it('ends if access was taken away while the access token was created', async () => {
    const { server, redeem, refresh, revoked, grants } = await openServer()
    const first = await redeem()
    server.personGrant = { scopes: null, revocation: '', isCurrent: () => false }
    expect(await refresh(refreshTokenOf(first))).toMatchObject(refused)
    expect(revoked.has(jtiOf(first))).toBe(true)
    expect(revoked.size).toBe(2)
    expect(await redeem()).toMatchObject(refused)
    expect(await grants()).toEqual([])
  })

  it('gives at most 60 access tokens within their lifetime', async () => {
    const { redeem, refresh, forward } = await openServer()
    let answer = await redeem()
    for (let count = 1; count < 60; count++) answer = await refresh(refreshTokenOf(answer))
    const text = refreshTokenOf(answer)
    const tooMany = { status: 429, body: { error: 'temporarily_unavailable' }, headers: { 'Retry-After': '3600' } }
    expect(await refresh(text)).toMatchObject(tooMany)
    forward(3_600_000)
    expect((await refresh(text)).status).toBe(200)
  })

  it.each([
    ['missing', undefined, 'invalid_request'],
    ['empty', '', 'invalid_request'],
    ['of an unknown grant', `rfg_0.${'a'.repeat(43)}.${'b'.repeat(43)}`, 'invalid_grant'],
    ['malformed', '__proto__', 'invalid_grant'],
    ['too long', 'x'.repeat(5_000), 'invalid_request'],
    ['an access token', 'ey.J.x', 'invalid_grant'],
  ])('is refused if it is %s', async (_, text, error) => {
    const { redeem, call } = await openServer()
    await redeem()
    const form = { grant_type: 'refresh_token', client_id: 'cli_public', refresh_token: text }
    expect(await call('token', form)).toMatchObject({ status: 400, body: { error } })
  })

  it('is not guessed with the id of a grant, and a wrong guess ends nothing', async () => {
    const { redeem, refresh, revoked } = await openServer()
    const text = refreshTokenOf(await redeem())
    const [id = '', family = '', secret = ''] = text.split('.')
    const other = 'a'.repeat(43)
    for (const guess of [`${id}.${other}.${secret}`, `${id}.${other}.${other}`, id, `${id}.${family}`]) {
      expect(await refresh(guess)).toMatchObject(refused)
    }
    expect(revoked).toEqual(new Set())
    expect((await refresh(text)).status).toBe(200)
  })
})

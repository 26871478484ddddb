import { createHash } from 'node:crypto'
import { createLocalJWKSet, jwtVerify, type JWK } from 'jose'
import { describe, expect, it } from 'vitest'
import type { OauthAnswer } from '../../../../src/boundary/plan/oauth-call.ts'
import {
  challengeOf,
  decode,
  GATEWAY_URL,
  API,
  NOW_MS,
  openTestOauthServer,
  PERSON,
  REDIRECT,
  SECRET,
  tokenOf,
  VERIFIER,
} from '../../../fixtures/token-endpoints.ts'
import { AUTHORIZATION_CODE_KIND } from '../../../../src/control/identity/authorization-codes.ts'

const refused = { status: 400, body: { error: 'invalid_grant' } }
const jtiOf = (answer: OauthAnswer) => String(tokenOf(answer).claims['jti'])

describe('an authorization code', () => {
  it('is exchanged once for a token on behalf of the person', async () => {
    const { redeem, code, revoked } = await openTestOauthServer()
    const text = await code()
    const answer = await redeem({ code: text })

    expect(answer.body).toMatchObject({ token_type: 'Bearer', expires_in: 3_600, scope: 'read write' })
    const { claims } = tokenOf(answer)
    expect(claims).toMatchObject({ sub: PERSON.id, client_id: 'cli_public', aud: API, subscription: 'sub_1' })
    expect(claims).not.toHaveProperty('act')
    expect(claims).not.toHaveProperty('openid')
    expect(answer.body).not.toHaveProperty('id_token')
    expect(revoked).toEqual(new Set())
  })

  it('that is used twice revokes the token of the first use', async () => {
    const { redeem, code, revoked } = await openTestOauthServer()
    const text = await code()
    const first = await redeem({ code: text })

    expect(await redeem({ code: text })).toMatchObject(refused)
    expect(revoked).toEqual(new Set([jtiOf(first)]))
  })

  it('that is redeemed concurrently gives one token, which is revoked', async () => {
    const { redeem, code, revoked } = await openTestOauthServer()
    const text = await code()
    const answers = await Promise.all([1, 2, 3].map(() => redeem({ code: text })))

    const good = answers.filter(({ status }) => status === 200)
    expect(good).toHaveLength(1)
    expect(revoked).toEqual(new Set(good.map(jtiOf)))
  })

  it('names the agent that acts for the person (RFC 8693, 4.1)', async () => {
    const { redeem } = await openTestOauthServer({ publicGrant: { consumerKind: 'agent' } })
    expect(tokenOf(await redeem()).claims).toMatchObject({ sub: PERSON.id, act: { sub: 'con_1' } })
  })

  it.each([
    ['another verifier', { code_verifier: `${VERIFIER}x` }],
    ['the challenge for a verifier', { code_verifier: challengeOf(VERIFIER) }],
    ['a redirect URI with a suffix', { redirect_uri: `${REDIRECT}/` }],
    ['a redirect URI with another case', { redirect_uri: REDIRECT.replace('back', 'Back') }],
    ['another client', { client_id: 'cli_other', client_secret: SECRET }],
  ])('is refused with %s, and stays valid for its owner', async (_, fields) => {
    const { redeem, code, revoked } = await openTestOauthServer()
    const text = await code()
    expect(await redeem({ code: text, ...fields })).toMatchObject(refused)
    expect(await redeem({ code: text, redirect_uri: REDIRECT })).toMatchObject({ status: 200 })
    expect(revoked).toEqual(new Set())
  })

  it.each([42, 129])('refuses a verifier of %d characters, even if the challenge matches it', async (length) => {
    const { redeem, code } = await openTestOauthServer()
    const verifier = 'v'.repeat(length)
    const text = await code({ challenge: challengeOf(verifier) })
    expect(await redeem({ code: text, code_verifier: verifier })).toMatchObject({ status: 400 })
  })

  it.each([43, 128])('accepts a verifier of %d characters', async (length) => {
    const { redeem, code } = await openTestOauthServer()
    const verifier = 'v'.repeat(length)
    const text = await code({ challenge: challengeOf(verifier) })
    expect(await redeem({ code: text, code_verifier: verifier })).toMatchObject({ status: 200 })
  })

  it('refuses a verifier with invalid characters', async () => {
    const { redeem, code } = await openTestOauthServer()
    const verifier = `${'v'.repeat(42)}+`
    const text = await code({ challenge: challengeOf(verifier) })
    expect(await redeem({ code: text, code_verifier: verifier })).toMatchObject({ status: 400 })
  })

  it('expires after 60 seconds', async () => {
    const { redeem, code, forward } = await openTestOauthServer()
    const [early, late] = [await code(), await code()]
    forward(59_999)
    expect(await redeem({ code: early })).toMatchObject({ status: 200 })
    forward(1)
    expect(await redeem({ code: late })).toMatchObject(refused)
  })

  it('is valid only at its API, or at the API that redeems it if it names none', async () => {
    const { call, code } = await openTestOauthServer({ publicGrant: { api: '', apiProductId: 'prd_1' } })
    const form = { grant_type: 'authorization_code', client_id: 'cli_public', code_verifier: VERIFIER }
    const orders = { api: 'orders-v1' }
    expect(await call('token', { ...form, code: await code() }, orders)).toMatchObject(refused)
    const free = await code({ api: '' })
    const answer = await call('token', { ...form, code: free }, orders)
    expect(tokenOf(answer).claims).toMatchObject({ aud: 'orders-v1', iss: `${GATEWAY_URL}/orders-v1` })
    expect(await call('token', { ...form, code: free })).toMatchObject(refused)
  })

  it.each([
    ['no code', { code: undefined }, 'invalid_request'],
    ['no verifier', { code_verifier: undefined }, 'invalid_request'],
    ['an unknown code', { code: 'code_000001.secret' }, 'invalid_grant'],
    ['a malformed code', { code: 'x'.repeat(300) }, 'invalid_grant'],
    ['a known id with another secret', { code: 'code_000001' }, 'invalid_grant'],
  ])('is refused for a request with %s', async (_, fields, error) => {
    const { redeem, code } = await openTestOauthServer()
    await code()
    expect(await redeem(fields)).toMatchObject({ status: 400, body: { error } })
  })

  it('is refused after its subscription has ended', async () => {
    const { redeem } = await openTestOauthServer({ publicGrant: { active: false } })
    expect(await redeem()).toMatchObject({
      status: 400,
      body: { error: 'unauthorized_client' },
      signal: { outcome: 'subscription_required' },
    })
  })

  it('leaves nothing in the registry that can be redeemed', async () => {
    const { code, registry } = await openTestOauthServer()
    const text = await code()
    const changes: string[] = []
    registry.watch(0, (change) => changes.push(JSON.stringify(change)))()
    expect(changes.join()).not.toContain(text.split('.')[1])
  })

  it('is deleted after its token has expired', async () => {
    const { code, registry, forward } = await openTestOauthServer()
    for (let count = 0; count < 10; count++) await code()
    forward(4_300_000)
    for (let count = 0; count < 3; count++) await code()
    expect(await registry.list(AUTHORIZATION_CODE_KIND, { limit: 99 })).toHaveLength(3)
  })
})

describe('an ID token', () => {
  const asked = { wantsIdToken: true, wantsProfile: true, nonce: 'n-0S6', scope: 'openid profile read' }

  it.each(['ES256', 'RS256'] as const)(
    'identifies the person to the client, signed with %s',
    async (tokenAlgorithm) => {
      const { redeem, code, keyRing, clock } = await openTestOauthServer({ scopes: { tokenAlgorithm } })
      const { body } = await redeem({ code: await code(asked) })
      const { id_token: idToken, access_token: accessToken, scope } = body as Record<string, string>

      expect(scope).toBe('read')
      expect(decode(accessToken ?? '').claims).toMatchObject({ openid: true })
      const keys = createLocalJWKSet({ keys: [...keyRing.publicKeys().keys] as JWK[] })
      const { payload, protectedHeader } = await jwtVerify(idToken ?? '', keys, {
        issuer: `${GATEWAY_URL}/${API}`,
        audience: 'cli_public',
        currentDate: new Date(clock.nowMs()),
      })
      expect(protectedHeader.alg).toBe(tokenAlgorithm)
      const half = createHash('sha256')
        .update(accessToken ?? '')
        .digest()
        .subarray(0, 16)
      expect(payload).toMatchObject({
        sub: PERSON.id,
        nonce: 'n-0S6',
        auth_time: NOW_MS / 1_000 - 5,
        at_hash: half.toString('base64url'),
        name: PERSON.name,
        preferred_username: PERSON.username,
      })
    },
  )

  it('contains the name only if it is requested', async () => {
    const { redeem, code } = await openTestOauthServer()
    const { body } = await redeem({ code: await code({ ...asked, wantsProfile: false, nonce: null }) })
    const { claims } = decode(String((body as Record<string, unknown>)['id_token']))
    for (const name of ['name', 'preferred_username', 'nonce']) expect(claims).not.toHaveProperty(name)
  })
})

import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  API,
  GATEWAY_URL,
  NOW_MS,
  openTestOauthServer,
  PERSON,
  SECRET,
  tokenOf,
  type TestOauthServer,
  type TestOauthServerOptions,
} from '../../../fixtures/token-endpoints.ts'

const client = { client_id: 'cli_1', client_secret: SECRET }
const other = { client_id: 'cli_other', client_secret: SECRET }

async function withToken(options?: TestOauthServerOptions): Promise<TestOauthServer & { token: string }> {
  const server = await openTestOauthServer(options)
  return { ...server, token: tokenOf(await server.post()).text }
}

async function personal(server: TestOauthServer): Promise<string> {
  return tokenOf(await server.redeem({ code: await server.code({ wantsIdToken: true }) })).text
}

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** Returns the claims of a valid token with a forged header and signature. */
function forge(token: string, header: object, signed: (text: string) => Buffer): string {
  const text = `${encode(header)}.${token.split('.')[1]}`
  return `${text}.${signed(text).toString('base64url')}`
}

function forgeries({
  token,
  keyRing,
}: {
  token: string
  keyRing: TestOauthServer['keyRing']
}): Readonly<Record<string, string>> {
  const own = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = keyRing.publicKeys().keys.find(({ alg }) => alg === 'ES256')
  const { kid } = key ?? {}
  const head = { alg: 'ES256', typ: 'at+jwt', kid }
  const bySelf = (text: string) => sign('sha256', Buffer.from(text), { key: own.privateKey, dsaEncoding: 'ieee-p1363' })
  const der = (text: string) => sign('sha256', Buffer.from(text), own.privateKey)
  const hmac = (text: string) => createHmac('sha256', JSON.stringify(key)).update(text).digest()
  const jwk = own.publicKey.export({ format: 'jwk' })
  return {
    none: `${encode({ alg: 'none', typ: 'at+jwt' })}.${token.split('.')[1]}.`,
    'HS256 with the public key': forge(token, { ...head, alg: 'HS256' }, hmac),
    'an embedded key': forge(token, { ...head, kid: undefined, jwk }, bySelf),
    'a key at an address': forge(token, { ...head, jku: 'https://evil.example/keys' }, bySelf),
    'another key': forge(token, head, bySelf),
    DER: forge(token, head, der),
    zeros: forge(token, head, () => Buffer.alloc(64)),
    'another type': forge(token, { ...head, typ: 'JWT' }, bySelf),
    'a critical extension': forge(token, { ...head, crit: ['exp'] }, bySelf),
    truncated: token.slice(0, -10),
    nothing: 'x',
  }
}

describe('introspection', () => {
  it('describes a client’s own token', async () => {
    const { call, token } = await withToken()
    const answer = await call('introspect', { ...client, token })
    expect(answer).toMatchObject({ status: 200, headers: { 'Cache-Control': 'no-store' } })
    expect(answer.body).toMatchObject({
      active: true,
      scope: 'read write',
      client_id: 'cli_1',
      token_type: 'Bearer',
      exp: NOW_MS / 1_000 + 3_600,
      sub: 'con_1',
      aud: API,
      iss: `${GATEWAY_URL}/${API}`,
    })
  })

  it('reports tokens of other clients, of other APIs and forged ones as inactive', async () => {
    const server = await withToken()
    const { call, token } = server
    const inactive = { status: 200, body: { active: false } }
    expect(await call('introspect', { ...other, token })).toMatchObject(inactive)
    expect(await call('introspect', { ...client, token }, { api: 'orders-v1' })).toMatchObject(inactive)
    for (const [name, forged] of Object.entries(forgeries(server))) {
      expect((await call('introspect', { ...client, token: forged })).body, name).toEqual({ active: false })
    }
  })

  it('reports expired and revoked tokens as inactive', async () => {
    const { call, token, forward, revoked } = await withToken()
    const ask = async () => (await call('introspect', { ...client, token })).body
    revoked.add('tok_1')
    expect(await ask()).toEqual({ active: false })
    revoked.clear()
    expect(await ask()).toMatchObject({ active: true })
    forward(3_600_000)
    expect(await ask()).toEqual({ active: false })
  })

  it.each([
    ['a public client', { client_id: 'cli_public' }, 400, 'unauthorized_client'],
    ['a wrong secret', { ...client, client_secret: 'wrong' }, 401, 'invalid_client'],
    ['a request without a client', {}, 401, 'invalid_client'],
  ])('is refused to %s', async (_, who, status, error) => {
    const { call, token } = await withToken()
    expect(await call('introspect', { ...who, token })).toMatchObject({ status, body: { error } })
  })

  it.each(['introspect', 'revoke'] as const)('%s requires a token', async (endpoint) => {
    const { call } = await openTestOauthServer()
    expect(await call(endpoint, client)).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
  })
})

describe('revocation', () => {
  it('revokes a client’s own token', async () => {
    const { call, token, revoked } = await withToken()
    expect(await call('revoke', { ...client, token })).toMatchObject({ status: 200, body: null })
    expect(revoked).toEqual(new Set(['tok_1']))
  })

  it('revokes the token of a public client by its client id', async () => {
    const server = await openTestOauthServer()
    const token = await personal(server)
    expect(await server.call('revoke', { client_id: 'cli_public', token })).toMatchObject({ status: 200 })
    expect(server.revoked.size).toBe(1)
  })

  it.each([
    ['behind that of the node that issued the token', -2_000],
    ['ahead, so that the token has expired here only', 3_602_000],
  ])('revokes a token at a node whose clock is %s', async (_, offsetMs) => {
    const { call, token, forward, revoked } = await withToken()
    forward(offsetMs)
    expect(await call('revoke', { ...client, token })).toMatchObject({ status: 200 })
    expect(revoked).toEqual(new Set(['tok_1']))
  })

  it('leaves tokens of other clients valid, and accepts invalid tokens as revoked (RFC 7009, 2.2)', async () => {
    const server = await withToken()
    const { call, token, revoked } = server
    expect(await call('revoke', { ...other, token })).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
    for (const forged of Object.values(forgeries(server))) {
      expect(await call('revoke', { ...client, token: forged })).toMatchObject({ status: 200 })
    }
    expect(revoked).toEqual(new Set())
  })
})

describe('userinfo', () => {
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

  it('identifies the person to a token that was requested with openid', async () => {
    const server = await openTestOauthServer()
    const answer = await server.call('userinfo', {}, bearer(await personal(server)))
    const { id: sub, name, username } = PERSON
    expect(answer).toMatchObject({ status: 200, body: { sub, name, preferred_username: username } })
  })

  it.each([
    ['no token', {}, 401, 'Bearer'],
    ['an invalid token', bearer('x'), 401, 'Bearer error="invalid_token"'],
    ['HTTP Basic', { authorization: 'Basic eDp5' }, 401, 'Bearer error="invalid_token"'],
  ])('is refused to %s', async (_, more, status, challenge) => {
    const { call } = await openTestOauthServer()
    expect(await call('userinfo', {}, more)).toMatchObject({ status, headers: { 'WWW-Authenticate': challenge } })
  })

  it('is refused to a client’s own token, to a revoked one, and at another API', async () => {
    const server = await openTestOauthServer()
    const own = tokenOf(await server.post()).text
    expect(await server.call('userinfo', {}, bearer(own))).toMatchObject({ status: 403 })
    const token = await personal(server)
    expect(await server.call('userinfo', {}, { ...bearer(token), api: 'orders-v1' })).toMatchObject({ status: 401 })
    server.revoked.add(String(JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()).jti))
    expect(await server.call('userinfo', {}, bearer(token))).toMatchObject({ status: 401 })
  })
})

it('an internal failure is reported to the operator, and to clients without its cause', async () => {
  const { call, failures } = await openTestOauthServer()
  const answer = await call('authorize', {})
  expect(answer).toMatchObject({ status: 503, headers: { 'Retry-After': '1' } })
  expect(JSON.stringify(answer.body)).not.toContain('this fixture has no login')
  expect(failures).toMatchObject([{ message: 'this fixture has no login' }])
})

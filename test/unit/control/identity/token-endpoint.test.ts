import { describe, expect, it } from 'vitest'
import { createRandom } from '../../../random.ts'
import {
  API,
  GATEWAY_URL,
  GRANT,
  NOW_MS,
  openTestOauthServer,
  SECRET,
  tokenOf,
} from '../../../fixtures/token-endpoints.ts'

const basic = (id: string, secret: string) => `Basic ${Buffer.from(`${form(id)}:${form(secret)}`).toString('base64')}`
const form = (text: string) => new URLSearchParams({ _: text }).toString().slice(2)
const inHeader = { client_id: undefined, client_secret: undefined }

describe('200: a token', () => {
  it('carries the scopes of the active revision if none is requested during a canary, and others on request', async () => {
    const { post } = await openTestOauthServer({ scopes: { allowed: ['read', 'write', 'admin'], byDefault: ['read'] } })
    expect(await post()).toMatchObject({ body: { scope: 'read' } })
    expect(await post({ scope: 'read write' })).toMatchObject({ body: { scope: 'read write' } })
    const narrow = await openTestOauthServer({ scopes: { allowed: ['read'], byDefault: ['read', 'write'] } })
    expect(await narrow.post()).toMatchObject({ body: { scope: 'read' } })
  })

  it('carries subject, API, scopes and lifetime (RFC 9068)', async () => {
    const { post } = await openTestOauthServer()
    const answer = await post()
    const { text, header, claims } = tokenOf(answer)

    expect(answer.body).toEqual({ access_token: text, token_type: 'Bearer', expires_in: 3_600, scope: 'read write' })
    expect(answer.headers).toMatchObject({ 'Cache-Control': 'no-store' })
    expect(answer.signal).toBeNull()
    expect(header).toEqual({ alg: 'ES256', typ: 'at+jwt', kid: expect.any(String) })
    expect(claims).toEqual({
      iss: `${GATEWAY_URL}/${API}`,
      sub: 'con_1',
      client_id: 'cli_1',
      aud: API,
      scope: 'read write',
      tenant: 'acme',
      subscription: 'sub_1',
      iat: NOW_MS / 1_000,
      nbf: NOW_MS / 1_000,
      exp: NOW_MS / 1_000 + 3_600,
      jti: 'tok_1',
    })
  })

  it.each([
    ['the granted, declared and allowed scopes if none is requested', undefined, 'read write'],
    ['only the requested scopes', 'write', 'write'],
    ['only granted scopes', 'read admin', 'read'],
    ['only declared scopes', 'read gone', 'read'],
    ['only scopes that the proxy allows', 'read secret', 'read'],
    ['no scope if none of the requested ones is available', 'admin unheard-of', ''],
    ['no scope for a part of its name or another case', 'rea READ', ''],
    ['all scopes if the parameter is empty (RFC 6749, 3.2)', '', 'read write'],
  ])('carries %s', async (_, asked, given) => {
    const { post } = await openTestOauthServer()
    const answer = await post({ scope: asked })

    expect(answer.body).toMatchObject({ scope: given })
    expect(tokenOf(answer).claims).toMatchObject({ scope: given })
  })

  it('names the product of a shared credential, and exactly one API', async () => {
    const { post } = await openTestOauthServer({ grant: { api: '', apiProductId: 'prd_1' } })

    expect(tokenOf(await post()).claims).toMatchObject({ aud: API, ApiProductId: 'prd_1' })
  })

  it('is signed with RS256 if the API requires it', async () => {
    const { post } = await openTestOauthServer({ scopes: { tokenAlgorithm: 'RS256' } })

    expect(tokenOf(await post()).header).toMatchObject({ alg: 'RS256' })
  })

  it('is also issued by HTTP Basic with form-encoded parts (RFC 6749, 2.3.1)', async () => {
    const { post } = await openTestOauthServer()

    expect(await post(inHeader, basic('cli_1', SECRET))).toMatchObject({ status: 200 })
    expect(await post({ client_secret: undefined }, basic('cli_1', SECRET))).toMatchObject({ status: 200 })
    expect(await post(inHeader, basic('cli_1', SECRET).replace('Basic', 'bASIC'))).toMatchObject({ status: 200 })
  })
})

describe('400: a token request', () => {
  it.each([
    ['without grant_type', { grant_type: undefined }, 'invalid_request'],
    ['with an empty grant_type', { grant_type: '' }, 'invalid_request'],
    ['with another grant', { grant_type: 'password' }, 'unsupported_grant_type'],
    ['with a grant named like a member of Object.prototype', { grant_type: 'constructor' }, 'unsupported_grant_type'],
    ['with a very long value', { scope: 'x'.repeat(4_097) }, 'invalid_request'],
  ])('%s is refused', async (_, fields, error) => {
    const { post } = await openTestOauthServer()

    expect(await post(fields)).toMatchObject({ status: 400, body: { error } })
  })

  it.each(['grant_type', 'client_id', 'client_secret', 'scope', 'unheard_of'])(
    'with two %s is refused',
    async (name) => {
      const { answer: ask } = await openTestOauthServer()
      const once = [
        ['grant_type', 'client_credentials'],
        ['client_id', 'cli_1'],
        ['client_secret', SECRET],
      ] as const
      const answer = await ask({
        endpoint: 'token',
        api: API,
        method: 'POST',
        form: [...once, [name, ''], [name, 'read']],
        authorization: undefined,
        cookie: undefined,
        address: '',
      })

      expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
    },
  )

  it('that authenticates in two ways or as two clients is refused', async () => {
    const { post } = await openTestOauthServer()
    const header = basic('cli_1', SECRET)

    expect(await post({}, header)).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
    expect(await post({ client_id: 'cli_2', client_secret: undefined }, header)).toMatchObject({
      status: 400,
      body: { error: 'invalid_request' },
    })
  })

  it('whose token would not fit in a header is refused', async () => {
    const scopes = Array.from({ length: 300 }, (_, index) => `scope-of-some-length:${index}`)
    const { post } = await openTestOauthServer({ grant: { scopes }, scopes: { declared: scopes, allowed: scopes } })

    expect(await post()).toMatchObject({ status: 400, body: { error: 'invalid_scope' } })
    expect(await post({ scope: scopes.slice(0, 100).join(' ') })).toMatchObject({ status: 200 })
  })

  it.each([
    ['suspended', { grant: { active: false } }],
    ['for another API', { grant: { api: 'orders-v1' } }],
    ['for a product without the API', { grant: { api: '', apiProductId: 'prd_2' } }],
    ['of another tenant', { grant: { tenant: 'globex' } }],
    ['for no API', { grant: { api: '' } }],
  ])('of a client whose subscription is %s is refused and recorded for the client', async (_, options) => {
    const { post } = await openTestOauthServer(options)

    expect(await post()).toMatchObject({
      status: 400,
      body: { error: 'unauthorized_client' },
      signal: { outcome: 'subscription_required', grant: { credential: 'crd_1' } },
    })
  })
})

describe('401: a client', () => {
  it('that is unknown gets exactly the same response as one with a wrong secret', async () => {
    const { post } = await openTestOauthServer()
    const unknown = await post({ client_id: 'cli_2' })
    const wrong = await post({ client_secret: 'wrong' })

    expect(unknown).toMatchObject({ status: 401, body: { error: 'invalid_client' } })
    expect({ ...wrong, signal: null }).toEqual({ ...unknown, signal: null })
    expect(unknown.signal).toEqual({ api: API, outcome: 'credential_invalid', grant: null })
    expect(wrong.signal).toEqual({ api: API, outcome: 'credential_invalid', grant: GRANT })
  })

  it.each([
    ['is revoked', { valid: false }],
    ['has expired', { expiresAtMs: NOW_MS }],
  ])('that %s is refused with its right secret', async (_, grant) => {
    const { post } = await openTestOauthServer({ grant })

    expect(await post()).toMatchObject({ status: 401, body: { error: 'invalid_client' } })
  })

  it('with an Authorization header is challenged, others are not (RFC 6749, 5.2)', async () => {
    const { post } = await openTestOauthServer()
    const odd = [basic('cli_1', 'wrong'), 'Bearer abc', 'Basic', 'Basic !!!', `Basic ${btoa('no colon')}`]
    for (const header of [...odd, `Basic ${btoa('cli_1:%zz')}`]) {
      expect(await post(inHeader, header), header).toMatchObject({
        status: 401,
        headers: { 'WWW-Authenticate': 'Basic realm="token"' },
        body: { error: 'invalid_client' },
        signal: { outcome: 'credential_invalid' },
      })
    }
    expect((await post(inHeader)).status).toBe(401)
    expect((await post({ client_secret: 'wrong' })).headers).not.toHaveProperty('WWW-Authenticate')
  })

  it('without a secret cannot be authenticated with an empty one', async () => {
    const { post } = await openTestOauthServer()

    expect(await post({ client_secret: '' })).toMatchObject({ status: 401 })
    expect(await post(inHeader, basic('cli_1', ''))).toMatchObject({ status: 401 })
  })
})

describe('429: wrong secrets', () => {
  it('get a wait from the 10th in a minute on, while the right one passes', async () => {
    const { post, forward } = await openTestOauthServer()
    const wrong = { client_secret: 'wrong' }
    for (let count = 1; count < 10; count++) expect((await post(wrong)).status).toBe(401)
    forward(1_000)

    expect(await post(wrong)).toMatchObject({ status: 429, headers: { 'Retry-After': '59' } })
    expect(await post()).toMatchObject({ status: 200 })
    expect(await post({ client_id: 'cli_2', client_secret: 'wrong' })).toMatchObject({ status: 401 })
    forward(60_000)
    expect(await post(wrong)).toMatchObject({ status: 401 })
  })

  it('of an unknown client are throttled in the same way', async () => {
    const { post } = await openTestOauthServer()
    const unknown = { client_id: 'cli_2' }
    for (let count = 1; count < 10; count++) expect((await post(unknown)).status).toBe(401)

    expect(await post(unknown)).toMatchObject({ status: 429 })
  })
})

it('404: an unknown API issues no tokens', async () => {
  const { call } = await openTestOauthServer()
  const credentials = { client_id: 'cli_1', client_secret: SECRET, grant_type: 'client_credentials' }

  expect(await call('token', credentials, { api: 'none-v1' })).toMatchObject({ status: 404 })
})

describe('a client at the token endpoint', () => {
  it.each([
    ['without an id and a secret', { client_id: undefined, client_secret: undefined }, 'credential_missing'],
    ['with an id alone', { client_secret: undefined }, 'credential_missing'],
    ['with a secret alone', { client_id: undefined }, 'credential_invalid'],
  ])('%s is recorded as %s, without a subject', async (_, fields, outcome) => {
    const { post } = await openTestOauthServer()
    expect(await post(fields)).toMatchObject({
      status: 401,
      body: { error: 'invalid_client' },
      signal: { api: API, outcome, grant: null },
    })
  })

  it('that is public has no secret and cannot use client credentials', async () => {
    const { post } = await openTestOauthServer()
    const own = { client_id: 'cli_public' }
    for (const client_secret of [SECRET, 'x']) {
      expect(await post({ ...own, client_secret })).toMatchObject({ status: 401, body: { error: 'invalid_client' } })
    }
    const nameless = await post({ ...own, client_secret: undefined })
    expect(nameless).toMatchObject({ status: 400, body: { error: 'unauthorized_client' } })
  })

  it('gets tokens only for the API of the endpoint, also if it names a resource', async () => {
    const { post } = await openTestOauthServer()
    expect(await post({ resource: `${GATEWAY_URL}/${API}` })).toMatchObject({ status: 200 })
    for (const resource of [`${GATEWAY_URL}/orders-v1`, `${GATEWAY_URL}/${API}/`, API]) {
      expect(await post({ resource })).toMatchObject({ status: 400, body: { error: 'invalid_target' } })
    }
  })
})

describe('the scope of a token', () => {
  it(
    'is the intersection of requested, granted, declared and allowed scopes, for random sets',
    { timeout: 240_000 },
    async () => {
      const names = ['a', 'b', 'c', 'ab', 'a:b', 'A', 'openid', 'profile']
      for (let seed = 1; seed <= 300; seed++) {
        const random = createRandom(seed)
        const some = (): string[] => names.filter(() => random.next() < 0.5)
        const [requested, granted, declared, allowed] = [some(), some(), some(), some()]
        const isAsked = random.next() < 0.8
        const scopes = { declared, allowed }
        const { post, redeem, code } = await openTestOauthServer({
          scopes,
          grant: { scopes: granted },
          publicGrant: { scopes: granted },
        })
        const text = requested.join(' ')
        const left = granted.filter((each) => declared.includes(each) && allowed.includes(each))
        const expected = left.filter((each) => !isAsked || text === '' || requested.includes(each)).sort()

        const own = await post({ scope: isAsked ? text : undefined })
        const consent = { scope: isAsked && text !== '' ? text : null }
        const personal = await redeem({ code: await code(consent) })
        for (const answer of [own, personal]) {
          const { scope } = answer.body as { scope: string }
          expect(scope.split(' ').filter(Boolean).sort(), `seed ${seed}`).toEqual(expected)
          expect(tokenOf(answer).claims['scope'], `seed ${seed}`).toBe(scope)
        }
      }
    },
  )
})

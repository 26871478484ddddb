import { describe, expect, it } from 'vitest'
import { API, GATEWAY_URL, REDIRECT } from '../../../fixtures/token-endpoints.ts'
import { backOf, openTestLogin } from '../../../fixtures/login-endpoints.ts'

const parametersOf = (url: URL) => Object.fromEntries(url.searchParams)

describe('an authorization request without a valid redirect URI', () => {
  it.each([
    ['an unknown client', { client_id: 'cli_none' }],
    ['no client', { client_id: undefined }],
    ['a redirect URI with a suffix', { redirect_uri: `${REDIRECT}/more` }],
    ['with a trailing slash', { redirect_uri: `${REDIRECT}/` }],
    ['with a query', { redirect_uri: `${REDIRECT}?x` }],
    ['with a fragment', { redirect_uri: `${REDIRECT}#x` }],
    ['as a prefix', { redirect_uri: REDIRECT.slice(0, -1) }],
    ['in another case', { redirect_uri: REDIRECT.toUpperCase() }],
    ['of another host', { redirect_uri: 'https://app.example.evil.example/back' }],
    ['with a user in front', { redirect_uri: 'https://app.example@evil.example/back' }],
    ['in another encoding', { redirect_uri: REDIRECT.replace('b', '%62') }],
    ['with `..` in the path', { redirect_uri: 'https://app.example/x/../back' }],
    ['an empty redirect URI', { redirect_uri: '' }],
  ])('shows an error to the person: %s', async (_, parameters) => {
    const answer = await openTestLogin().browser().open(parameters)
    expect(answer.status).toBe(400)
    expect(answer.headers).not.toHaveProperty('Location')
    expect(answer.headers['Content-Security-Policy']).toContain("form-action 'none'")
    expect(answer.body).toContain('cannot continue')
  })

  it('does not reveal whether the client exists', async () => {
    const server = openTestLogin()
    const known = await server.browser().open({ redirect_uri: 'https://evil.example/' })
    const unknown = await server.browser().open({ client_id: 'cli_none', redirect_uri: 'https://evil.example/' })
    expect(known).toEqual(unknown)
  })

  it.each(['client_id', 'redirect_uri'])('shows an error to the person if %s is sent twice', async (name) => {
    const again = [[name, name === 'client_id' ? 'cli_public' : REDIRECT]] as const
    const answer = await openTestLogin().browser().open({ redirect_uri: REDIRECT }, again)
    expect(answer).toMatchObject({ status: 400 })
  })

  it.each([
    ['is revoked', { valid: false }],
    ['has expired', { expiresAtMs: 1 }],
    ['does not support logins', { type: 'ApiKey' as const }],
  ])('shows an error to the person if the client %s', async (_, grant) => {
    const server = openTestLogin()
    server.grant = { ...server.grant, ...grant }
    expect(await server.browser().open()).toMatchObject({ status: 400 })
  })

  it('shows an error to the person if it names none of several registered redirect URIs', async () => {
    const server = openTestLogin()
    server.redirectUris = [REDIRECT, 'com.example.app:/back']
    expect((await server.browser().open()).status).toBe(400)
    expect((await server.browser().open({ redirect_uri: 'com.example.app:/back' })).status).toBe(200)
  })
})

describe.each(['asksOrganisation', 'isSelfRegistered'] as const)('a client that anyone can make (%s)', (kind) => {
  it.each([
    ['an unknown response_type', { response_type: 'x' }],
    ['a login without interaction', { prompt: 'none' }],
    ['a resource elsewhere', { resource: 'https://evil.example' }],
  ])('is redirected nowhere before a sign-in: %s', async (_, parameters) => {
    const server = openTestLogin()
    server[kind] = true
    const answer = await server.browser().open(parameters)
    expect(answer).toMatchObject({ status: 400, body: expect.stringContaining('not valid') })
    expect(answer.headers).not.toHaveProperty('Location')
  })
})

describe('an authorization request redirects to the client with an error for', () => {
  it.each([
    ['no response_type', { response_type: undefined }, 'invalid_request'],
    ['the implicit flow', { response_type: 'token' }, 'unsupported_response_type'],
    ['a hybrid flow', { response_type: 'code id_token' }, 'unsupported_response_type'],
    ['another response_mode', { response_mode: 'fragment' }, 'invalid_request'],
    ['no challenge', { code_challenge: undefined }, 'invalid_request'],
    ['no method', { code_challenge_method: undefined }, 'invalid_request'],
    ['the method plain', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['a method in another case', { code_challenge_method: 's256' }, 'invalid_request'],
    ['a short challenge', { code_challenge: 'x'.repeat(42) }, 'invalid_request'],
    ['a challenge of other characters', { code_challenge: `${'x'.repeat(42)}=` }, 'invalid_request'],
    ['a request object', { request: 'x' }, 'request_not_supported'],
    ['a request object elsewhere', { request_uri: 'https://evil.example' }, 'request_uri_not_supported'],
    ['a login without interaction', { prompt: 'none' }, 'login_required'],
    ['a nonce that does not fit into a form', { nonce: '\u0001'.repeat(2_000) }, 'invalid_request'],
    ['a scope that does not fit into a form', { scope: 'x '.repeat(4_000) }, 'invalid_request'],
    ['an unknown API', { resource: `${GATEWAY_URL}/none-v1` }, 'invalid_target'],
    ['an API without a subscription', { resource: `${GATEWAY_URL}/orders-v1` }, 'invalid_target'],
    ['a resource elsewhere', { resource: `https://evil.example/${API}` }, 'invalid_target'],
    ['the gateway as a resource', { resource: GATEWAY_URL }, 'invalid_target'],
  ])('%s', async (_, parameters, error) => {
    const back = backOf(await openTestLogin().browser().open(parameters))
    expect(`${back.origin}${back.pathname}`).toBe(REDIRECT)
    expect(parametersOf(back)).toMatchObject({ error, state: 'xyz', iss: `${GATEWAY_URL}/${API}` })
  })

  it.each(['scope', 'nonce', 'code_challenge', 'response_type', 'prompt', 'resource', 'unheard_of'])(
    'a duplicate %s',
    async (name) => {
      const again = [
        [name, 'a'],
        [name, 'a'],
      ] as const
      const back = backOf(
        await openTestLogin()
          .browser()
          .open({ [name]: undefined }, again),
      )
      expect(parametersOf(back)).toMatchObject({ error: 'invalid_request', state: 'xyz' })
    },
  )

  it('a duplicate state, which is then not returned', async () => {
    const back = backOf(
      await openTestLogin()
        .browser()
        .open({}, [['state', 'abc']]),
    )
    expect(back.searchParams.get('error')).toBe('invalid_request')
    expect(back.searchParams.has('state')).toBe(false)
  })

  it('an inactive subscription', async () => {
    const server = openTestLogin()
    server.grant = { ...server.grant, active: false }
    expect(backOf(await server.browser().open()).searchParams.get('error')).toBe('unauthorized_client')
  })

  it('an invalid parameter, to a redirect URI that keeps its query', async () => {
    const server = openTestLogin()
    server.redirectUris = [`${REDIRECT}?from=login&from=again`]
    const back = backOf(await server.browser().open({ prompt: 'none' }))
    expect(back.search).toMatch(/^\?from=login&from=again&error=login_required&/)
  })

  it.each(['a b&c=d#e', '"><script>', 'x\r\nSet-Cookie: a=b', '\u0000\u2028é😀', '%41'])(
    'an invalid parameter, with the unchanged state %j and no other parameter',
    async (state) => {
      const answer = await openTestLogin().browser().open({ prompt: 'none', state })
      const back = backOf(answer)
      expect(back.searchParams.get('state')).toBe(state)
      expect(Object.keys(parametersOf(back)).sort()).toEqual(['error', 'error_description', 'iss', 'state'])
      expect(answer.headers['Location']).toMatch(/^[\x21-\x7e]+$/)
    },
  )
})

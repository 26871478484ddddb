import { describe, expect, it } from 'vitest'
import {
  ADA,
  goToProvider,
  openFederatedLogin,
  signIn,
  type FederatedLogin,
} from '../../../fixtures/federated-login.ts'
import { backOf } from '../../../fixtures/login-endpoints.ts'
import { CLIENT } from '../../../fixtures/sign-in-provider.ts'
import { ACME, RIVAL } from '../../../fixtures/test-catalogue.ts'
import { API, GATEWAY_URL, REDIRECT } from '../../../fixtures/token-endpoints.ts'

/** The client belongs to the tenant `rival` from now on. */
function moveToRival({ login }: FederatedLogin): void {
  login.grant = { ...login.grant, tenant: 'rival', api: '', apiProductId: 'prd_1' }
}

describe('a sign-in at an identity provider', () => {
  it('ends with a code for the person of the claims', async () => {
    const server = await openFederatedLogin({ name: 'Acme <SSO>' })
    const browser = server.login.browser()
    const page = await browser.open()
    expect(page.body).toContain('Continue with Acme &lt;SSO&gt;')
    const there = backOf(await browser.submit(page, { provider: server.registered.id }))
    const { state, nonce, code_challenge, ...parameters } = Object.fromEntries(there.searchParams)
    expect(there.origin + there.pathname).toBe(`${server.provider.issuer}/authorize`)
    expect(parameters).toEqual({
      response_type: 'code',
      client_id: CLIENT.clientId,
      redirect_uri: `${GATEWAY_URL}/oauth2/v2/callback/${server.registered.id}`,
      scope: 'openid profile email',
      code_challenge_method: 'S256',
    })
    for (const text of [state, nonce, code_challenge]) expect(text?.length).toBeGreaterThanOrEqual(43)

    const consent = await browser.comeBack(server.provider.authorize(there))
    expect([consent.status, server.faults]).toEqual([200, []])
    expect(consent.body).toContain('Ada Lovelace')
    const back = backOf(await browser.submit(consent, { decision: 'allow' }))
    expect(Object.fromEntries(back.searchParams)).toMatchObject({ state: 'xyz', iss: `${GATEWAY_URL}/${API}` })
    const { items } = await server.users.list('acme', { limit: 10 })
    expect(items).toMatchObject([
      { username: 'ada', state: 'Active', roles: [{ role: 'auditor' }], identityProvider: server.registered.id },
    ])
    expect(server.login.consents).toMatchObject([{ tenant: 'acme', person: { id: items[0]?.id, username: 'ada' } }])
  })

  it('authenticates the client as the provider says, and asks for the scopes of the registration', async () => {
    const basic = await openFederatedLogin()
    await signIn(basic)
    const [id, secret] = Buffer.from(basic.provider.requests[0]?.client.slice(6) ?? '', 'base64')
      .toString()
      .split(':')
    const decode = (text = '') => decodeURIComponent(text.replaceAll('+', ' '))
    expect([decode(id), decode(secret)]).toEqual([CLIENT.clientId, CLIENT.clientSecret])

    const post = await openFederatedLogin({ scopes: ['groups', 'openid'] }, (provider) => {
      provider.discovery = { token_endpoint_auth_methods_supported: ['private_key_jwt', 'client_secret_post'] }
    })
    const there = await goToProvider(post.login.browser(), post.registered)
    expect(there.searchParams.get('scope')).toBe('openid groups')
    await signIn(post)
    const { client, form } = post.provider.requests[0]!
    expect([client, form.get('client_id'), form.get('client_secret')]).toEqual([
      '',
      CLIENT.clientId,
      CLIENT.clientSecret,
    ])
  })

  it.each([{ prompt: 'consent login' }, { max_age: '3600' }])(
    'is a new sign-in at the provider if the client asks for it with %o',
    async (parameters) => {
      const { login, registered } = await openFederatedLogin()
      const browser = login.browser()
      const there = backOf(await browser.submit(await browser.open(parameters), { provider: registered.id }))
      expect(there.searchParams.get('prompt')).toBe('login')
    },
  )

  it('asks for no second factor, and tells the client when the person has signed in', async () => {
    const server = await openFederatedLogin()
    server.login.secondFactors.stateOf = async () => 'enrol'
    server.provider.claims = { ...ADA, auth_time: 1_700_000_000 }
    const browser = server.login.browser()
    const page = await browser.comeBack(server.provider.authorize(await goToProvider(browser, server.registered)))
    await browser.submit(page, { decision: 'allow' })
    expect(server.login.consents).toMatchObject([{ loggedInAtMs: 1_700_000_000_000 }])
  })

  it('is offered only to the people of the tenant, and only then may the form lead to other hosts', async () => {
    const server = await openFederatedLogin()
    const csp = async () => (await server.login.browser().open()).headers['Content-Security-Policy'] ?? ''
    expect(await csp()).toContain("form-action 'self' https://app.example http:;")
    moveToRival(server)
    expect((await server.login.browser().open()).body).not.toContain('Continue with')
    expect(await csp()).toContain("form-action 'self' https://app.example;")
  })
})

describe('a response of a provider', () => {
  async function begin() {
    const server = await openFederatedLogin()
    const browser = server.login.browser()
    return { server, browser, back: server.provider.authorize(await goToProvider(browser, server.registered)) }
  }

  async function expectIgnored({ provider, users }: FederatedLogin): Promise<void> {
    expect(provider.requests).toEqual([])
    expect(await users.list('acme', { limit: 10 })).toMatchObject({ items: [] })
  }

  it('in another browser, without a cookie, or after ten minutes is refused', async () => {
    const { server, browser, back } = await begin()
    const other = server.login.browser()
    expect(await other.comeBack(back)).toMatchObject({ status: 400 })
    await other.open()
    expect(await other.comeBack(back)).toMatchObject({ status: 400 })
    server.login.forward(10 * 60_000)
    expect(await browser.comeBack(back)).toMatchObject({ status: 400 })
    await expectIgnored(server)
  })

  it.each<[string, (back: URL) => void]>([
    ['without state', (back) => back.searchParams.delete('state')],
    ['with a changed state', (back) => back.searchParams.set('state', `${back.searchParams.get('state')}A`)],
    ['with two states', (back) => back.searchParams.append('state', back.searchParams.get('state') ?? '')],
    ['at the address of another provider', (back) => (back.pathname = '/oauth2/v2/callback/idp_other')],
  ])('%s is refused', async (_, change) => {
    const { server, browser, back } = await begin()
    change(back)
    expect(await browser.comeBack(back)).toMatchObject({ status: 400 })
    await expectIgnored(server)
  })

  it.each<[string, (back: URL) => void]>([
    ['that names another issuer', (back) => back.searchParams.set('iss', 'https://other.example')],
    ['with two codes', (back) => back.searchParams.append('code', 'other')],
    ['without a code', (back) => back.searchParams.delete('code')],
    ['with a token', (back) => back.searchParams.set('id_token', 'a.b.c')],
    ['with a code of any length', (back) => back.searchParams.set('code', 'x'.repeat(5_000))],
  ])('%s is refused', async (_, change) => {
    const { server, browser, back } = await begin()
    change(back)
    expect(await browser.comeBack(back)).toMatchObject({ status: 502 })
    expect(server.faults).toHaveLength(1)
    await expectIgnored(server)
  })

  it('names the issuer if the provider has announced it', async () => {
    const server = await openFederatedLogin({}, (provider) => {
      provider.discovery = { authorization_response_iss_parameter_supported: true }
    })
    const browser = server.login.browser()
    const there = await goToProvider(browser, server.registered)
    expect(await browser.comeBack(server.provider.authorize(there))).toMatchObject({ status: 502 })
    const named = server.provider.authorize(there, { iss: server.provider.issuer })
    expect(await browser.comeBack(named)).toMatchObject({ status: 200 })
  })

  it('that the person has cancelled goes to the client, every other error to the person without its text', async () => {
    const { server, browser, back } = await begin()
    back.searchParams.delete('code')
    back.searchParams.set('error', 'access_denied')
    const denied = backOf(await browser.comeBack(back))
    expect(denied.href).toMatch(`${REDIRECT}?`)
    expect(Object.fromEntries(denied.searchParams)).toMatchObject({ error: 'access_denied', state: 'xyz' })
    back.searchParams.set('error', 'server_error')
    back.searchParams.set('error_description', 'Call 555 0100 now')
    const page = await browser.comeBack(back)
    expect(page.status).toBe(502)
    expect(page.body).not.toContain('555 0100')
    expect(server.faults).toEqual(['the provider answered server_error'])
  })

  it('that comes twice signs nobody in twice', async () => {
    const { browser, back } = await begin()
    expect(await browser.comeBack(back)).toMatchObject({ status: 200 })
    expect(await browser.comeBack(back)).toMatchObject({ status: 502 })
  })

  it('is refused if the client may no longer sign people in', async () => {
    const { server, browser, back } = await begin()
    server.login.redirectUris = ['https://other.example/']
    expect(await browser.comeBack(back)).toMatchObject({ status: 400 })
    await expectIgnored(server)
  })
})

it('Sixteen sign-ins at a time wait for one provider; further ones are asked to try again', async () => {
  const server = await openFederatedLogin()
  const gate = Promise.withResolvers<void>()
  server.provider.gate = gate.promise
  const logins = Array.from({ length: 17 }, () => signIn(server))
  expect(await Promise.race(logins)).toMatchObject({ status: 503, headers: { 'Retry-After': '5' } })
  gate.resolve()
  const statuses = (await Promise.all(logins)).map(({ status }) => status)
  expect(statuses.filter((status) => status === 200)).toHaveLength(16)
})

describe('a provider of one tenant', () => {
  it('signs nobody in to another tenant, at the beginning or in the middle of a sign-in', async () => {
    const server = await openFederatedLogin()
    const browser = server.login.browser()
    const page = await browser.open()
    const back = server.provider.authorize(await goToProvider(browser, server.registered))
    moveToRival(server)
    expect(await browser.submit(page, { provider: server.registered.id })).toMatchObject({ status: 400 })
    expect(await browser.comeBack(back)).toMatchObject({ status: 400 })
    for (const tenant of ['acme', 'rival']) expect((await server.users.list(tenant, { limit: 9 })).items).toEqual([])
  })

  it('does not sign in the person of another tenant who has the same subject and name', async () => {
    const server = await openFederatedLogin()
    const { issuer, signIn: fields } = { ...server.registered, signIn: server.registered.signIn! }
    const input = { issuer, signIn: { ...fields, clientSecret: CLIENT.clientSecret } }
    const other = await server.identityProviders.create(RIVAL, input)
    await signIn(server)
    moveToRival(server)
    expect((await signIn({ ...server, registered: other })).status).toBe(200)
    const [one, two] = await Promise.all(['acme', 'rival'].map((tenant) => server.users.list(tenant, { limit: 9 })))
    expect([one?.items.length, two?.items.length]).toEqual([1, 1])
    expect(one?.items[0]?.id).not.toBe(two?.items[0]?.id)
  })

  it('signs nobody in after its removal, also in the middle of a sign-in', async () => {
    const server = await openFederatedLogin()
    const browser = server.login.browser()
    const page = await browser.open()
    const back = server.provider.authorize(await goToProvider(browser, server.registered))
    await server.identityProviders.remove(ACME, server.registered.id)
    expect(await browser.submit(page, { provider: server.registered.id })).toMatchObject({ status: 400 })
    expect(await browser.comeBack(back)).toMatchObject({ status: 400 })
    expect(server.provider.requests).toEqual([])
  })
})

describe('a request of a client', () => {
  it('whose state is too long for the address of a provider is refused there', async () => {
    const { login, registered } = await openFederatedLogin()
    const browser = login.browser()
    const page = await browser.open({ state: 'x'.repeat(4_000) })
    const back = backOf(await browser.submit(page, { provider: registered.id }))
    expect(back.searchParams.get('error')).toBe('invalid_request')
  })
})

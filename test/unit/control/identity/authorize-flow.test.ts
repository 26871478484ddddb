import { describe, expect, it } from 'vitest'
import type { OauthAnswer } from '../../../../src/boundary/plan/oauth-call.ts'
import { API, challengeOf, GATEWAY_URL, NOW_MS, PERSON, REDIRECT, VERIFIER } from '../../../fixtures/token-endpoints.ts'
import { backOf, hidden, openTestLogin, PASSWORD, type TestLogin } from '../../../fixtures/login-endpoints.ts'

async function consentOf(server: TestLogin, parameters?: Record<string, string>) {
  const browser = server.browser()
  const page = await browser.logIn(await browser.open(parameters))
  expect(page.status).toBe(200)
  return { browser, page }
}

describe('a sign-in', () => {
  it('ends with a code for the access that the person has allowed', async () => {
    const server = openTestLogin()
    const { browser, page } = await consentOf(server, { scope: 'openid read', nonce: 'n', redirect_uri: REDIRECT })
    const back = backOf(await browser.submit(page, { decision: 'allow' }))

    expect(Object.fromEntries(back.searchParams)).toEqual({
      code: 'code_1.secret',
      state: 'xyz',
      iss: `${GATEWAY_URL}/${API}`,
    })
    expect(server.consents).toEqual([
      {
        tenant: 'acme',
        clientId: 'cli_public',
        credential: 'crd_1',
        api: API,
        redirectUri: REDIRECT,
        challenge: challengeOf(VERIFIER),
        person: PERSON,
        scope: 'openid read',
        wantsIdToken: true,
        wantsProfile: false,
        nonce: 'n',
        loggedInAtMs: NOW_MS,
      },
    ])
  })

  it('shows the client, the API, the scopes, the person and the redirect URI before it asks for consent', async () => {
    const server = openTestLogin()
    const { page } = await consentOf(server, { scope: 'openid read secret unheard' })
    for (const text of ['Wallet', 'Payments', PERSON.name, 'app.example', '<li>read</li>', 'your name and user name']) {
      expect(page.body).toContain(text)
    }
    for (const text of ['secret', 'unheard', 'write']) expect(page.body).not.toContain(`<li>${text}</li>`)
  })

  it('that is denied returns an error to the client', async () => {
    for (const decision of ['deny', '', 'allowed']) {
      const server = openTestLogin()
      const { browser, page } = await consentOf(server)
      const back = backOf(await browser.submit(page, { decision }))
      expect(back.searchParams.get('error')).toBe('access_denied')
      expect(back.searchParams.get('state')).toBe('xyz')
      expect(server.consents).toEqual([])
    }
  })

  it('for a product without a named API works, and names no issuer', async () => {
    const server = openTestLogin()
    server.grant = { ...server.grant, api: '', apiProductId: 'prd_1' }
    const open = await consentOf(server)
    const back = backOf(await open.browser.submit(open.page, { decision: 'allow' }))
    expect([...back.searchParams.keys()].sort()).toEqual(['code', 'state'])
    const named = await consentOf(server, { resource: `${GATEWAY_URL}/orders-v1` })
    const bound = backOf(await named.browser.submit(named.page, { decision: 'allow' }))
    expect(bound.searchParams.get('iss')).toBe(`${GATEWAY_URL}/orders-v1`)
    expect(server.consents.map(({ api }) => api)).toEqual(['', 'orders-v1'])
  })

  it.each([
    ['a wrong password', 'wrong', PERSON.username],
    ['an unknown name', PASSWORD, 'nobody'],
    ['nothing', '', ''],
  ])('with %s asks again with the same text, and is recorded without a subject', async (_, password, username) => {
    const browser = openTestLogin().browser()
    const again = await browser.logIn(await browser.open(), password, username)
    expect(again).toMatchObject({ status: 401, signal: { api: API, outcome: 'credential_invalid', grant: null } })
    expect(again.body).toContain('The user name or password is incorrect.')
    expect(again.body).toContain('role="alert"')
    expect((await browser.logIn(again)).status).toBe(200)
  })

  it.each([
    ['revoked', { valid: false }],
    ['suspended', { active: false }],
  ])('is refused at either step if the client is %s meanwhile', async (_, grant) => {
    const server = openTestLogin()
    const browser = server.browser()
    const login = await browser.open()
    const { browser: other, page } = await consentOf(server)
    server.grant = { ...server.grant, ...grant }
    for (const answer of [await browser.logIn(login), await other.submit(page, { decision: 'allow' })]) {
      expect(answer).toMatchObject({ status: 400 })
      expect(answer.headers).not.toHaveProperty('Location')
    }
    expect([server.compared.length, server.consents]).toEqual([1, []])
  })

  it('is refused if its redirect URI is no longer registered', async () => {
    const server = openTestLogin()
    const { browser, page } = await consentOf(server)
    server.redirectUris = ['https://other.example/']
    expect((await browser.submit(page, { decision: 'allow' })).headers).not.toHaveProperty('Location')
  })
})

describe('a forged sign-in form', () => {
  it('of another browser, no browser or another stage, changed or expired, is refused', async () => {
    const server = openTestLogin()
    const browser = server.browser()
    const login = await browser.open()
    const { browser: other, page: consent } = await consentOf(server)
    const stranger = server.browser()
    const changed = hidden(consent).replace(/^./, (first) => (first === 'A' ? 'B' : 'A'))
    const compared = server.compared.length

    const answers: OauthAnswer[] = [
      await stranger.logIn(login),
      await other.logIn(login),
      await other.submit(login, { decision: 'allow' }),
      await other.submit(consent, { username: PERSON.username, password: PASSWORD }),
      await browser.submit(consent, { decision: 'allow' }),
      await other.post({ transaction: changed, decision: 'allow' }),
      await other.post({ transaction: '', decision: 'allow' }),
      await other.post({ transaction: 'x'.repeat(20_000), decision: 'allow' }),
    ]
    server.forward(10 * 60_000)
    answers.push(await other.submit(consent, { decision: 'allow' }), await browser.logIn(login))
    for (const answer of answers) {
      expect(answer.status).toBe(400)
      expect(answer.headers).not.toHaveProperty('Location')
    }
    expect([server.consents, server.compared.length]).toEqual([[], compared])
  })

  it.each(['transaction', 'password', 'decision'])('with %s twice is refused', async (name) => {
    const server = openTestLogin()
    const { browser, page } = await consentOf(server)
    const fields = { transaction: hidden(page), decision: 'allow', password: 'x' }
    const answer = await browser.postPairs([...Object.entries(fields), [name, 'allow']])
    expect(answer.status).toBe(400)
    expect(server.consents).toEqual([])
  })
})

describe('password guessing', () => {
  async function guess(server: TestLogin, times: number, browser = server.browser()): Promise<OauthAnswer> {
    let page = await browser.open()
    for (let count = 0; count < times; count++) page = await browser.logIn(page, `guess ${count}`)
    return page
  }

  it('is throttled after ten attempts without a password comparison, until the window ends', async () => {
    const server = openTestLogin()
    expect((await guess(server, 10)).status).toBe(401)
    const eleventh = await guess(server, 1)
    expect(eleventh).toMatchObject({ status: 429, headers: { 'Retry-After': '900' } })
    expect(server.compared).toHaveLength(10)
    const browser = server.browser()
    expect((await browser.logIn(await browser.open())).status).toBe(429)
    server.forward(15 * 60_000)
    expect((await browser.logIn(await browser.open())).status).toBe(200)
  })

  it('is throttled in the same way for unknown user names', async () => {
    const server = openTestLogin()
    const browser = server.browser()
    let page = await browser.open()
    for (let count = 0; count < 11; count++) page = await browser.logIn(page, 'guess', 'nobody')
    expect(page.status).toBe(429)
  })

  it('by concurrent attempts is no faster', async () => {
    const server = openTestLogin()
    const browser = server.browser()
    const page = await browser.open()
    const answers = await Promise.all(Array.from({ length: 50 }, (_, at) => browser.logIn(page, `guess ${at}`)))
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(10)
    expect(server.compared).toHaveLength(10)
  })

  it('by others does not lock out a browser in which the person has signed in', async () => {
    const server = openTestLogin()
    const { browser } = await consentOf(server)
    await guess(server, 11)
    expect((await browser.logIn(await browser.open())).status).toBe(200)
  })

  it('in such a browser has a limit of its own', async () => {
    const server = openTestLogin()
    const { browser } = await consentOf(server)
    expect((await guess(server, 11, browser)).status).toBe(429)
    expect((await guess(server, 1)).status).toBe(401)
  })

  it('with the device cookie of another person counts against the shared limit', async () => {
    const server = openTestLogin()
    const { browser } = await consentOf(server)
    let page = await browser.open()
    for (let count = 0; count < 11; count++) page = await browser.logIn(page, 'guess', 'ada')
    expect(page.status).toBe(429)
    const fresh = server.browser()
    expect((await fresh.logIn(await fresh.open(), 'guess', 'ada')).status).toBe(429)
  })
})

describe('a sign-in page', () => {
  const HOSTILE = `"><script>alert(1)</script>'&{{x}}`

  it('escapes the texts of clients, providers and users', async () => {
    const server = openTestLogin({ title: HOSTILE, scopes: { declared: [HOSTILE], allowed: [HOSTILE] } })
    server.grant = { ...server.grant, consumerName: HOSTILE, scopes: [HOSTILE] }
    const browser = server.browser()
    const login = await browser.open()
    const wrong = await browser.logIn(login, 'wrong', HOSTILE)
    const consent = await browser.logIn(login)
    for (const { body } of [login, wrong, consent]) {
      expect(body).not.toContain('<script>')
      expect(body).toContain('&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&#39;&amp;{{x}}')
    }
  })

  it('loads nothing, cannot be framed, and posts only to this service and the redirect URI', async () => {
    const server = openTestLogin()
    server.redirectUris = [REDIRECT, 'com.example.app:/back', 'http://127.0.0.1:4000/', 'http://[::1]:4000/']
    const targets = [
      "'self' https://app.example",
      "'self' com.example.app:",
      "'self' http://127.0.0.1:4000",
      "'self' http:",
    ]
    for (const [at, redirect_uri] of server.redirectUris.entries()) {
      const { page } = await consentOf(server, { redirect_uri })
      const policy = page.headers['Content-Security-Policy'] ?? ''
      expect(policy).toMatch(/^default-src 'none'; style-src 'sha256-[\w+/]{43}='; form-action /)
      expect(policy).toContain(`form-action ${targets[at]};`)
      expect(policy).toContain("base-uri 'none'; frame-ancestors 'none'")
      expect(page.headers).toMatchObject({
        'X-Frame-Options': 'DENY',
        'X-Content-Type-Options': 'nosniff',
        'Referrer-Policy': 'no-referrer',
        'Cache-Control': 'no-store',
        'Content-Type': 'text/html; charset=utf-8',
      })
    }
  })

  it('is accessible: a language, a title, a label for each field, and autocompletion', async () => {
    const { body } = await openTestLogin().browser().open()
    for (const part of [
      '<html lang="en">',
      '<title>Sign in</title>',
      '<label for="username">',
      '<label for="password">',
      'autocomplete="username"',
      'autocomplete="current-password"',
      'name="viewport"',
    ]) {
      expect(body).toContain(part)
    }
    expect(body).not.toMatch(/<script|javascript:|\son\w+=/)
  })
})

describe('the sign-in cookies', () => {
  it.each([
    ['https://gateway.example', '__Host-tollgate', '; Secure'],
    ['http://127.0.0.1:8080', 'tollgate', ''],
  ])('at %s are limited to this site and hidden from scripts', async (gatewayUrl, name, secure) => {
    const server = openTestLogin({ gatewayUrl })
    const { browser } = await consentOf(server)
    const [first, second] = browser.setCookies
    expect(first).toMatch(new RegExp(`^${name}-browser=[\\w-]{43}; Path=/; HttpOnly; SameSite=Lax${secure}$`))
    expect(second).toMatch(
      new RegExp(`^${name}-device=[\\w-]+; Max-Age=7776000; Path=/; HttpOnly; SameSite=Lax${secure}$`),
    )
  })

  it('keep one browser id across several sign-ins', async () => {
    const browser = openTestLogin().browser()
    const first = await browser.open()
    await browser.open()
    expect(browser.setCookies).toHaveLength(1)
    expect((await browser.logIn(first)).status).toBe(200)
  })

  it('are ignored if they were not set by this service', async () => {
    const browser = openTestLogin().browser()
    browser.cookies.set('__Host-tollgate-browser', 'short')
    await browser.open()
    expect(browser.setCookies).toHaveLength(1)
  })
})

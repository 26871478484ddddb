import { describe, expect, it } from 'vitest'
import type { OauthAnswer } from '../../../src/plan/oauth-call.ts'
import { API, challengeOf, GATEWAY_URL, NOW_MS, PERSON, REDIRECT, VERIFIER } from '../../fixtures/token-endpoints.ts'
import { backOf, hidden, openTestLogin, PASSWORD, type TestLogin } from '../../fixtures/login-endpoints.ts'

async function consentOf(server: TestLogin, parameters?: Record<string, string>) {
  const browser = server.browser()
  const page = await browser.logIn(await browser.open(parameters))
  expect(page.status).toBe(200)
  return { browser, page }
}

describe('a login', () => {
  it('ends with a code for what the person has agreed to', async () => {
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

  it('asks before it gives: who asks, at what, for what, as whom, and where to', async () => {
    const server = openTestLogin()
    const { page } = await consentOf(server, { scope: 'openid read secret unheard' })
    for (const text of ['Wallet', 'Payments', PERSON.name, 'app.example', '<li>read</li>', 'your name and user name']) {
      expect(page.body).toContain(text)
    }
    for (const text of ['secret', 'unheard', 'write']) expect(page.body).not.toContain(`<li>${text}</li>`)
  })

  it('that is not agreed to is told to the client', async () => {
    for (const decision of ['deny', '', 'allowed']) {
      const server = openTestLogin()
      const { browser, page } = await consentOf(server)
      const back = backOf(await browser.submit(page, { decision }))
      expect(back.searchParams.get('error')).toBe('access_denied')
      expect(back.searchParams.get('state')).toBe('xyz')
      expect(server.consents).toEqual([])
    }
  })

  it('of a product goes on without an API where none is named, and then names no issuer', async () => {
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
  ])('with %s is asked again, in the same words, and recorded to nobody’s account', async (_, password, username) => {
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
  ])('ends where the client is %s meanwhile, at either step', async (_, grant) => {
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

  it('ends where its address is registered no longer', async () => {
    const server = openTestLogin()
    const { browser, page } = await consentOf(server)
    server.redirectUris = ['https://other.example/']
    expect((await browser.submit(page, { decision: 'allow' })).headers).not.toHaveProperty('Location')
  })
})

describe('a forged form', () => {
  it('of another browser, of no browser, of another stage, changed or too old opens nothing', async () => {
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

  it.each(['transaction', 'password', 'decision'])('that says %s twice is not read', async (name) => {
    const server = openTestLogin()
    const { browser, page } = await consentOf(server)
    const fields = { transaction: hidden(page), decision: 'allow', password: 'x' }
    const answer = await browser.postPairs([...Object.entries(fields), [name, 'allow']])
    expect(answer.status).toBe(400)
    expect(server.consents).toEqual([])
  })
})

describe('guessing', () => {
  async function guess(server: TestLogin, times: number, browser = server.browser()): Promise<OauthAnswer> {
    let page = await browser.open()
    for (let count = 0; count < times; count++) page = await browser.logIn(page, `guess ${count}`)
    return page
  }

  it('is slowed down after ten, without a look at the password, and goes on when the window is over', async () => {
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

  it('is slowed down for names that nobody has, alike', async () => {
    const server = openTestLogin()
    const browser = server.browser()
    let page = await browser.open()
    for (let count = 0; count < 11; count++) page = await browser.logIn(page, 'guess', 'nobody')
    expect(page.status).toBe(429)
  })

  it('by many at once is no faster', async () => {
    const server = openTestLogin()
    const browser = server.browser()
    const page = await browser.open()
    const answers = await Promise.all(Array.from({ length: 50 }, (_, at) => browser.logIn(page, `guess ${at}`)))
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(10)
    expect(server.compared).toHaveLength(10)
  })

  it('by strangers does not lock out a browser in which the person has logged in', async () => {
    const server = openTestLogin()
    const { browser } = await consentOf(server)
    await guess(server, 11)
    expect((await browser.logIn(await browser.open())).status).toBe(200)
  })

  it('in such a browser has a bound of its own', async () => {
    const server = openTestLogin()
    const { browser } = await consentOf(server)
    expect((await guess(server, 11, browser)).status).toBe(429)
    expect((await guess(server, 1)).status).toBe(401)
  })

  it('with the mark of another person counts as a stranger’s', async () => {
    const server = openTestLogin()
    const { browser } = await consentOf(server)
    let page = await browser.open()
    for (let count = 0; count < 11; count++) page = await browser.logIn(page, 'guess', 'ada')
    expect(page.status).toBe(429)
    const fresh = server.browser()
    expect((await fresh.logIn(await fresh.open(), 'guess', 'ada')).status).toBe(429)
  })
})

describe('a page', () => {
  const HOSTILE = `"><script>alert(1)</script>'&{{x}}`

  it('shows what others have named as text', async () => {
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

  it('may load nothing, be framed by nobody, and post only here and to where the client is registered', async () => {
    const server = openTestLogin()
    server.redirectUris = [REDIRECT, 'com.example.app:/back', 'http://127.0.0.1:4000/']
    const targets = ["'self' https://app.example", "'self' com.example.app:", "'self' http://127.0.0.1:4000"]
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

  it('works for people: a language, a title, a label for each field, words that browsers fill in', async () => {
    const { body } = await openTestLogin().browser().open()
    for (const part of [
      '<html lang="en">',
      '<title>Log in</title>',
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

describe('cookies', () => {
  it.each([
    ['https://gateway.example', '__Host-tollgate', '; Secure'],
    ['http://127.0.0.1:8080', 'tollgate', ''],
  ])('at %s are for this site alone, and out of reach of scripts', async (gatewayUrl, name, secure) => {
    const server = openTestLogin({ gatewayUrl })
    const { browser } = await consentOf(server)
    const [first, second] = browser.setCookies
    expect(first).toMatch(new RegExp(`^${name}-browser=[\\w-]{43}; Path=/; HttpOnly; SameSite=Lax${secure}$`))
    expect(second).toMatch(
      new RegExp(`^${name}-device=[\\w-]+; Max-Age=7776000; Path=/; HttpOnly; SameSite=Lax${secure}$`),
    )
  })

  it('keep one name for a browser over several logins', async () => {
    const browser = openTestLogin().browser()
    const first = await browser.open()
    await browser.open()
    expect(browser.setCookies).toHaveLength(1)
    expect((await browser.logIn(first)).status).toBe(200)
  })

  it('that somebody planted are not taken for a browser’s name', async () => {
    const browser = openTestLogin().browser()
    browser.cookies.set('__Host-tollgate-browser', 'short')
    await browser.open()
    expect(browser.setCookies).toHaveLength(1)
  })
})

import { describe, expect, it } from 'vitest'
import { PERSON } from '../../../fixtures/token-endpoints.ts'
import { backOf, openTestLogin, PASSWORD } from '../../../fixtures/login-endpoints.ts'

describe('a sign-in with a second factor', () => {
  function openWithCode() {
    const server = openTestLogin()
    const tried: string[] = []
    server.secondFactors.stateOf = async () => 'totp'
    server.secondFactors.use = async (tenant, id, code) => {
      tried.push(code)
      return tenant === 'acme' && id === PERSON.id && code === '123456'
    }
    return { server, tried }
  }

  it('asks for a code after the password, and shows the consent page only after a right one', async () => {
    const { server, tried } = openWithCode()
    const browser = server.browser()
    const page = await browser.logIn(await browser.open())
    expect(page.status).toBe(200)
    expect(page.body).toContain('autocomplete="one-time-code"')
    // A client without a consent page gets its redirect from this form.
    expect(page.headers['Content-Security-Policy']).toContain("form-action 'self' https://app.example;")
    expect(page.body).not.toContain('decision')
    const again = await browser.submit(page, { code: '654321' })
    expect(again).toMatchObject({ status: 401, signal: { outcome: 'credential_invalid', grant: null } })
    const consent = await browser.submit(again, { code: '123456' })
    expect(backOf(await browser.submit(consent, { decision: 'allow' })).searchParams.get('code')).toBe('code_1.secret')
    expect(tried).toEqual(['654321', '123456'])
  })

  it('cannot skip the code: the page of a step does not open at another, nor in another browser', async () => {
    const { server, tried } = openWithCode()
    const browser = server.browser()
    const login = await browser.open()
    const page = await browser.logIn(login)
    const answers = [
      await browser.submit(page, { decision: 'allow' }),
      await browser.submit(page, { username: PERSON.username, password: PASSWORD }),
      await browser.submit(login, { code: '123456' }),
      await server.browser().submit(page, { code: '123456' }),
    ]
    server.forward(10 * 60_000)
    answers.push(await browser.submit(page, { code: '123456' }))
    for (const answer of answers) expect(answer.status).toBe(400)
    expect([server.consents, tried]).toEqual([[], []])
  })

  it('is throttled after ten wrong codes without a comparison, over all sign-ins', async () => {
    const { server, tried } = openWithCode()
    for (let count = 0; count < 10; count++) {
      const browser = server.browser()
      await browser.submit(await browser.logIn(await browser.open()), { code: `00000${count}` })
    }
    const browser = server.browser()
    const page = await browser.logIn(await browser.open())
    expect(await browser.submit(page, { code: '123456' })).toMatchObject({
      status: 429,
      headers: { 'Retry-After': '900' },
    })
    expect(tried).toHaveLength(10)
  })

  it('that the policy requires is set up first, and its recovery codes are shown once', async () => {
    const server = openTestLogin()
    server.secondFactors.stateOf = async () => 'enrol'
    server.secondFactors.confirm = async (_, id, code, secret) =>
      id === PERSON.id && code === '123456' && secret === 'ABCD' ? ['AAAA-BBBB'] : null
    const browser = server.browser()
    const page = await browser.logIn(await browser.open())
    expect(page.body).toContain('ABCD')
    const again = await browser.submit(page, { code: '000000' })
    expect(again.status).toBe(401)
    expect(again.body).toContain('ABCD')
    const consent = await browser.submit(again, { code: '123456' })
    expect(consent.body).toContain('AAAA-BBBB')
    expect(backOf(await browser.submit(consent, { decision: 'allow' })).searchParams.get('code')).toBe('code_1.secret')
  })
})

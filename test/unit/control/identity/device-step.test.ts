import { describe, expect, it } from 'vitest'
import type { NewDeviceCode } from '../../../../src/control/identity/device-codes.ts'
import { hidden, openTestLogin, PASSWORD, type Browser } from '../../../fixtures/login-endpoints.ts'
import { API, PERSON } from '../../../fixtures/token-endpoints.ts'

const WAITS = { state: 'pending' }

function openLogin() {
  const login = openTestLogin()
  login.mayRefresh = true
  const asked = { scope: 'openid read', wantsIdToken: true, wantsProfile: false }
  const begin = (): Promise<NewDeviceCode> =>
    login.deviceCodes.create({ clientId: 'cli_public', api: API, ...asked }, '')
  const poll = ({ deviceCode }: NewDeviceCode) => login.deviceCodes.poll(deviceCode, 'cli_public', API)
  const consent = async (browser: Browser, { userCode }: NewDeviceCode) =>
    browser.logIn(await browser.enterCode(await browser.openDevice(), userCode))
  return { login, begin, poll, consent }
}

describe('the page for the code of a device', () => {
  it('leads to the sign-in, a consent that warns and shows the code, and the end', async () => {
    const { login, begin, poll, consent } = openLogin()
    const browser = login.browser()
    const code = await begin()
    const page = await consent(browser, code)
    expect(page.status).toBe(200)
    for (const text of ['Wallet', 'Payments', '<li>read</li>', code.userCode, 'A device asks', PERSON.name]) {
      expect(page.body).toContain(text)
    }
    expect(page.body).not.toContain('redirected')
    expect(await poll(code)).toEqual(WAITS)
    const done = await browser.submit(page, { decision: 'allow' })
    expect(done).toMatchObject({ status: 200, body: expect.stringContaining('The device is connected') })
    expect(await poll(code)).toMatchObject({
      state: 'allowed',
      login: { tenant: 'acme', person: PERSON, scope: 'openid read' },
    })
    expect(login.consents).toEqual([])
    const again = await browser.submit(page, { decision: 'allow' })
    expect(again).toMatchObject({ status: 400, body: expect.stringContaining('not connected') })
  })

  it('refuses the device if the person denies', async () => {
    const { login, begin, poll, consent } = openLogin()
    const browser = login.browser()
    const code = await begin()
    const page = await browser.submit(await consent(browser, code), { decision: 'deny' })
    expect(page.body).toContain('not connected')
    expect(await poll(code)).toEqual({ state: 'denied' })
  })

  it('shows the code of the address, and does not submit it', async () => {
    const { login, begin, poll } = openLogin()
    const code = await begin()
    const page = await login.browser().openDevice(code.userCode)
    expect(page.body).toContain(`value="${code.userCode}"`)
    expect(page.headers['Content-Security-Policy']).toContain("form-action 'self'")
    expect(await poll(code)).toEqual(WAITS)
    const hostile = await login.browser().openDevice('"><script>alert(1)</script>')
    expect(hostile.body).not.toContain('<script>')
  })

  it('asks for the password, and counts a wrong one', async () => {
    const { login, begin, poll } = openLogin()
    const browser = login.browser()
    const code = await begin()
    const page = await browser.enterCode(await browser.openDevice(), code.userCode)
    expect(await browser.logIn(page, 'wrong')).toMatchObject({ status: 401, signal: { outcome: 'credential_invalid' } })
    expect(await poll(code)).toEqual(WAITS)
  })

  it('does not continue in another browser, or with a form of another step', async () => {
    const { login, begin } = openLogin()
    const [browser, other] = [login.browser(), login.browser()]
    const code = await begin()
    const page = await browser.openDevice()
    expect((await other.enterCode(page, code.userCode)).body).toContain('cannot continue')
    await other.openDevice()
    expect((await other.enterCode(page, code.userCode)).body).toContain('cannot continue')
    const loginPage = await browser.enterCode(page, code.userCode)
    expect((await browser.enterCode(loginPage, code.userCode)).body).toContain('cannot continue')
    expect((await browser.post({ transaction: hidden(page), username: 'grace', password: PASSWORD })).body).toContain(
      'cannot continue',
    )
    expect((await browser.post({ transaction: hidden(loginPage), decision: 'allow' })).body).toContain(
      'cannot continue',
    )
    login.forward(10 * 60_000)
    expect((await browser.enterCode(page, code.userCode)).body).toContain('cannot continue')
  })

  it('takes ten wrong codes of a browser in 15 minutes', async () => {
    const { login, begin } = openLogin()
    const browser = login.browser()
    const page = await browser.openDevice()
    for (let count = 0; count < 10; count++) expect((await browser.enterCode(page, 'BBBB-BBBB')).status).toBe(400)
    const limited = await browser.enterCode(page, (await begin()).userCode)
    expect(limited).toMatchObject({ status: 429, headers: { 'Retry-After': '900' } })
    const other = login.browser()
    expect((await other.enterCode(await other.openDevice(), (await begin()).userCode)).body).toContain('Password')
    login.forward(15 * 60_000)
    expect((await browser.enterCode(await browser.openDevice(), (await begin()).userCode)).body).toContain('Password')
  })

  it('ends for a client that is no longer entitled', async () => {
    const { login, begin, poll, consent } = openLogin()
    const browser = login.browser()
    const code = await begin()
    const page = await consent(browser, code)
    login.mayRefresh = false
    expect((await browser.submit(page, { decision: 'allow' })).status).toBe(400)
    expect(await poll(code)).toEqual(WAITS)
  })

  it('ends after the second factor like any sign-in', async () => {
    const { login, begin, poll, consent } = openLogin()
    login.secondFactors.stateOf = async () => 'on' as never
    login.secondFactors.use = async (_tenant, _person, given) => given === '123456'
    const browser = login.browser()
    const code = await begin()
    const asked = await consent(browser, code)
    expect(asked.body).toContain('Enter a code')
    const page = await browser.submit(asked, { code: '123456' })
    expect(page.body).toContain(code.userCode)
    await browser.submit(page, { decision: 'allow' })
    expect(await poll(code)).toMatchObject({ state: 'allowed' })
  })
})

/** People use the console in a real browser: sign-in, views, deep links, live risks, other people's rights. */

// @module-tag chromium

import { request } from 'undici'
import { describe, expect, it } from 'vitest'
import { activate, enterLogin, goTo, logIn, nameOfFocus, tabTo } from './console-keyboard.ts'
import { useConsole } from './console-stage.ts'
import { expectUsable } from './console-visit.ts'
import { enrol, type Enrolled, type Service } from './service.ts'
import { invite, PASSWORD } from './shared-client.ts'

const REFUSALS = 60
const HOSTILE = '<img src=x onerror="document.title=1">\u202eevil'
let service: Service
let caller: Enrolled

const { signIn, open } = useConsole({ env: { REQUEST_LOG: 'all' } }, async (stage) => {
  ;({ service } = stage)
  caller = await enrol(service, 'ledger-v1', { name: HOSTILE.slice(0, 100), kind: 'agent' })
})

/** Returns the id of the call. */
async function call(path: string): Promise<string> {
  const answer = await request(`${service.gatewayUrl}/ledger-v1/${path}`, { headers: { 'x-api-key': caller.apiKey } })
  await answer.body.dump()
  return String(answer.headers['x-request-id'])
}

describe('a person who signs in', () => {
  it('sees the overview, and has neither a token nor a cookie in reach of scripts', async () => {
    const { page, context, errors } = await signIn('admin')
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.getByText('Signed in as Grace').waitFor()
    const cookies = await context.cookies(`${service.baseUrl}/console/`)
    expect(cookies.find(({ name }) => name === 'tollgate-console')).toMatchObject({
      httpOnly: true,
      sameSite: 'Strict',
      // The gateway has the same host, and would forward the cookie to backends.
      path: '/console',
    })
    expect(cookies.map(({ name }) => name)).not.toContain('tollgate-console-sign-in')
    const reach = await page.evaluate('[document.cookie, { ...localStorage }, { ...sessionStorage }]')
    expect(JSON.stringify(reach)).not.toContain('tollgate-console')
    expect(JSON.stringify(reach)).not.toMatch(/eyJ[\w-]+\./)
    expect(errors).toEqual([])
  })

  it('arrives at the address that was opened, and the back button works', async () => {
    const { page } = await signIn('admin', 'console/usage?groupBy=operation')
    await page.getByRole('heading', { name: 'Usage' }).waitFor()
    expect(await page.getByRole('checkbox', { name: 'Operation' }).isChecked()).toBe(true)
    await page.getByRole('link', { name: 'Consumers' }).click()
    await page.getByRole('heading', { name: 'Consumers' }).waitFor()
    await page.goBack()
    await page.getByRole('heading', { name: 'Usage' }).waitFor()
    expect(new URL(page.url()).search).toBe('?groupBy=operation')
  })

  it('signs out, after which the session opens nothing', async () => {
    const { page, context } = await signIn('admin')
    const before = await context.cookies()
    await page.getByRole('button', { name: 'Sign out', exact: true }).click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    await context.addCookies(before)
    await page.reload()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
  })

  it('signs in after a wrong password, and signs out here and everywhere, with the keyboard alone', async () => {
    const { id, username } = await invite(service, { role: 'admin' })
    const { page, errors } = await open('console/usage')
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    await activate(page, 'Sign in')
    await enterLogin(page, username, 'not the password')
    await page.getByRole('alert').waitFor()
    // The user name is kept.
    expect(await nameOfFocus(page)).toBe('Password')
    await tabTo(page, 'User name', 'Shift+Tab')
    await enterLogin(page, username, PASSWORD)
    await page.getByRole('heading', { name: 'Usage', level: 1 }).waitFor()
    expect(await nameOfFocus(page)).toBe('')
    await page.keyboard.press('Tab')
    expect(await nameOfFocus(page)).toBe('Skip to the content')
    await activate(page, 'Sign out')
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    await logIn(page, username)
    await activate(page, 'Signed in as Grace')
    await page.getByRole('heading', { name: 'My account' }).waitFor()
    await tabTo(page, 'Sign out everywhere')
    await page.keyboard.press('Space')
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    expect(await service.platform.get(`/v1/users/${id}/sessions`)).toMatchObject({ items: [] })
    expect(errors).toEqual([])
  })

  it('is asked to sign in again when the sessions of the person are ended', async () => {
    const { page, id } = await signIn('admin')
    await service.platform.delete(`/v1/users/${id}/sessions`)
    await page.goto(`${service.baseUrl}/console/consumers`)
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
  })

  it('signs out everywhere', async () => {
    const { page, id } = await signIn('admin')
    await page.getByRole('link', { name: 'Signed in as Grace' }).click()
    await page.getByRole('button', { name: 'Sign out everywhere' }).click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    expect(await service.platform.get(`/v1/users/${id}/sessions`)).toMatchObject({ items: [] })
  })

  it('stays signed in when the service starts again', async () => {
    const { page } = await signIn('admin')
    await service.stop()
    await service.start()
    await page.reload()
    await page.getByText('Signed in as Grace').waitFor()
  })

  it('sees only the sections that the roles include', async () => {
    const { page } = await signIn('security')
    await page.getByRole('link', { name: 'Risks', exact: true }).waitFor()
    const names = await page.getByRole('navigation', { name: 'Main' }).getByRole('link').allInnerTexts()
    expect(names).not.toContain('Usage')
  })
})

describe('the views', () => {
  it('show a risk as it happens, and its calls', async () => {
    const { page, errors } = await signIn('admin', 'console/risks')
    await page.getByRole('heading', { name: 'Risks' }).waitFor()
    const key = { 'x-api-key': `${caller.apiKey.slice(0, -4)}xxxx` }
    for (let n = 0; n < REFUSALS; n++) {
      const answer = await request(`${service.gatewayUrl}/ledger-v1/entries?n=1`, { headers: key })
      await answer.body.dump()
    }
    await page.getByRole('link', { name: 'AuthFailure401' }).first().click()
    await page.getByRole('heading', { name: 'Timeline' }).waitFor()
    await page
      .getByRole('link', { name: /^Explain / })
      .first()
      .click()
    await page.getByRole('heading', { name: 'Why was this call refused?' }).waitFor()
    expect(errors).toEqual([])
  })

  it('explain why a call was refused', async () => {
    const id = await call('nowhere')
    const { page } = await signIn('admin', `console/requests/${id}`)
    // A call is stored some seconds after it has ended.
    const text = async () => {
      await page.getByRole('button', { name: 'Explain' }).waitFor()
      const shown = await page.getByRole('main').innerText()
      if (!shown.includes('Reason')) await page.reload()
      return shown
    }
    await expect.poll(text, { timeout: 20_000, interval: 500 }).toContain('ledger-v1 has no operation at this path.')
  })

  it('let a person approve a request, with a comment', async () => {
    const { platform } = service
    await platform.put('/v1/apis/ledger-v1/policy', { subscriptionApproval: 'Manual' })
    const { id: consumer } = await platform.post<{ id: string }>('/v1/consumers', { name: 'Shop', kind: 'application' })
    const asked = { consumer, api: 'ledger-v1' }
    const { id } = await platform.post<{ id: string }>('/v1/subscriptions', asked)
    const { page, errors } = await signIn('admin')
    await page.getByRole('link', { name: '1 approval waits for a decision' }).click()
    await page.getByLabel(/^Comment on/).fill('Known to us')
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByText('The request is approved.', { exact: false }).waitFor()
    await page.getByText('No request waits for a decision.').waitFor()
    expect(await platform.get(`/v1/subscriptions/${id}`)).toMatchObject({ state: 'Active' })
    const { items } = await platform.get<{ items: object[] }>(`/v1/subscriptions/${id}/approvalFlows`)
    expect(items).toMatchObject([{ approvals: [{ outcome: 'Approved', comments: 'Known to us' }] }])
    expect(errors).toEqual([])
  })

  it('show names of consumers as text', async () => {
    const { page, errors } = await signIn('admin', 'console/consumers')
    await page.getByText('<img src=x onerror', { exact: false }).waitFor()
    expect(await page.title()).toBe('Consumers · tollgate')
    expect(errors).toEqual([])
  })

  it('have one row of header, a menu and no table that scrolls on a phone', async () => {
    const { page, errors } = await signIn('admin', 'console/settings/roles')
    await page.getByRole('link', { name: 'publisher' }).waitFor()
    await page.setViewportSize({ width: 360, height: 740 })
    const banner = page.getByRole('banner')
    expect((await banner.boundingBox())?.height).toBeLessThan(60)
    const hidden = await page
      .locator('.table')
      .evaluateAll((all) => all.map((each) => each.scrollWidth - each.clientWidth))
    expect(hidden).toEqual([0])
    await page.getByRole('cell', { name: 'Publishes APIs and products.' }).waitFor()

    const menu = page.getByRole('button', { name: 'Menu' })
    const link = page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Consumers' })
    expect(await link.isVisible()).toBe(false)
    await menu.click()
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    await page.keyboard.press('Escape')
    expect(await link.isVisible()).toBe(false)
    expect(await menu.evaluate((element) => element.matches(':focus'))).toBe(true)
    await page.keyboard.press('Enter')
    await link.click()
    await page.getByRole('heading', { level: 1, name: 'Consumers' }).waitFor()
    expect(await link.isVisible()).toBe(false)
    await menu.click()
    await expectUsable(page)
    expect(errors).toEqual([])
  })

  it('open with the keyboard alone', async () => {
    const { page } = await signIn('admin')
    await goTo(page, 'c')
    await page.getByRole('heading', { name: 'Consumers' }).waitFor()
  })
})

describe('a request that no page of the console sent', () => {
  const CONSOLE = { 'tollgate-console': '1' }
  const send = async (cookie: string, headers: Readonly<Record<string, string>>, path = '/console/api/v1/me') => {
    const method = path.endsWith('sign-out') ? 'POST' : 'GET'
    const { statusCode, body } = await request(service.baseUrl + path, { method, headers: { ...headers, cookie } })
    return [statusCode, ((await body.json()) as { username?: string; code?: string }).code] as const
  }

  it('is refused, and the cookie opens nothing but the console', async () => {
    const { context, page } = await signIn('admin')
    const [session] = (await context.cookies()).filter(({ name }) => name === 'tollgate-console')
    const cookie = `tollgate-console=${session!.value}`
    expect(await send(cookie, CONSOLE)).toEqual([200, undefined])
    expect(await send(cookie, {})).toEqual([403, 'operation_forbidden'])
    expect(await send(cookie, { ...CONSOLE, 'sec-fetch-site': 'same-site' })).toEqual([403, 'operation_forbidden'])
    expect(await send(cookie, { ...CONSOLE, 'sec-fetch-site': 'cross-site' })).toEqual([403, 'operation_forbidden'])
    expect(await send(cookie, {}, '/console/sign-out')).toEqual([403, 'operation_forbidden'])
    expect(await send(`${cookie}; tollgate-console=other`, CONSOLE)).toEqual([401, 'credential_missing'])
    expect(await send('tollgate-console=other', CONSOLE)).toEqual([401, 'credential_missing'])
    expect(await send('', { ...CONSOLE, 'x-api-key': caller.apiKey })).toEqual([401, 'credential_missing'])
    for (const path of ['/v1/me', '/console/api/../../v1/me', '//console/api/v1/me', '/mcp'])
      expect((await send(cookie, CONSOLE, path))[0]).toBeGreaterThanOrEqual(401)
    await page.reload()
    await page.getByRole('button', { name: 'Sign out', exact: true }).waitFor()
  })

  it('gets no permission for another origin, and no page may frame the console', async () => {
    const headers = { origin: 'https://evil.example', 'access-control-request-headers': 'tollgate-console' }
    const preflight = await request(`${service.baseUrl}/console/api/v1/me`, { method: 'OPTIONS', headers })
    await preflight.body.dump()
    expect(Object.keys(preflight.headers).filter((name) => name.startsWith('access-control'))).toEqual([])
    const page = await request(`${service.baseUrl}/console/risks`)
    expect(await page.body.text()).not.toContain('__NONCE__')
    const policy = String(page.headers['content-security-policy'])
    expect(policy).toMatch(/^default-src 'self'; style-src 'self' 'nonce-[\w+/]{22}=='; /)
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toContain('unsafe')
  })
})

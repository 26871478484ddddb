/**
 * Attacks on the sign-in and the session of the console: fixation, forged requests, frames, and redirects to other places.
 *
 * The page of the attacker has another port of the same host: browsers take it for the same site, and send it the cookies.
 */

// @module-tag chromium

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { OWN_ADDRESS } from '../fixtures/own-address.ts'
import { createBrowser } from './browser.ts'
import { createVisits, workerBrowser } from './console-visit.ts'
import { createService, type Service } from './service.ts'
import { authorizeUrl, invite, PASSWORD } from './shared-client.ts'

const MINUTE = 60_000
const COOKIE = 'tollgate-console'
const PLANTED = 'A'.repeat(43)
let service: Service
let browser: Browser
let attacker: Server
let attackerUrl: string

beforeAll(async () => {
  service = await createService({ args: ['--empty'] })
  await service.start()
  attacker = createServer(
    (_, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Hello'),
  )
  await new Promise<void>((resolve) => attacker.listen(0, '127.0.0.1', resolve))
  attackerUrl = `http://127.0.0.1:${(attacker.address() as AddressInfo).port}/`
  browser = await workerBrowser()
}, MINUTE)

afterAll(async () => {
  await service.remove()
  attacker.closeAllConnections()
  await new Promise((resolve) => attacker.close(resolve))
})

const { signIn } = createVisits(() => ({ service, browser }))

async function sessionOf(context: BrowserContext): Promise<string> {
  return (await context.cookies(`${service.baseUrl}/console/`)).find(({ name }) => name === COOKIE)?.value ?? ''
}

async function statusWith(session: string): Promise<number> {
  const headers = { cookie: `${COOKIE}=${session}`, 'tollgate-console': '1' }
  const { statusCode, body } = await request(`${service.baseUrl}/console/api/v1/me`, { headers })
  await body.dump()
  return statusCode
}

/** Signs in without scripts. Returns what the callback answers, in the browser of `end`, and its address. */
async function callBack(path = '', end = createBrowser, begin = createBrowser()) {
  const { username } = await invite(service, { role: 'auditor' })
  const begun = await begin.open(`${service.baseUrl}/console/sign-in?path=${encodeURIComponent(path)}`)
  const login = await begin.open(String(begun.headers['location']))
  const back = await begin.submit(login, { organisation: '', username: username!, password: PASSWORD })
  const url = String(back.headers['location'])
  return { url, answer: await (end === createBrowser ? begin : end()).open(url) }
}

describe('session fixation', () => {
  it('fails: a sign-in has a new session, whatever the browser had before', async () => {
    const { context, page } = await signIn('auditor')
    const first = await sessionOf(context)
    await context.addCookies([{ name: COOKIE, value: PLANTED, domain: OWN_ADDRESS, path: '/console', httpOnly: true }])
    await page.reload()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    const { url, answer } = await callBack()
    const [set] = [answer.headers['set-cookie'] ?? []].flat().filter((each) => each.startsWith(`${COOKIE}=`))
    expect(set).toMatch(/^tollgate-console=[\w-]{43}; Path=\/console; HttpOnly; SameSite=Strict$/)
    const session = set!.slice(COOKIE.length + 1).split(';')[0]!
    expect(new Set([first, session, PLANTED]).size).toBe(3)
    expect(await Promise.all([session, first, PLANTED, url.slice(-43)].map(statusWith))).toEqual([200, 200, 401, 401])
  })

  it('fails: the end of a sign-in gives no session to another browser, and none twice', async () => {
    const victim = createBrowser()
    await victim.open(`${service.baseUrl}/console/sign-in`)
    const { answer, url } = await callBack('', () => victim)
    expect(answer.headers['location']).toBe('/console/?sign-in=expired')
    expect(String(answer.headers['set-cookie'])).not.toContain(`${COOKIE}=`)
    const own = createBrowser()
    const done = await callBack('', createBrowser, own)
    expect(String(done.answer.headers['set-cookie'])).toContain(`${COOKIE}=`)
    for (const again of [done.url, url])
      expect((await own.open(again)).headers['location']).toBe('/console/?sign-in=expired')
  })
})

/** Sends a form from the page, and waits until its answer is shown in a frame or a page of its own. */
async function sendForm(page: Page, action: string, method: string, enctype: string): Promise<void> {
  const sent = page.waitForResponse((response) => response.url().startsWith(action))
  await page.evaluate(`{
    const form = document.createElement('form')
    Object.assign(form, { action: ${JSON.stringify(action)}, method: '${method}', enctype: '${enctype}' })
    const field = document.createElement('input')
    Object.assign(field, { name: '{"name":"', value: 'Mallory"}' })
    form.append(field)
    document.body.append(form)
    form.submit()
  }`)
  expect((await sent).status()).toBeGreaterThanOrEqual(400)
  await page.waitForURL(action)
  await page.goto(attackerUrl)
}

describe('a request that another page forges', () => {
  it('changes nothing and reads nothing, with the cookies of the person', async () => {
    const { context, page: own } = await signIn('owner')
    const page = await context.newPage()
    await page.goto(attackerUrl)
    const targets = ['/console/api/v1/me', '/console/api/v1/consumers', '/console/sign-out', '/console/try']
    for (const target of targets)
      for (const enctype of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'])
        await sendForm(page, service.baseUrl + target, 'POST', enctype)
    const read = await page.evaluate<string[]>(`(async () => {
      const send = async (path, options) => {
        try {
          const answer = await fetch(${JSON.stringify(service.baseUrl)} + path, { credentials: 'include', ...options })
          return answer.type === 'opaque' ? '' : await answer.text()
        } catch {
          return ''
        }
      }
      const answers = []
      for (const path of ${JSON.stringify(targets)})
        for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'])
          for (const headers of [{}, { 'tollgate-console': '1' }, { 'content-type': 'application/json' }])
            for (const mode of ['cors', 'no-cors'])
              answers.push(await send(path, { method, headers, mode, body: ['GET', 'HEAD'].includes(method) ? null : '{"name":"Mallory"}' }))
      return answers.filter((each) => each !== '')
    })()`)
    expect(read).toEqual([])
    expect(await statusWith(await sessionOf(context))).toBe(200)
    await own.reload()
    await own.getByText('Grace').first().waitFor()
    const { items } = await service.platform.get<{ items: { name: string }[] }>('/v1/consumers?limit=500')
    expect(items.map(({ name }) => name)).not.toContain('Mallory')
  })
})

describe('a page of the service', () => {
  it('is shown in no frame of another page, whatever it answers', async () => {
    const { id } = await invite(service, { role: 'auditor' })
    const { invitation } = await service.platform.post<{ invitation: { url: string } }>(`/v1/users/${id}/resetPassword`)
    const { baseUrl, gatewayUrl } = service
    const login = authorizeUrl(service, `${COOKIE}.default`, {
      redirect_uri: `${baseUrl}/console/callback`,
      resource: `${gatewayUrl}/platform-v1`,
    })
    const paths = [
      '/console/',
      '/console/risks',
      '/console/nowhere',
      '/console',
      '/',
      '/nowhere',
      '/console/%ff',
      '/console/logo/x',
    ]
    const more = [
      '/openapi.json',
      '/v1/me',
      '/console/api/v1/me',
      '/console/brand',
      '/console/assets/none.js',
      '/console/callback',
    ]
    const bad = ['?client_id=nobody', ''].map((query) => `${gatewayUrl}/oauth2/v2/authorize${query}`)
    const urls = [...[...paths, ...more].map((path) => baseUrl + path), login, ...bad, invitation.url]
    for (const url of urls) {
      const { statusCode, headers, body } = await request(url, { headers: { accept: 'text/html' } })
      await body.dump()
      if (statusCode >= 300 && statusCode < 400) continue
      const { 'x-frame-options': frame, 'content-security-policy': policy } = headers
      expect({ url, frame, policy }).toEqual({
        url,
        frame: 'DENY',
        policy: expect.stringContaining("frame-ancestors 'none'"),
      })
      expect(headers['x-content-type-options']).toBe('nosniff')
    }
    const { context } = await signIn('owner')
    const page = await context.newPage()
    await page.goto(attackerUrl)
    for (const url of urls) {
      await page.evaluate(`{
        const frame = document.createElement('iframe')
        frame.src = ${JSON.stringify(url)}
        document.body.replaceChildren(frame)
      }`)
      const shown = () =>
        page
          .frames()
          .find((frame) => frame !== page.mainFrame())
          ?.url()
      await expect.poll(() => [url, shown()]).toEqual([url, 'chrome-error://chromewebdata/'])
    }
  })
})

describe('a path to return to after the sign-in', () => {
  it.each([
    'https://evil.example/',
    '//evil.example/',
    '/\\evil.example/',
    '/%2f%2fevil.example',
    '/console//evil.example',
    '/console/%2e%2e//evil.example',
    '/console/..//evil.example',
    '/console/\t//evil.example',
    '/console/\r\nLocation: https://evil.example',
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)//console/',
    'data:text/html,<script>alert(1)</script>',
    '@evil.example',
    '/console/api/../../v1/me',
  ])('is the start of the console instead of %j', { timeout: MINUTE }, async (path) => {
    const { answer } = await callBack(path)
    expect([answer.status, answer.headers['location']]).toEqual([303, '/console/'])
  })

  it('is no other parameter of the sign-in, and no host that the request names', async () => {
    const evil = 'https://evil.example/'
    for (const name of ['redirect_uri', 'return_to', 'next', 'url', 'iss', 'error', 'error_uri', 'state', 'code'])
      for (const path of ['/console/callback', '/console', '/console/sign-in', '/']) {
        const headers = { accept: 'text/html', host: 'evil.example', 'x-forwarded-host': 'evil.example' }
        const answer = await request(`${service.baseUrl}${path}?${name}=${encodeURIComponent(evil)}`, { headers })
        await answer.body.dump()
        const { origin } = new URL(String(answer.headers['location']), service.baseUrl)
        expect({ name, path, origin }).toEqual({
          name,
          path,
          origin: path.endsWith('sign-in') ? service.gatewayUrl : service.baseUrl,
        })
      }
  })
})

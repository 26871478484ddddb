/**
 * Stored text stays text: every field that a tenant, a consumer, a backend or a client controls has a value that would show if it
 * became more, and every view of the console is visited. A field that is declared and not filled fails the test.
 */

// @module-tag chromium

import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { HOSTILE_SUBJECT } from '../fixtures/hostile-certificate.ts'
import { logIn } from './console-keyboard.ts'
import { createVisits, workerBrowser } from './console-visit.ts'
import { createService, enrol, type Service } from './service.ts'
import { authorizeUrl, invite, PASSWORD } from './shared-client.ts'
import { crawl } from './stored-text/crawl.ts'
import { TEXT } from './stored-text/documents.ts'
import { EXCEPTIONS } from './stored-text/exceptions.ts'
import { FIELDS, hostileBody } from './stored-text/fields.ts'
import { adminToken, createFiller, type Filler } from './stored-text/fill.ts'
import { startOutside, type Outside } from './stored-text/outside.ts'
import { API, store, storeMute, type Stored } from './stored-text/store.ts'
import { callHostile } from './stored-text/traffic.ts'
import { watch, type Watch } from './stored-text/watch.ts'

const MINUTE = 60_000
const DECIDER = ['approvals:write', 'approvals:read', 'programmes:read']
let service: Service
let outside: Outside
let browser: Browser
let filler: Filler
let decider: Filler
let stored: Stored
let calls: readonly string[]

beforeAll(async () => {
  outside = await startOutside()
  const env = { REQUEST_LOG: 'all', ALLOW_PRIVATE_ADDRESSES: 'webhooks,federation,clients' }
  service = await createService({ args: ['--empty'], env })
  await service.start()
  filler = createFiller(service, await adminToken(service))
  decider = createFiller(service, await (await enrol(service, 'platform-v1', { scopes: DECIDER })).token())
  stored = await store(filler, decider, { backend: outside.url, issuer: outside.url })
  calls = await callHostile(service, outside, stored)
  await storeMute(filler)
  browser = await workerBrowser()
}, 4 * MINUTE)

afterAll(async () => {
  await service.remove()
  await outside.close()
})

const { open } = createVisits(() => ({ service, browser }))

/** Opens a page that is watched from the start. */
async function openWatched(path = 'console/'): Promise<{ readonly page: Page; readonly seen: Watch }> {
  const { context } = await open('console/')
  const seen = await watch(context, [service.baseUrl, service.gatewayUrl])
  const page = await context.newPage()
  await page.goto(`${service.baseUrl}/${path}`)
  return { page, seen }
}

/** Only a person can change the own account. */
async function rename(page: Page): Promise<void> {
  const body = hostileBody('updateMe')
  const status = await page.evaluate(async (text) => {
    const headers = { 'tollgate-console': '1', 'content-type': 'application/json' }
    return (await fetch('/console/api/v1/me', { method: 'PATCH', headers, body: text })).status
  }, JSON.stringify(body))
  expect(status).toBe(200)
  filler.note('updateMe', body)
}

async function visitAll(
  username: string,
  first: readonly string[],
): Promise<{ views: readonly string[]; text: string }> {
  const { page, seen } = await openWatched()
  await logIn(page, username)
  await rename(page)
  const paths = first.map((each) => `/console/${each}`)
  const found = new Set<string>()
  const result = await crawl(page, paths, async () => {
    for (const each of await seen.findings(page)) found.add(each)
  })
  expect([...found]).toEqual([])
  return result
}

describe('the watch of this test', () => {
  it.each([
    ['a script that ran', /script of field 7 ran/, { bypassCSP: true }, '<img src=x onerror=ran(7)>'],
    ['a script that the policy has blocked', /policy violation script-src/, {}, '<img src=x onerror=ran(7)>'],
    ['an element', /element <img/, {}, '<img src=x>'],
    ['an address that is a script', /address javascript:/, {}, '<a href="javascript:ran(7)">x</a>'],
    ['a request to another place', /foreign IMG|request to/, {}, '<img src="https://hostile.example/x">'],
    ['a layout that is too wide', /px wider/, {}, '<canvas width="3000"></canvas>'],
  ])('sees %s on a page that has become vulnerable', { timeout: MINUTE }, async (_, what, options, html) => {
    const context = await browser.newContext(options)
    const seen = await watch(context, [service.baseUrl])
    const page = await context.newPage()
    await page.goto(`${service.baseUrl}/console/`)
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    expect(await seen.findings(page)).toEqual([])
    await page.evaluate(`document.body.insertAdjacentHTML('beforeend', ${JSON.stringify(html)})`)
    await expect.poll(async () => (await seen.findings(page)).join('\n')).toMatch(what)
    await context.close()
  })
})

describe('stored text', () => {
  it('is text in every view of the owner', { timeout: 5 * MINUTE }, async () => {
    const { username } = await invite(service, { role: 'owner' }, { role: 'consumer', consumers: [stored.consumer] })
    const first = ['', `requests/${calls[0]}`, `requests/${calls.at(-1)}`, `apis/${API}/try/plain`, 'requests/explain']
    const { text } = await visitAll(username!, first)
    expect(text).toContain(TEXT.slice(0, 20))
    expect(text).toContain(HOSTILE_SUBJECT)
  })

  it('is text in every view of the portal', { timeout: 4 * MINUTE }, async () => {
    const { username } = await invite(service, { role: 'consumer', consumers: [stored.consumer] })
    const { text } = await visitAll(username!, ['', `requests/${calls[0]}`])
    expect(text).toContain(TEXT.slice(0, 20))
  })

  it('is text on the pages of the sign-in', async () => {
    const { username } = await invite(service, { role: 'consumer', consumers: [stored.consumer] })
    const { page, seen } = await openWatched()
    await page.goto(
      authorizeUrl(service, outside.clientId, {
        resource: `${service.gatewayUrl}/${API}`,
        redirect_uri: 'http://127.0.0.1/callback',
      }),
    )
    expect(await seen.findings(page)).toEqual([])
    await page.getByLabel('Organisation').fill('default')
    await page.getByLabel('User name').fill(username!)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('button', { name: 'Allow' }).waitFor()
    // Names of clients are shown without the characters of markup.
    expect(await page.locator('body').innerText()).toContain('onerror')
    expect(await seen.findings(page)).toEqual([])
  })

  it('is what all declared fields have been tried with, but for those that have a reason', async () => {
    const filled = new Set([...filler.filled, ...decider.filled])
    const open_ = [...FIELDS.values()].filter(({ hostile }) => hostile !== null).map(({ id }) => id)
    expect(open_.filter((id) => !filled.has(id)).sort()).toEqual(Object.keys(EXCEPTIONS).sort())
  })
})

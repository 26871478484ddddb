/** The way of a new person of a consumer: from the documentation of an API to access that another person approves, and to calls. */

// @module-tag chromium

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Browser, Page } from 'playwright-core'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createVisits, expectUsable, workerBrowser } from './console-visit.ts'
import { hostileDocument, HOSTILE } from './hostile-document.ts'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { createService, publish, type Service } from './service.ts'
import { createConsumer, subscribe } from './shared-client.ts'

const MINUTE = 60_000
const PRIVATE = 'http://db.internal'
let service: Service
let backend: LedgerBackend
let browser: Browser

beforeAll(async () => {
  backend = await startLedgerBackend()
  service = await createService({ args: ['--empty'], env: { REQUEST_LOG: 'all' } })
  await service.start()
  await publish(service, 'ledger-v1', { ...documented(), 'x-host': PRIVATE }, backend.url)
  await publish(service, 'hostile-v1', hostileDocument(), backend.url)
  await publish(service, 'secret-v1', { ...ledgerDocument(), info: { title: 'Secret', version: '1.0.0' } }, backend.url)
  await setPolicy('ledger-v1', { exposure: 'Public', subscriptionApproval: 'Manual' })
  await setPolicy('hostile-v1', { exposure: 'Public' })
  await setPolicy('secret-v1', { exposure: 'Internal' })
  browser = await workerBrowser()
}, MINUTE)

afterAll(async () => {
  await service.remove()
  await backend.close()
})

const { signIn } = createVisits(() => ({ service, browser }))
const roleOf = (consumer: string) => ({ role: 'consumer', consumers: [consumer] })

function setPolicy(api: string, policy: object): Promise<unknown> {
  return service.platform.put(`/v1/apis/${api}/policy`, policy)
}

/** With a schema, an example, and what is private to the publisher. */
function documented(): object {
  const document = ledgerDocument() as { paths: { '/entries': { get: object } } }
  const entry = {
    type: 'object',
    $comment: PRIVATE,
    required: ['amount'],
    properties: { amount: { type: 'integer', minimum: 1, description: 'In cents.' } },
  }
  const content = { 'application/json': { schema: entry, example: { amount: 250 } } }
  const get = {
    ...document.paths['/entries'].get,
    'x-owner': PRIVATE,
    responses: { 200: { description: 'ok', content } },
  }
  return { ...document, paths: { 'x-origin': { url: PRIVATE }, '/entries': { servers: [{ url: PRIVATE }], get } } }
}

/** Presses Tab until the focus is at an element with this text. */
async function tabTo(page: Page, text: string): Promise<void> {
  for (let presses = 0; presses < 80; presses++) {
    const focused = (await page.evaluate(
      '(document.activeElement?.labels?.[0] ?? document.activeElement)?.textContent',
    )) as string
    if (focused === text) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`Tab never reached ${text}`)
}

async function switchPortal(enabled: boolean): Promise<void> {
  const headers = { authorization: `Bearer ${await service.platform.token()}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ enabled })
  const answer = await request(`${service.baseUrl}/v1/portal`, { method: 'PATCH', headers, body })
  await answer.body.dump()
  expect(answer.statusCode).toBe(200)
}

async function approve(name: string): Promise<void> {
  const { page } = await signIn('owner', 'console/subscriptions/approvals')
  await page.getByRole('button', { name }).first().click()
  await page.getByText('The request is approved.').waitFor()
}

/** Calls through the session of the page. */
function send(page: Page, path: string, body: object | null, consumer = ''): Promise<{ status: number; text: string }> {
  return page.evaluate(
    async ([url, content, chosen]) => {
      const headers = {
        'tollgate-console': '1',
        ...(content !== null && { 'content-type': 'application/json' }),
        ...(chosen !== '' && { 'x-consumer-id': chosen }),
      }
      const answer = await fetch(url, { method: content === null ? 'GET' : 'POST', headers, body: content })
      return { status: answer.status, text: await answer.text() }
    },
    [path, body === null ? null : JSON.stringify(body), consumer] as const,
  )
}

const CALL = { method: 'GET', path: '/entries', query: [], headers: [], body: null }
const tryCall = (page: Page, api: string, consumer = '') => send(page, '/console/try', { ...CALL, api }, consumer)

describe('a new person of a consumer, with the keyboard alone', () => {
  it(
    'reads the documentation, asks for access, and calls with the key and by the form once it is approved',
    { timeout: 2 * MINUTE, tags: ['curl'] },
    async () => {
      const consumer = await createConsumer(service)
      const { page, errors } = await signIn(roleOf(consumer))
      const { keyboard } = page
      await page.getByText('You have no access to an API yet.').waitFor()
      await tabTo(page, 'Choose an API')
      await keyboard.press('Enter')
      await page.getByRole('link', { name: 'Ledger' }).waitFor()
      await tabTo(page, 'Ledger')
      await keyboard.press('Enter')
      await tabTo(page, 'Documentation')
      await keyboard.press('Enter')
      await page.getByRole('navigation', { name: 'Operations' }).waitFor()
      await tabTo(page, 'GET /entries')
      await keyboard.press('Enter')
      await page.getByText('In cents.').waitFor()
      await tabTo(page, 'Example')
      await keyboard.press('Enter')
      await page.getByText('"amount": 250').waitFor()
      await tabTo(page, 'Try it')
      await keyboard.press('Enter')
      await page.getByText('You have no access to this API yet.').waitFor()
      await expectUsable(page)

      await tabTo(page, 'Subscribe')
      await keyboard.press('Enter')
      await page.getByRole('dialog').waitFor()
      await tabTo(page, 'Contact')
      await keyboard.insertText('ops@example.com')
      await keyboard.press('Enter')
      await page.getByText('The provider has not decided on this request yet.').waitFor()
      await expectUsable(page)
      await approve('Approve')
      // Without a reload: the page asks again.
      await page.getByRole('button', { name: 'Reveal secrets' }).waitFor()
      await tabTo(page, 'Reveal secrets')
      await keyboard.press('Enter')
      const key = await page.getByRole('region', { name: 'Secrets' }).locator('dd code').innerText()
      const line = await page.getByRole('region', { name: 'Make a call' }).locator('pre').innerText()
      const { stdout } = await promisify(execFile)('sh', ['-c', `${line.replace('KEY', key)} --silent`])
      expect(stdout).toContain('"answer":"ok"')

      await tabTo(page, 'Try it here, in your name')
      await keyboard.press('Enter')
      await page.getByRole('navigation', { name: 'Operations' }).waitFor()
      await tabTo(page, 'GET /entries')
      await keyboard.press('Enter')
      await page.getByLabel('n (in the query)').waitFor()
      await tabTo(page, 'n (in the query)')
      await keyboard.insertText('portal')
      await keyboard.press('Enter')
      await page.getByRole('heading', { name: 'Status 200' }).waitFor()
      expect(backend.seen.get('portal')).toBe(1)
      expect(backend.last()).toMatchObject({ 'x-consumer-id': consumer })
      expect(errors).toEqual([])
    },
  )
})

describe('the documentation', () => {
  it('has nothing that is private to the publisher', async () => {
    const { page } = await signIn(roleOf(await createConsumer(service)))
    const { status, text } = await send(page, '/console/api/v1/apis/ledger-v1/document', null)
    expect([status, text.includes('In cents.')]).toEqual([200, true])
    expect(text).not.toMatch(/internal|x-owner|x-host|servers/)
    expect(text).not.toContain(backend.url)
    const api = JSON.parse((await send(page, '/console/api/v1/apis/ledger-v1', null)).text) as object
    expect(api).toMatchObject({ complianceScore: null, programme: null })
    for (const path of ['apis/ledger-v1/policy', 'proxies', 'openapispecs', 'openslaspecs'])
      expect([path, (await send(page, `/console/api/v1/${path}`, null)).status]).toEqual([path, 403])
  })

  it('shows hostile texts as text, at each width', async () => {
    const consumer = await createConsumer(service)
    await subscribe(service, consumer, { api: 'hostile-v1' })
    const { page, errors } = await signIn(roleOf(consumer))
    for (const view of ['', '/documentation', '/documentation/hostile', '/try/hostile']) {
      await page.goto(`${service.baseUrl}/console/apis/hostile-v1${view}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await page
        .getByText(view === '' ? 'Make a call' : HOSTILE, { exact: false })
        .first()
        .waitFor()
      await expectUsable(page)
    }
    expect(await page.evaluate('window.hacked')).toBeUndefined()
    expect(errors).toEqual([])
  })
})

describe('calls that are tried', () => {
  it('use the access of the own consumer only', async () => {
    const [mine, other] = [await createConsumer(service), await createConsumer(service)]
    for (const api of ['hostile-v1', 'secret-v1']) await subscribe(service, other, { api })
    const { page } = await signIn(roleOf(mine))
    const unsubscribed = JSON.stringify({ kind: 'unsubscribed', consumers: [mine] })
    expect(await tryCall(page, 'hostile-v1')).toEqual({ status: 200, text: unsubscribed })
    expect((await tryCall(page, 'hostile-v1', other)).status).toBe(403)
    expect((await send(page, '/console/api/v1/apis/secret-v1/document', null)).status).toBe(404)
    expect(await tryCall(page, 'secret-v1')).toEqual({ status: 200, text: unsubscribed })
    await page.goto(`${service.baseUrl}/console/apis/secret-v1/documentation`)
    await page.getByText('There is no such page').waitFor()
  })

  it('end with a suspension, and when the portal is switched off', async () => {
    const consumer = await createConsumer(service)
    const subscription = await subscribe(service, consumer, { api: 'hostile-v1' })
    const { page } = await signIn(roleOf(consumer))
    expect(JSON.parse((await tryCall(page, 'hostile-v1')).text)).toMatchObject({ kind: 'answer' })
    await service.platform.post(`/v1/subscriptions/${subscription}/suspend`)
    expect((await tryCall(page, 'hostile-v1')).text).toContain('unsubscribed')
    await page.goto(`${service.baseUrl}/console/apis/hostile-v1/try/hostile`)
    await page.getByText('The provider has suspended your access').waitFor()
    await page.getByRole('main').getByRole('link', { name: 'hostile-v1' }).click()
    await page.getByText('The provider has suspended this access.').waitFor()
    await service.platform.post(`/v1/subscriptions/${subscription}/resume`)
    await switchPortal(false)
    try {
      expect((await tryCall(page, 'hostile-v1')).status).toBe(401)
      expect((await send(page, '/console/api/v1/apis/hostile-v1/document', null)).status).toBe(401)
    } finally {
      await switchPortal(true)
    }
    expect(JSON.parse((await tryCall(page, 'hostile-v1')).text)).toMatchObject({ kind: 'answer' })
  })
})

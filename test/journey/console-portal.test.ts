/** The portal: people of two consumers see and change what is their own, and nothing of each other. */

// @module-tag chromium

import type { Browser, Page } from 'playwright-core'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { activate, enterText, goTo, openRow, replaceText } from './console-keyboard.ts'
import { createVisits, expectUsable, workerBrowser } from './console-visit.ts'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { createService, publish, type Service } from './service.ts'
import { createConsumer, subscribe } from './shared-client.ts'

const MINUTE = 60_000
const HOSTILE = '<img src=x onerror="document.title=1">\u202eevil'
const LONG = 'W'.repeat(128)
let service: Service
let backend: LedgerBackend
let browser: Browser
/** Two consumers, each with a subscription. */
let own: { readonly consumer: string; readonly subscription: string }
let other: typeof own

beforeAll(async () => {
  backend = await startLedgerBackend()
  service = await createService({ args: ['--empty'], env: { REQUEST_LOG: 'all' } })
  await service.start()
  await publish(service, 'ledger-v1', ledgerDocument(), backend.url)
  await service.platform.put('/v1/apis/ledger-v1/policy', { exposure: 'Public' })
  for (const name of [HOSTILE, LONG]) await service.platform.post('/v1/products', { name, apis: ['ledger-v1'] })
  own = await enter()
  other = await enter()
  browser = await workerBrowser()
}, MINUTE)

afterAll(async () => {
  await service.remove()
  await backend.close()
})

const { signIn } = createVisits(() => ({ service, browser }))

async function enter(): Promise<typeof own> {
  const consumer = await createConsumer(service)
  const subscription = await subscribe(service, consumer, { api: 'ledger-v1', securityTypes: ['ApiKey'] })
  return { consumer, subscription }
}

const roleOf = ({ consumer }: typeof own) => ({ role: 'consumer', consumers: [consumer] })
const textOf = (page: Page) => page.getByRole('main').innerText()

const secretsOf = (page: Page) => page.getByRole('region', { name: 'Secrets' }).locator('dd code')

/** Calls the platform API through the session of the page. */
async function statusAt(page: Page, path: string, headers: Readonly<Record<string, string>> = {}): Promise<number> {
  return page.evaluate(
    async ([url, more]) => (await fetch(url, { headers: { 'tollgate-console': '1', ...more } })).status,
    [`/console/api${path}`, headers] as const,
  )
}

async function callLedger(apiKey: string, path = 'entries?n=1'): Promise<{ status: number; id: string }> {
  const answer = await request(`${service.gatewayUrl}/ledger-v1/${path}`, { headers: { 'x-api-key': apiKey } })
  await answer.body.dump()
  return { status: answer.statusCode, id: String(answer.headers['x-request-id']) }
}

/** Of the first consumer, with a delivery. */
async function createWebhook(): Promise<{ readonly webhook: string; readonly delivery: string }> {
  const { page } = await signIn(roleOf(own), 'console/webhooks?open=create')
  await page.getByLabel('URL').fill('https://hooks.example/own')
  await page.getByRole('dialog').getByRole('button', { name: 'Create webhook' }).click()
  await page
    .getByText(/whsec_/)
    .first()
    .waitFor()
  await page.getByRole('button', { name: 'I have stored the secret' }).click()
  await page.getByRole('heading', { level: 1, name: 'https://hooks.example/own' }).waitFor()
  await page.getByRole('button', { name: 'Send test event' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Send test event' }).click()
  await page.getByText('The test event is on its way.').waitFor()
  await page.reload()
  await page.getByRole('main').locator('tbody th a').first().click()
  await page.getByRole('heading', { name: 'Attempts' }).waitFor()
  const [, , , webhook = '', , delivery = ''] = new URL(page.url()).pathname.split('/')
  return { webhook, delivery }
}

describe('a person of a consumer', () => {
  it('sees six sections, and no view of the provider', async () => {
    const { page, errors } = await signIn(roleOf(own))
    const names = await page.getByRole('navigation', { name: 'Main' }).getByRole('link').allInnerTexts()
    expect(names).toEqual(['Start', 'APIs', 'Keys', 'Usage', 'Requests', 'Webhooks'])
    for (const path of ['consumers', 'settings/people', 'settings/audit', 'settings/portal']) {
      await page.goto(`${service.baseUrl}/console/${path}`)
      await page
        .getByText(/There is no such page|Your roles do not include this/)
        .first()
        .waitFor()
    }
    expect(errors).toEqual([])
  })

  it('subscribes with the keyboard alone, calls with the key, and learns why a call was refused', async () => {
    const { page, errors } = await signIn(roleOf(own))
    await goTo(page, 'a')
    await page.getByRole('heading', { level: 1, name: 'APIs' }).waitFor()
    await page.getByRole('link', { name: 'Ledger' }).waitFor()
    await openRow(page, 'Ledger')
    await page.getByText('/entries').first().waitFor()
    await page.getByRole('button', { name: 'Subscribe' }).waitFor()
    await activate(page, 'Subscribe')
    await page.getByRole('dialog').waitFor()
    await activate(page, 'Subscribe')
    await page.getByText('You are subscribed.').waitFor()
    // They are shown once, without a request of the person.
    const apiKey = await secretsOf(page).first().innerText()
    expect(apiKey).toMatch(/^tg_/)
    expect((await callLedger(apiKey)).status).toBe(200)
    const { status, id } = await callLedger(apiKey, 'nowhere')
    expect(status).toBe(404)
    await page.goto(`${service.baseUrl}/console/requests/${id}`)
    const shown = async () => {
      await page.getByRole('heading', { level: 1 }).waitFor()
      const text = await textOf(page)
      if (!text.includes('no operation')) await page.reload()
      return text
    }
    await expect.poll(shown, { timeout: 20_000, interval: 500 }).toContain('ledger-v1 has no operation at this path.')
    await page.goto(`${service.baseUrl}/console/`)
    await page.getByRole('link', { name: `why was call ${id} refused?` }).waitFor()
    await activate(page, 'All refused calls')
    await page.getByRole('link', { name: id }).waitFor()
    expect(await page.getByRole('main').locator('tbody tr').count()).toBe(1)
    // Links of views that the console and the portal share end at views of the portal.
    await activate(page, id)
    await page.getByRole('main').getByRole('link', { name: /^sub_/ }).waitFor()
    await activate(page, /^sub_/)
    await page.getByRole('button', { name: 'Reveal secrets' }).waitFor()
    await page.goto(`${service.baseUrl}/console/apis/platform-v1/documentation`)
    await page.getByRole('link', { name: '/openapi.json' }).waitFor()
    expect(errors).toEqual([])
  })

  it('rotates, revokes and cancels only its own access', async () => {
    const { page } = await signIn(roleOf(own), `console/keys/${own.subscription}`)
    await page.getByRole('button', { name: 'Rotate credentials' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate credentials' }).click()
    await page.getByText('New credentials are created.').waitFor()
    await expect.poll(() => page.getByRole('button', { name: 'Revoke credential' }).count()).toBe(2)
    expect(await secretsOf(page).count()).toBe(1)
    await page.getByRole('button', { name: 'Reveal secrets' }).click()
    await expect.poll(() => secretsOf(page).count()).toBe(2)
    const keys = await secretsOf(page).allInnerTexts()
    for (const key of keys) expect((await callLedger(key)).status).toBe(200)
    await page.getByRole('button', { name: 'Revoke credential' }).first().click()
    await page.getByRole('dialog').getByText('will be refused from now on.').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke credential' }).click()
    await page.getByText(/^tg_.* is revoked\.$/).waitFor()
    const statuses = await Promise.all(keys.map(async (key) => (await callLedger(key)).status))
    expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 401])
  })
})

describe('of another consumer, a person', () => {
  it('sees nothing: not by address, through the session, by search, nor as that consumer', async () => {
    const { webhook, delivery } = await createWebhook()
    const { page } = await signIn(roleOf(other))
    for (const path of [
      `keys/${own.subscription}`,
      `subscriptions/${own.subscription}/credentials`,
      `webhooks/${webhook}`,
      `settings/people/none`,
    ]) {
      await page.goto(`${service.baseUrl}/console/${path}`)
      await page
        .getByText(/There is no such page|Your roles do not include this/)
        .first()
        .waitFor()
      expect(await textOf(page)).not.toContain(own.subscription)
    }
    for (const path of [
      `/v1/subscriptions/${own.subscription}`,
      `/v1/subscriptions/${own.subscription}/credentials`,
      `/v1/eventsubscriptions/${webhook}`,
      `/v1/eventsubscriptions/${webhook}/deliveries`,
      `/v1/eventsubscriptions/${webhook}/deliveries/${delivery}`,
    ])
      expect([path, await statusAt(page, path)]).toEqual([path, 404])
    expect(await statusAt(page, `/v1/consumers/${own.consumer}`)).toBe(403)
    expect(await statusAt(page, '/v1/subscriptions', { 'x-consumer-id': own.consumer })).toBe(403)
    expect(await statusAt(page, '/v1/subscriptions', { 'x-consumer-id': other.consumer })).toBe(200)
    const found = await page.evaluate(
      async (ids) =>
        Promise.all(
          ids.map(async (id) => {
            const answer = await fetch(`/console/api/v1/search?q=${id}`, { headers: { 'tollgate-console': '1' } })
            return (await answer.json()) as { found: { id: string }[] }
          }),
        ),
      [own.subscription, own.consumer, 'sub_', other.subscription],
    )
    expect(found[0]).toEqual({ found: [] })
    expect(found[1]).toEqual({ found: [] })
    expect(found[2]!.found.map(({ id }) => id)).not.toContain(own.subscription)
    expect(found[3]!.found.map(({ id }) => id)).toEqual([other.subscription])
  })

  it('sees nothing with the keyboard alone: in its list, by search, by the start of a key, or by address', async () => {
    const path = `/v1/subscriptions/${own.subscription}/credentials`
    const { items } = await service.platform.get<{ items: { keyPrefix: string }[] }>(path)
    const { page, errors } = await signIn(roleOf(other))
    await goTo(page, 'k')
    await page.getByRole('heading', { name: 'Keys', level: 1 }).waitFor()
    await page.getByRole('region', { name: 'Keys' }).waitFor()
    expect(await page.content()).not.toContain(own.subscription)
    await openRow(page, 'ledger-v1')
    await page.waitForURL((url) => url.pathname.endsWith(`/keys/${other.subscription}`))
    await page.keyboard.press('Control+k')
    await page.keyboard.type(own.subscription)
    await page.getByText('Nothing begins with this.').waitFor()
    await replaceText(page, other.subscription)
    await page.getByRole('option', { name: 'ledger-v1' }).waitFor()
    await page.keyboard.press('Escape')
    await goTo(page, 'q')
    await page.getByRole('link', { name: 'Explain a refusal' }).waitFor()
    await activate(page, 'Explain a refusal')
    await enterText(page, 'Request id, token, or API key', items[0]!.keyPrefix)
    await page.keyboard.press('Enter')
    await page.getByText('No API key of yours begins so.').waitFor()
    await page.goto(`${service.baseUrl}/console/keys/${own.subscription}`)
    await page.getByText('There is no such page.').waitFor()
    expect(errors).toEqual([])
  })

  it('may act for several consumers, one at a time', async () => {
    const { page } = await signIn({ role: 'consumer', consumers: [own.consumer, other.consumer] }, 'console/keys')
    const idsOf = () =>
      page
        .getByRole('main')
        .locator('tbody th a')
        .evaluateAll((all) => all.map((each) => each.getAttribute('href')))
    await expect.poll(idsOf).toContain(`/console/keys/${own.subscription}`)
    await page.getByLabel('Consumer').selectOption(other.consumer)
    await page.getByRole('link', { name: 'Keys' }).click()
    await expect.poll(idsOf).toContain(`/console/keys/${other.subscription}`)
    expect(await idsOf()).not.toContain(`/console/keys/${own.subscription}`)
    await page.reload()
    await expect.poll(idsOf).toContain(`/console/keys/${other.subscription}`)
    expect(await idsOf()).not.toContain(`/console/keys/${own.subscription}`)
  })
})

describe('the views of the portal', () => {
  it('have no findings of axe, fit each width, and show hostile names as text', async () => {
    const { page, errors } = await signIn(roleOf(other))
    const { items } = await service.platform.get<{ items: { id: string }[] }>('/v1/products')
    const views = [
      '',
      'apis',
      'apis/products',
      'apis/ledger-v1',
      'apis/ledger-v1/documentation/listEntries',
      'apis/ledger-v1/try/listEntries',
      `apis/products/${items[0]!.id}`,
      'keys',
      ...['', '/limits', '/terms', '/approvals'].map((tab) => `keys/${other.subscription}${tab}`),
    ]
    for (const view of views) {
      await page.goto(`${service.baseUrl}/console/${view}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await expectUsable(page)
    }
    await page.goto(`${service.baseUrl}/console/apis/products`)
    await page.getByText('<img src=x onerror', { exact: false }).waitFor()
    expect(await page.title()).toBe('Products · tollgate')
    expect(errors).toEqual([])
  })
})

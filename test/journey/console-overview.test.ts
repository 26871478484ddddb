/** The overview of the console: everything that needs attention is made real, and leads to the place where it can be acted on. */

// @module-tag chromium

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, Page } from 'playwright-core'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createVisits, expectUsable, workerBrowser } from './console-visit.ts'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { createService, enrol, publish, type Enrolled, type Service, TWO_THREADS } from './service.ts'

const MINUTE = 60_000
const HOSTILE = '<script>document.title=1</script>‮evil'
const SECRET = 'journey-metrics-token-0123456789'
/** Of the limit; 80 % raise the warning. */
const DAILY = 10

let service: Service
let backend: LedgerBackend
let receiver: Server
let browser: Browser
let shop: Enrolled
let subscription = ''
let webhook = ''

beforeAll(async () => {
  backend = await startLedgerBackend()
  receiver = await startRefusing()
  const env = { REQUEST_LOG: 'all', ALLOW_PRIVATE_ADDRESSES: 'webhooks', METRICS_TOKEN: SECRET }
  service = await createService({ args: ['--empty'], env: { ...TWO_THREADS, ...env } })
  await service.start()
  await publish(service, 'ledger-v1', ledgerDocument(), backend.url)
  await useUpLimit()
  await breakBackend()
  await waitForApproval()
  await failWebhook()
  await letCredentialExpire()
  await stageRevision()
  browser = await workerBrowser()
  await vi.waitFor(async () => expect(await kinds()).toEqual([...KINDS]), { timeout: 30_000, interval: 300 })
}, 2 * MINUTE)

afterAll(async () => {
  await service.remove()
  await backend.close()
  receiver.close()
})

const { signIn } = createVisits(() => ({ service, browser }))

const KINDS = ['approval', 'backend', 'credential', 'limit', 'revision', 'risk', 'webhook'] as const

async function kinds(): Promise<readonly string[]> {
  const { items } = await service.platform.get<{ items: { kind: string }[] }>('/v1/attention')
  return [...new Set(items.map(({ kind }) => kind))].sort()
}

async function startRefusing(): Promise<Server> {
  const server = createServer((_, response) => response.writeHead(500).end())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}

async function call(api: string, apiKey: string): Promise<void> {
  const answer = await request(`${service.gatewayUrl}/${api}/entries?n=1`, { headers: { 'x-api-key': apiKey } })
  await answer.body.dump()
}

async function useUpLimit(): Promise<void> {
  const sla = { opensla: '1.0.0', info: {}, limits: [{ name: 'all', totals: { day: DAILY } }] }
  const specification = Buffer.from(JSON.stringify(sla)).toString('base64')
  await service.platform.post('/v1/openslaspecs', { api: 'ledger-v1', specification })
  shop = await enrol(service, 'ledger-v1', { name: HOSTILE })
  for (let n = 0; n < DAILY - 1; n++) await call('ledger-v1', shop.apiKey)
}

/** Nothing listens at the address of the backend any more. */
async function breakBackend(): Promise<void> {
  const gone = await startLedgerBackend()
  await publish(service, 'broken-v1', { ...ledgerDocument(), info: { title: 'broken', version: '1.0.0' } }, gone.url)
  const { apiKey } = await enrol(service, 'broken-v1', { name: 'Ada' })
  await gone.close()
  for (let n = 0; n < 12; n++) await call('broken-v1', apiKey)
}

async function waitForApproval(): Promise<void> {
  const { platform } = service
  await platform.put('/v1/apis/ledger-v1/policy', { subscriptionApproval: 'Manual' })
  await platform.post('/v1/subscriptions', { consumer: shop.consumer, api: 'ledger-v1' })
}

async function failWebhook(): Promise<void> {
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/secret-path`
  const { id } = await service.platform.post<{ id: string }>('/v1/eventsubscriptions', { url })
  await service.platform.post(`/v1/eventsubscriptions/${id}/test`, { type: 'SlaChanged' })
  webhook = id
}

async function letCredentialExpire(): Promise<void> {
  const { platform } = service
  await platform.put('/v1/apis/broken-v1/policy', { credentialLifetimeDays: 20 })
  const { id } = await platform.post<{ id: string }>('/v1/subscriptions', { consumer: shop.consumer, api: 'broken-v1' })
  subscription = id
}

async function stageRevision(): Promise<void> {
  const next = { ...ledgerDocument(), info: { title: 'ledger', version: '1.1.0' } }
  const specification = Buffer.from(JSON.stringify(next)).toString('base64')
  await service.platform.post('/v1/proxies', { api: 'ledger-v1', specification, backend: { url: backend.url } })
}

/** The rows of what needs attention: what, its place, and the places of the first of them. */
async function mattersOf(page: Page): Promise<ReadonlyMap<string, readonly string[]>> {
  const rows = page.getByRole('region', { name: 'Needs attention' }).locator('tbody tr')
  await rows.first().waitFor()
  const found = await Promise.all(
    (await rows.all()).map(async (row): Promise<[string, string[]]> => {
      const links = await row.getByRole('link').all()
      const places = await Promise.all(links.map(async (link) => String(await link.getAttribute('href'))))
      return [await row.locator('th').innerText(), places.map((place) => place.replace('/console/', ''))]
    }),
  )
  return new Map(found)
}

/** Of a read through the session of the page. */
function statusOf(page: Page, path: string): Promise<number> {
  const headers = "{ headers: { 'tollgate-console': '1' } }"
  return page.evaluate<number>(`fetch('/console/api${path}', ${headers}).then(({ status }) => status)`)
}

describe('the overview', () => {
  it('lists what needs attention, and each item leads to its place', async () => {
    const { page, errors } = await signIn('admin')
    const matters = await mattersOf(page)
    expect(matters.get('1 limit is nearly used up')?.[0]).toBe('risks/episodes?type=ApproachingLimit')
    expect(matters.get('1 backend fails')).toEqual(['apis', 'apis/broken-v1'])
    expect(matters.get('1 webhook fails')).toEqual(['webhooks', `webhooks/${webhook}`])
    expect(matters.get('1 approval waits for a decision')?.[0]).toBe('approvals')
    expect(matters.get('1 staged revision waits for activation')).toEqual(['apis/staged', 'apis/ledger-v1/revisions'])
    const expiring = [...matters].find(([name]) => /^\d credentials? expires? within 30 days$/.test(name))?.[1]
    expect(expiring).toContain(`subscriptions/${subscription}`)
    expect(await page.getByRole('main').innerText()).not.toContain('secret-path')
    await page.getByRole('link', { name: HOSTILE, exact: false }).first().waitFor()
    expect(await page.title()).toBe('Overview · tollgate')

    await page.getByRole('link', { name: /^Critical episodes$/ }).waitFor()
    for (const name of [
      'Live stream',
      'Units and money of the month',
      'Spool and pipeline',
      'Catalogue',
      'Staged revisions',
      'New APIs that do not serve yet',
      'Waiting decisions',
    ])
      await page.getByRole('navigation', { name: 'Go to' }).getByRole('link', { name, exact: true }).waitFor()
    await expectUsable(page)
    await page.getByRole('link', { name: '1 approval waits for a decision' }).click()
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.getByText('1 approval waits for a decision').waitFor({ state: 'detached' })
    expect(errors).toEqual([])
  })

  it('leads to the staged revisions, and one click further to the activation of one', async () => {
    const { page, errors } = await signIn('publisher')
    await page.getByRole('link', { name: '1 staged revision waits for activation' }).click()
    await page.getByRole('heading', { level: 1, name: 'Staged revisions' }).waitFor()
    await page.getByRole('row', { name: `ledger-v1 Revision 2 Revision 1 ${backend.url}` }).waitFor()
    await expectUsable(page)
    await page.getByRole('link', { name: 'ledger-v1' }).click()
    await page
      .getByRole('button', { name: /^Activate/ })
      .first()
      .click()
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Activate/ })
      .click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.goto(`${service.baseUrl}/console/apis/staged`)
    await page.getByText('No revision is staged.').waitFor()
    await page.getByText('tollgate proxies list --has-staging true').waitFor()
    expect(errors).toEqual([])

    const billing = await signIn('billing', 'console/apis')
    expect(await billing.page.getByRole('link', { name: 'Staged revisions' }).count()).toBe(0)
    expect(await statusOf(billing.page, '/v1/proxies?hasStaging=true')).toBe(403)
  })

  it('shows calls, errors, latency and units over time, with exact values', async () => {
    const { page } = await signIn('admin', 'console/?range=1d')
    const cursor = (title: string) => page.getByRole('slider', { name: new RegExp(`^${title}`) })
    await expect.poll(() => cursor('Calls by API').getAttribute('aria-valuetext')).toMatch(/ledger-v1 \d+ calls/)
    await cursor('Resource units by API').waitFor()
    expect(await cursor('Errors of backends').getAttribute('aria-valuetext')).toMatch(/5xx/)
    await cursor('Latency of backends').focus()
    await page.keyboard.press('End')
    expect(await cursor('Latency of backends').getAttribute('aria-valuetext')).toMatch(/p50 .*p95 .*p99/)
  })

  it('has for each person what the rights allow, and nothing else', async () => {
    const billing = await signIn('billing')
    expect([...(await mattersOf(billing.page)).keys()]).toEqual(['1 backend fails'])
    const security = await signIn('security')
    await mattersOf(security.page)
    expect(await security.page.getByText('Calls by API').count()).toBe(0)
    expect(await security.page.getByText(/approvals? waits?/).count()).toBe(0)

    const scopes = ['me:read', ...['attention', 'credentials', 'risks', 'usage'].map((name) => `${name}:read:own`)]
    await service.platform.post('/v1/subscriptions', { consumer: shop.consumer, api: 'platform-v1', scopes })
    const own = await signIn({ role: 'consumer', consumers: [shop.consumer] })
    const names = [...(await mattersOf(own.page)).keys()]
    expect(names).toContain('1 limit is nearly used up')
    expect(names.join()).not.toMatch(/backend|approval|webhook/)
    await own.page.getByRole('link', { name: 'Statement of the month' }).waitFor()
    expect(await own.page.getByRole('link', { name: 'Spool and pipeline' }).count()).toBe(0)
  })

  it('leads to a place with the keyboard alone', async () => {
    const { page } = await signIn('admin')
    await mattersOf(page)
    await page.keyboard.press('j')
    const place = await page.evaluate<string>('document.activeElement.pathname')
    await page.keyboard.press('Enter')
    await page.waitForURL((url) => url.pathname === place && place !== '/console/')
  })
})

describe('the process', () => {
  it('shows its settings without secrets, and its health', async () => {
    const { page, errors } = await signIn('admin', 'console/settings/in-force')
    const table = page.getByRole('region', { name: 'Settings in force' })
    await table.getByRole('row', { name: /^REQUEST_LOG all changed refused/ }).waitFor()
    await table.getByRole('row', { name: /^METRICS_TOKEN set, not shown/ }).waitFor()
    expect(await page.content()).not.toContain(SECRET)
    await expectUsable(page)
    await page.getByLabel('Show').selectOption('changed')
    await table.getByRole('row', { name: /^SPOOL_SYNC/ }).waitFor({ state: 'detached' })

    await page.goto(`${service.baseUrl}/console/settings/health`)
    await page.getByRole('region', { name: 'Gateway threads' }).getByRole('row', { name: '1 ready' }).waitFor()
    await page.getByText('Ready', { exact: true }).first().waitFor()
    await expectUsable(page)
    expect(errors).toEqual([])
  })

  it('is hidden from people without the right, and refused to them', async () => {
    const { page } = await signIn('publisher')
    await page.getByRole('link', { name: 'Settings' }).click()
    await page.getByRole('heading', { name: 'Settings' }).waitFor()
    for (const [path, name] of [
      ['in-force', 'Settings in force'],
      ['health', 'Health'],
    ]) {
      expect(await page.getByRole('link', { name: name! }).count()).toBe(0)
      expect(await statusOf(page, `/v1/${path === 'health' ? 'health' : 'settings'}`)).toBe(403)
      await page.goto(`${service.baseUrl}/console/settings/${path}`)
      await page.getByText('There is no such page.').waitFor()
    }
  })
})

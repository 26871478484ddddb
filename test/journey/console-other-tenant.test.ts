/** The console for the administrators of a tenant other than the operator's: every view that they see works. */

// @module-tag chromium

import type { Browser, Page, Request } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPlatformClient } from '../../src/interfaces/cli/platform-client.ts'
import { logIn } from './console-keyboard.ts'
import { createVisits, workerBrowser } from './console-visit.ts'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { createService, enrol, publish, type Service } from './service.ts'
import { invite } from './shared-client.ts'

const MINUTE = 60_000
const WAIT = { timeout: 20_000 }
const ORGANISATION = 'rival'
const TABS = [
  ...['', '/documentation', '/try', '/revisions', '/policy', '/declarations'],
  ...['/service-level', '/programme', '/findings', '/deprecation'],
]

let service: Service
/** The service as the tenant reaches it. */
let rival: Service
let backend: LedgerBackend
let browser: Browser
let pages: readonly string[]

beforeAll(async () => {
  backend = await startLedgerBackend()
  service = await createService({ args: ['--empty'], env: { ALLOW_PRIVATE_ADDRESSES: 'backends' } })
  await service.start()
  const made = await service.platform.post<{ credential: { clientId: string; clientSecret: string } }>('/v1/tenants', {
    name: ORGANISATION,
  })
  rival = { ...service, platform: createPlatformClient({ ...service, ...made.credential }) }
  await publish(rival, 'ledger-v1', ledgerDocument(), backend.url)
  const { consumer } = await enrol(rival, 'ledger-v1', { name: 'Ada' })
  const { items } = await rival.platform.get<{ items: { id: string }[] }>(`/v1/subscriptions?consumer=${consumer}`)
  pages = [
    ...TABS.map((tab) => `apis/ledger-v1${tab}`),
    `consumers/${consumer}`,
    `subscriptions/${items[0]!.id}`,
    'settings/roles/admin',
  ]
  browser = await workerBrowser()
}, MINUTE)

afterAll(async () => {
  await service.remove()
  await backend.close()
})

const { open } = createVisits(() => ({ service, browser }))

async function signIn(role: string) {
  const { username } = await invite(rival, { role })
  const visit = await open('console/')
  const refused: string[] = []
  const awaited = new Set<Request>()
  visit.page.on('request', (request) => awaited.add(request))
  visit.page.on('requestfailed', (request) => awaited.delete(request))
  visit.page.on('response', (response) => {
    awaited.delete(response.request())
    if (response.status() === 403) refused.push(new URL(response.url()).pathname)
  })
  await visit.page.getByLabel('Organisation').fill(ORGANISATION)
  await logIn(visit.page, username)
  return { ...visit, refused, awaited }
}

/** The addresses of the sections, and those of the second level, which show in the section that is open. */
async function sectionsOf(page: Page): Promise<readonly string[]> {
  const links = page.getByRole('navigation', { name: 'Main' }).getByRole('link')
  const hrefs = (): Promise<string[]> =>
    links.evaluateAll((each) => each.map((link) => (link as unknown as { href: string }).href))
  const found = new Set<string>()
  for (const section of await hrefs()) {
    await page.goto(section)
    await page.getByRole('heading', { level: 1 }).first().waitFor()
    for (const each of await hrefs()) found.add(each)
  }
  return [...found]
}

describe('a person of another tenant', () => {
  it.each(['admin', 'owner'])('sees no view that the API refuses as %s', { timeout: 3 * MINUTE }, async (role) => {
    const { page, refused, awaited, errors } = await signIn(role)
    const sections = await sectionsOf(page)
    expect(sections.length).toBeGreaterThan(25)
    for (const view of [...sections, ...pages.map((each) => `${service.baseUrl}/console/${each}`)]) {
      awaited.clear()
      // As a link does it, without a new start of the console.
      await page.evaluate(
        `history.pushState(null, '', ${JSON.stringify(view)}); dispatchEvent(new PopStateEvent('popstate'))`,
      )
      await page.getByRole('heading', { level: 1 }).waitFor()
      await expect.poll(async () => awaited.size + (await page.locator('.skeleton').count()), WAIT).toBe(0)
      expect([view, await page.getByText(/There is no such page|Your roles do not include this/).count()]).toEqual([
        view,
        0,
      ])
    }
    expect(refused).toEqual([])
    expect(errors).toEqual([])
  })

  it.each(['admin', 'owner'])('finds nothing of the process as %s', async (role) => {
    const { page } = await signIn(role)
    await page.getByRole('link', { name: 'Critical episodes' }).waitFor()
    expect(await page.getByRole('link', { name: 'Spool and pipeline' }).count()).toBe(0)
    await page.keyboard.press('g')
    await page.keyboard.press('t')
    await page.getByRole('link', { name: 'Audit log' }).first().waitFor()
    for (const [path, name] of [
      ['in-force', 'Settings in force'],
      ['health', 'Health'],
      ['signing-keys', 'Signing keys'],
      ['organisations', 'Organisations'],
    ] as const) {
      expect(await page.getByRole('link', { name, exact: true }).count()).toBe(0)
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox', { name: 'Search' }).fill(name)
      await page.getByText('Nothing begins with this.').waitFor()
      await page.keyboard.press('Escape')
      await page.goto(`${service.baseUrl}/console/settings/${path}`)
      await page.getByText('There is no such page.').waitFor()
    }
  })
})

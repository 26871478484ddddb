/** Addresses of the console that nobody links to, typed or forged: every one of them shows a page. */

// @module-tag chromium

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createVisits, workerBrowser } from './console-visit.ts'
import { createService, type Service } from './service.ts'

const MINUTE = 60_000
const VIEWS = [
  ...['risks', 'apis', 'products', 'consumers', 'subscriptions', 'requests', 'usage', 'webhooks'],
  ...['governance', 'governance/adrs', 'governance/principles', 'governance/programmes', 'governance/rulesets'],
  ...['settings', 'settings/people', 'settings/roles', 'settings/identity-providers', ''],
]
const ODD_QUERIES = ['usage?range=__proto__', 'usage?range=constructor', '?sign-in=__proto__', 'apis?state=constructor']
const ODD = ['%', '%ff', '%2e%2e%2f%2e%2e', '__proto__', 'constructor', `${'x'.repeat(4_000)}`, 'a/b/c/d', '%00']

let service: Service
let browser: Browser

beforeAll(async () => {
  service = await createService({ args: ['--empty'] })
  await service.start()
  browser = await workerBrowser()
}, MINUTE)

afterAll(async () => {
  await service.remove()
})

const { signIn } = createVisits(() => ({ service, browser }))

it('shows a page for every odd address, and nothing fails', { timeout: 3 * MINUTE }, async () => {
  const { page, errors } = await signIn('admin', 'console/')
  const addresses = [...ODD.flatMap((odd) => VIEWS.map((view) => `${view}/${odd}`)), ...ODD_QUERIES]
  for (const path of addresses) {
    // Within the page, as a link would do it: a load of the page for each would test the server again and again.
    const address = `/console/${path}`.replace('//', '/')
    await page.evaluate(
      `history.pushState(null, '', ${JSON.stringify(address)}); dispatchEvent(new PopStateEvent('popstate'))`,
    )
    await page.locator('main h1').first().waitFor()
    expect({ address, errors }).toEqual({ address, errors: [] })
  }
})

it('shows a page for an odd address that is loaded', async () => {
  const { page, errors } = await signIn('admin', 'console/')
  for (const address of ['consumers/%', 'settings/%ff/%', 'apis/%/%', 'subscriptions/%00']) {
    const response = await page.goto(`${service.baseUrl}/console/${address}`)
    expect(response?.status()).toBeLessThan(500)
    if (response?.headers()['content-type']?.startsWith('text/html')) await page.locator('main h1').first().waitFor()
  }
  expect(errors).toEqual([])
})

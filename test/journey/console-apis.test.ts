/** People publish, read, try, replace and end APIs in a real browser. */
// @module-tag chromium

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Browser, Page } from 'playwright-core'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { activate, choose, enterText, goTo, openRow, tabTo } from './console-keyboard.ts'
import { createVisits, expectUsable, workerBrowser } from './console-visit.ts'
import { hostileDocument, HOSTILE } from './hostile-document.ts'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { startLoad } from './load.ts'
import { createService, enrol, publish, type Service } from './service.ts'

const MINUTE = 60_000
const CURL = { timeout: MINUTE, tags: ['curl'] }
const NAME = 'Mobile <img src=x onerror=hacked=1>'
let service: Service
let blue: LedgerBackend
let green: LedgerBackend
let browser: Browser

beforeAll(async () => {
  ;[blue, green] = await Promise.all([startLedgerBackend('blue'), startLedgerBackend('green')])
  service = await createService({ args: ['--empty'], env: { REQUEST_LOG: 'all' } })
  await service.start()
  browser = await workerBrowser()
}, MINUTE)

afterAll(async () => {
  await service.remove()
  await Promise.all([blue.close(), green.close()])
})

const { signIn } = createVisits(() => ({ service, browser }))

/** Pastes a document into the editor of the form. */
async function paste(page: Page, document: object): Promise<void> {
  await page.getByRole('textbox', { name: 'OpenAPI document' }).fill(JSON.stringify(document, null, 1))
}

async function stage(document: object, backend: string): Promise<void> {
  const specification = Buffer.from(JSON.stringify(document)).toString('base64')
  await service.platform.post('/v1/proxies', { api: 'ledger-v1', specification, backend: { url: backend } })
}

const shopDocument = (): object => ({ ...ledgerDocument(), info: { title: 'Shop', version: '1.0.0' } })

async function servingVersion(): Promise<string> {
  const { version } = await service.platform.get<{ version: string }>('/v1/apis/ledger-v1')
  return version
}

describe('a person who publishes', () => {
  it('goes from an empty service to the first call, with the console and with curl', CURL, async () => {
    const { page, errors } = await signIn('owner', 'console/apis')
    await page.getByRole('link', { name: 'Publish an API' }).click()
    await page.getByRole('heading', { name: 'Publish an API' }).waitFor()
    await paste(page, { ...shopDocument(), paths: 'nothing' })
    await page.getByRole('button', { name: 'Check document' }).click()
    await page.getByText('It cannot be served.').waitFor()
    await paste(page, shopDocument())
    expect(await page.getByLabel('Name').inputValue()).toBe('shop-v1')
    await page.getByLabel('Backend URL').fill(blue.url)
    await page.getByRole('button', { name: 'Check document' }).click()
    await page.getByText(/^The document scores \d/).waitFor()
    await expectUsable(page)
    await page.getByRole('button', { name: 'Publish API' }).click()
    await page.getByText('The API serves. Make the first call now.').waitFor()
    await expectUsable(page)

    await page.getByRole('link', { name: 'Try it here, in your name' }).click()
    await page.getByRole('link', { name: /listEntries|\/entries/ }).click()
    await page.getByLabel('n (in the query)').fill('first call')
    await page.getByRole('button', { name: 'Send call' }).click()
    await page.getByRole('button', { name: 'Subscribe and send call' }).click()
    await page.getByRole('heading', { name: 'Status 200' }).waitFor()
    expect(await page.getByLabel('Body of the answer').innerText()).toContain('"answer": "blue"')
    expect(blue.seen.get('first call')).toBe(1)
    await expectUsable(page)

    const { apiKey } = await enrol(service, 'shop-v1', { name: 'Shop' })
    await page.getByRole('link', { name: 'Overview' }).last().click()
    const line = await page.getByRole('region', { name: 'Make a call' }).locator('pre').innerText()
    const command = line.replace('KEY', apiKey).replace('…', 'entries?n=curl')
    const { stdout } = await promisify(execFile)('sh', ['-c', `${command} --silent`])
    expect(stdout).toContain('"n":"curl"')
    expect(errors).toEqual([])
  })

  it('sees why a document is refused, at its line', async () => {
    const { page } = await signIn('publisher', 'console/apis/new')
    await page.getByRole('heading', { name: 'Publish an API' }).waitFor()
    await paste(page, { ...shopDocument(), paths: { '/a': { get: { responses: 5 } } } })
    await page.getByRole('button', { name: 'Publish API' }).click()
    await page.getByRole('alert').waitFor()
    await page
      .getByRole('button', { name: /^Line \d+$/ })
      .first()
      .waitFor()
    await page.locator('.cm-lint-marker-error').first().waitFor()
  })
})

describe('revisions', () => {
  beforeAll(async () => {
    await publish(service, 'ledger-v1', ledgerDocument(), blue.url)
  })

  it('are activated and rolled back under load, and no call is dropped', async () => {
    const load = startLoad(service, [await enrol(service, 'ledger-v1', { name: 'Load' })])
    const { page, errors } = await signIn('publisher', 'console/apis/ledger-v1/revisions')
    await page.getByRole('link', { name: 'Stage a revision' }).click()
    await paste(page, ledgerDocument('1.1.0'))
    await page.getByLabel('Backend URL').fill(green.url)
    await page.getByRole('button', { name: 'Stage revision' }).click()
    await page.getByText('Nothing differs for callers.').waitFor()
    await expectUsable(page)
    await page.getByRole('button', { name: 'Activate revision 2' }).click()
    await page.getByRole('dialog').getByText('No call is dropped.').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Activate revision 2' }).click()
    await page.getByText('Revision 2 serves.').waitFor()
    expect(await servingVersion()).toBe('1.1.0')
    const { whole } = load.tallies[0]!
    await load.reached(whole + 50)
    const before = green.seen.size
    expect(before).toBeGreaterThan(0)
    await page.getByRole('button', { name: 'Roll back to revision 1' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Roll back to revision 1' }).click()
    await page.getByText('The document of revision 1 serves again.').waitFor()
    expect(await servingVersion()).toBe('1.0.0')
    await load.reached(load.tallies[0]!.whole + 50)
    await load.stop()
    await page.getByRole('button', { name: 'Undo' }).last().click()
    await page.getByText('The change is undone.').waitFor()
    expect(await servingVersion()).toBe('1.1.0')
    expect(errors).toEqual([])
  })

  it('show the changes that break callers', async () => {
    const { page } = await signIn('publisher', 'console/apis/ledger-v1/revisions/new')
    const [path] = Object.keys((ledgerDocument() as { paths: object }).paths)
    await page.getByRole('textbox', { name: 'OpenAPI document' }).waitFor()
    await paste(page, {
      ...ledgerDocument('1.2.0'),
      paths: { [`${path}-renamed`]: { get: { responses: { 200: { description: 'ok' } } } } },
    })
    await page.getByRole('button', { name: 'Check document' }).click()
    await page.getByText(/changes? for callers, \d+ breaking\./).waitFor()
    await page
      .getByText(/Breaking$/)
      .first()
      .waitFor()
  })

  it('are activated under load with the keyboard alone, and no call is dropped', async () => {
    await stage(ledgerDocument('1.3.0'), blue.url)
    const load = startLoad(service, [await enrol(service, 'ledger-v1', { name: 'Load' })])
    const { page, errors } = await signIn('publisher')
    await goTo(page, 'a')
    await page.getByRole('link', { name: 'ledger-v1' }).waitFor()
    await openRow(page, 'ledger-v1')
    await page.getByRole('heading', { name: 'ledger-v1' }).waitFor()
    await activate(page, 'Revisions')
    await page.getByRole('button', { name: /^Activate revision/ }).waitFor()
    await activate(page, /^Activate revision/)
    await page.getByRole('dialog').getByText('No call is dropped.').waitFor()
    await activate(page, /^Activate revision/)
    await page.getByText(/^Revision \d+ serves\.$/).waitFor()
    expect(await servingVersion()).toBe('1.3.0')
    await load.reached(load.tallies[0]!.whole + 50)
    await load.stop()
    // The button that opened the dialog is gone.
    await page.getByRole('button', { name: /^Activate revision/ }).waitFor({ state: 'detached' })
    await page.locator(':focus:not(body)').waitFor()
    expect(errors).toEqual([])
  })

  it('serve chosen consumers as a canary, then a share, then all callers', async () => {
    await stage(ledgerDocument('1.4.0'), green.url)
    const { consumer, apiKey } = await enrol(service, 'ledger-v1', { name: NAME })
    const canary = async () => {
      const { items } = await service.platform.get<{ items: { canary: object | null }[] }>('/v1/proxies?api=ledger-v1')
      return items[0]!.canary
    }
    const { page, errors } = await signIn('publisher', 'console/apis/ledger-v1/revisions')
    await activate(page, /^Begin a canary/)
    const dialog = page.getByRole('dialog')
    await choose(page, 'Callers', 'Chosen')
    await dialog.getByText('Choose at least one consumer.').waitFor()
    await enterText(page, 'Find consumers', 'mobile')
    await dialog.getByLabel(NAME).waitFor()
    await tabTo(page, new RegExp(`^${NAME}`))
    await page.keyboard.press('Space')
    await dialog.getByText(`will serve the calls of ${NAME}, and revision`, { exact: false }).waitFor()
    await expectUsable(page)
    await activate(page, /^Begin a canary/)
    await page.getByText('serves as a canary.').waitFor()
    expect(await canary()).toMatchObject({ consumers: [consumer] })

    const levels = page.getByRole('region', { name: 'Canary and active revision' })
    await levels.getByRole('row', { name: /Canary 0 not measured/ }).waitFor()
    const call = () => fetch(`${service.gatewayUrl}/ledger-v1/entries`, { headers: { 'x-api-key': apiKey } })
    await Promise.all([call(), call(), call()])
    // Without a reload.
    await levels.getByRole('row', { name: /Canary 3 0 % \(0\) 0 .* ms/ }).waitFor({ timeout: MINUTE / 2 })
    await page.getByRole('button', { name: 'Change the canary' }).click()
    await dialog.getByText('serves 1 consumer as a canary', { exact: false }).waitFor()
    await dialog.getByLabel('Callers').selectOption('percent')
    await dialog.getByLabel('Share in percent').fill('100')
    await dialog.getByRole('button', { name: 'Change the canary' }).click()
    await dialog.getByText('must be <= 99').waitFor()
    await dialog.getByLabel('Share in percent').fill('50')
    await dialog.getByText('will serve 50 % of the subscriptions', { exact: false }).waitFor()
    await dialog.getByRole('button', { name: 'Change the canary' }).click()
    await expect.poll(canary).toMatchObject({ percent: 50 })
    await page.getByRole('button', { name: 'Undo' }).last().click()
    await expect.poll(canary).toMatchObject({ consumers: [consumer] })

    await page.getByRole('button', { name: /^Activate revision/ }).click()
    await dialog.getByRole('button', { name: /^Activate revision/ }).click()
    await page.getByText(/^Revision \d+ serves\.$/).waitFor()
    expect(await canary()).toBeNull()
    expect(await page.evaluate('window.hacked')).toBeUndefined()
    expect(errors).toEqual([])
  })
})

describe('the page of an API', () => {
  it('offers only what the roles include, and the service refuses the rest', async () => {
    const { page, errors } = await signIn('billing', 'console/apis')
    await page.getByRole('link', { name: 'shop-v1' }).waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('Ledger')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'shop-v1' }).waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'ledger-v1' }).click()
    await page.getByRole('heading', { name: 'ledger-v1' }).waitFor()
    const tabs = await page.getByRole('navigation', { name: 'Parts of ledger-v1' }).getByRole('link').allInnerTexts()
    expect(tabs).toEqual(expect.arrayContaining(['Overview', 'Deprecation']))
    expect(tabs).not.toContain('Revisions')
    expect(await page.getByRole('link', { name: 'Publish an API' }).count()).toBe(0)
    const status = await page.evaluate(async () => {
      const headers = { 'tollgate-console': '1', 'content-type': 'application/json' }
      const body = JSON.stringify({ retirementDate: '2099-01-01T00:00:00Z' })
      const answer = await fetch('/console/api/v1/apis/ledger-v1/deprecate', { method: 'POST', headers, body })
      return answer.status
    })
    expect(status).toBe(403)
    await page.getByRole('link', { name: 'Deprecation' }).click()
    await page.getByText('The API is active.', { exact: false }).waitFor()
    expect(await page.getByRole('button', { name: 'Deprecate API' }).count()).toBe(0)
    expect(errors).toEqual([])
  })

  it('shows a hostile document as text, in every view', async () => {
    await publish(service, 'hostile-v1', hostileDocument(), blue.url)
    const { page, errors } = await signIn('admin', 'console/apis')
    await page.getByRole('link', { name: 'hostile-v1' }).waitFor()
    await expectUsable(page)
    for (const path of ['', '/documentation', '/documentation/hostile', '/try/hostile', '/revisions', '/deprecation']) {
      await page.goto(`${service.baseUrl}/console/apis/hostile-v1${path}`)
      await page.getByRole('heading', { name: 'hostile-v1' }).waitFor()
      if (path.endsWith('/hostile')) await page.getByText(HOSTILE.slice(0, 20)).first().waitFor()
      for (const summary of await page.locator('article summary').all()) await summary.click()
      await expectUsable(page)
    }
    expect(await page.evaluate('[window.hacked, document.querySelectorAll("main img, main script").length]')).toEqual([
      undefined,
      0,
    ])
    expect(errors).toEqual([])
  })

  it('leads from deprecation to retirement, and shows who still uses the API', async () => {
    await enrol(service, 'hostile-v1', { name: 'Left behind' })
    const { page, errors } = await signIn('admin', 'console/apis/hostile-v1/deprecation')
    await page.getByRole('button', { name: 'Deprecate API' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Retires at').fill('2099-01-01T00:00')
    await dialog.getByLabel('Successor').fill('nowhere-v9')
    await dialog.getByRole('button', { name: 'Deprecate API' }).click()
    await dialog.getByRole('alert').waitFor()
    await dialog.getByLabel('Successor').fill('ledger-v1')
    await dialog.getByRole('button', { name: 'Deprecate API' }).click()
    await page.getByText('The API is deprecated.', { exact: false }).waitFor()
    await page.getByText('Left behind').waitFor()
    await expectUsable(page)
    await page.getByRole('button', { name: 'Retire API' }).click()
    await dialog.getByText('Active subscriptions remain', { exact: false }).waitFor()
    await dialog.getByRole('button', { name: 'Retire API and refuse its calls' }).click()
    await page.getByText('The API is retired.', { exact: false }).waitFor()
    const gone = await request(`${service.gatewayUrl}/hostile-v1/things`)
    await gone.body.dump()
    expect(gone.statusCode).toBe(410)
    expect(errors).toEqual([])
  })
})

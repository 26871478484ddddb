/** Publishers edit declarations, policies, rulesets and programmes in a browser, and the gateway enforces them. */
// @module-tag chromium

import type { Page } from 'playwright-core'
import { request } from 'undici'
import { describe, expect, it } from 'vitest'
import { activate, enterText, goTo, openRow, replaceText } from './console-keyboard.ts'
import { expectUsable } from './console-visit.ts'
import { useConsole } from './console-stage.ts'
import { ledgerDocument, type LedgerBackend } from './ledger-backend.ts'
import { enrol, type Enrolled, type Service } from './service.ts'

const DECLARATIONS = 'console/apis/ledger-v1/declarations'
let service: Service
let backend: LedgerBackend
let caller: Enrolled

const { signIn } = useConsole({}, async (stage) => {
  ;({ service, backend } = stage)
  caller = await enrol(service, 'ledger-v1')
})

/** Returns the statuses of calls, one after another. */
async function call(times: number): Promise<readonly number[]> {
  const statuses: number[] = []
  for (let n = 0; n < times; n++) {
    const headers = { 'x-api-key': caller.apiKey }
    const { statusCode, body } = await request(`${service.gatewayUrl}/ledger-v1/entries?n=1`, { headers })
    await body.dump()
    statuses.push(statusCode)
  }
  return statuses
}

function declaration(name: string, total: string): string {
  return `opensla: 1.0.0\nlimits:\n  - name: ${name}\n    totals: { day: ${total} }\n`
}

async function edit(page: Page, label: string, text: string): Promise<void> {
  await page.getByRole('textbox', { name: label }).click()
  await replaceText(page, text)
}

describe('a declaration that is edited in the browser', () => {
  it('shows a mistake at its line, then the plan in words, and limits calls at once', async () => {
    const { page, errors } = await signIn('publisher', DECLARATIONS)
    await page.getByText('Nothing is declared', { exact: false }).waitFor()
    await page.getByRole('link', { name: 'New declaration' }).click()
    await page.getByText('At most 100 calls a minute per subscription', { exact: false }).waitFor()
    await edit(page, 'OpenSLA document', declaration('few', 'many'))
    await page.getByText('The document has errors', { exact: false }).waitFor()
    const marked = page.locator('.cm-line', { has: page.locator('.cm-lintRange-error') })
    expect(await marked.allInnerTexts()).toEqual(['    totals: { day: many }'])
    expect(await page.getByRole('listitem').filter({ hasText: 'line 4:' }).count()).toBe(1)
    expect(await page.getByRole('button', { name: 'Review and activate' }).isDisabled()).toBe(true)

    await edit(page, 'OpenSLA document', declaration('few', '3'))
    await page.getByText('At most 3 calls per calendar day (UTC) and subscription', { exact: false }).waitFor()
    await page.getByRole('button', { name: 'Review and activate' }).click()
    await page.getByText('It takes effect at once on every call of the default tier', { exact: false }).waitFor()
    await page.getByRole('button', { name: 'Activate declaration' }).click()
    await page.getByText('The declaration of ledger-v1 is in force.').waitFor()
    await page.getByRole('rowheader', { name: 'Default tier' }).waitFor()
    expect(await call(4)).toEqual([200, 200, 200, 429])
    expect(errors).toEqual([])
  })

  it('is refused if somebody else has declared since it was opened, and keeps the text', async () => {
    const { page } = await signIn('publisher', `${DECLARATIONS}?declaration=new`)
    await page.getByText('At most 100 calls a minute per subscription', { exact: false }).waitFor()
    const specification = Buffer.from(declaration('few', '3')).toString('base64')
    await service.platform.post('/v1/openslaspecs', { api: 'ledger-v1', specification })
    await edit(page, 'OpenSLA document', declaration('few', '9'))
    await page.getByText('At most 9 calls per calendar day', { exact: false }).waitFor()
    await page.getByRole('button', { name: 'Review and activate' }).click()
    await page.getByRole('button', { name: 'Activate declaration' }).click()
    await page.getByRole('alert').getByText('The resource has changed', { exact: false }).waitFor()
    await page.getByText('At most 9 calls per calendar day', { exact: false }).waitFor()
    const { items } = await service.platform.get<{ items: object[] }>('/v1/openslaspecs?api=ledger-v1&inForce=false')
    expect(items).toHaveLength(1)
  })

  it('is replaced with the keyboard alone, and the earlier one returns with undo', async () => {
    const { page, errors } = await signIn('publisher')
    await goTo(page, 'a')
    await page.getByRole('link', { name: 'ledger-v1' }).waitFor()
    await openRow(page, 'ledger-v1')
    await page.getByRole('link', { name: 'Declarations' }).waitFor()
    await activate(page, 'Declarations')
    await page.getByRole('rowheader', { name: 'Default tier' }).waitFor()
    await openRow(page, 'Default tier')
    await page.getByText('At most 3 calls per calendar day', { exact: false }).waitFor()
    await enterText(page, 'OpenSLA document', declaration('other', '2'))
    await page.getByText('At most 2 calls per calendar day', { exact: false }).waitFor()
    await activate(page, 'Review and activate')
    await page.getByRole('dialog').waitFor()
    await activate(page, 'Activate declaration')
    await page.getByText('The declaration of ledger-v1 is in force.').waitFor()
    const limits = async () =>
      (
        await service.platform.get<{ items: readonly { limits: object[] }[] }>(
          `/v1/subscriptions/${caller.subscription}/operations`,
        )
      ).items[0]?.limits
    expect(await limits()).toMatchObject([{ name: 'other', value: 2 }])
    await activate(page, 'Undo')
    await page.getByText('The change is undone.').waitFor()
    expect(await limits()).toMatchObject([{ name: 'few', value: 3 }])
    expect(errors).toEqual([])
  })
})

describe('the policy of an API', () => {
  const PATH = '/v1/apis/ledger-v1/policy'

  it('keeps the text of a person when somebody else has changed it in between', async () => {
    const { page, errors } = await signIn('publisher', 'console/apis/ledger-v1/policy')
    await page.getByLabel('Lifetime of credentials, in days').fill('30')
    await service.platform.put(PATH, { subscriptionApproval: 'Manual' })
    await page.getByRole('button', { name: 'Review the change' }).click()
    await page.getByRole('button', { name: 'Save policy' }).click()
    await page.getByText('Somebody else has changed this in the meantime.', { exact: false }).waitFor()
    expect(await page.getByLabel('Lifetime of credentials, in days').inputValue()).toBe('30')
    expect(await service.platform.get(PATH)).toMatchObject({ credentialLifetimeDays: 365 })

    await page.getByLabel('Subscriptions').selectOption('Manual')
    await page.getByRole('button', { name: 'Review the change' }).click()
    // The difference to the newer version: only the lifetime.
    const changed = page.getByRole('dialog').locator('.cm-changedLine')
    await changed.first().waitFor()
    expect((await changed.allInnerTexts()).join()).not.toContain('subscriptionApproval')
    await page.getByRole('button', { name: 'Save policy' }).click()
    await page.getByText('The policy of ledger-v1 is saved.').waitFor()
    expect(await service.platform.get(PATH)).toMatchObject({
      ...{ subscriptionApproval: 'Manual', credentialLifetimeDays: 30 },
    })
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('The change is undone.').waitFor()
    expect(await service.platform.get(PATH)).toMatchObject({ credentialLifetimeDays: 365 })
    expect(errors).toEqual([])
  })

  it('lets pages of listed origins call, and refuses what is no origin beside its field', async () => {
    const { page, errors } = await signIn('publisher', 'console/apis/ledger-v1/policy')
    const save = async (): Promise<void> => {
      await page.getByRole('button', { name: 'Review the change' }).click()
      await page.getByRole('button', { name: 'Save policy' }).click()
    }
    await page.getByRole('combobox', { name: 'Origins' }).selectOption('listed')
    await page.getByLabel('Listed origins').fill('https://app.example\nhttps://b.example/<img/src=x>')
    await save()
    await page.getByRole('dialog').getByRole('alert').waitFor()
    await page.keyboard.press('Escape')
    const field = page.getByLabel('Listed origins')
    await page
      .getByRole('group', { name: /^Pages of other origins/ })
      .getByRole('alert')
      .waitFor()
    expect(await field.getAttribute('aria-invalid')).toBe('true')
    await expectUsable(page)
    await field.fill('https://app.example\n')
    await field.press('Enter')
    // An empty line stays while a person types.
    expect(await field.inputValue()).toBe('https://app.example\n\n')
    await page.getByLabel('Request headers').fill('X-Shop')
    await page.getByLabel('Pages may send cookies').check()
    await page.getByLabel('Maximum age, in seconds').fill('60')
    await save()
    await page.getByText('The policy of ledger-v1 is saved.').waitFor()
    const { headers } = await request(`${service.gatewayUrl}/ledger-v1/entries`, {
      method: 'OPTIONS',
      headers: { origin: 'https://app.example', 'access-control-request-method': 'GET' },
    })
    expect(headers).toMatchObject({
      'access-control-allow-origin': 'https://app.example',
      'access-control-allow-credentials': 'true',
      'access-control-max-age': '60',
    })
    await page.getByRole('combobox', { name: 'Origins' }).selectOption('document')
    await save()
    await expect.poll(() => service.platform.get(PATH)).toMatchObject({ cors: null })
    expect(errors).toEqual([])
  })

  it('is refused at its line in the document, and shown as text', async () => {
    const { page } = await signIn('publisher', 'console/apis/ledger-v1/policy?as=text')
    await edit(page, 'Policy of ledger-v1', '{\n  "exposure": "Public",\n  "credentialLifetimeDays": 0\n}')
    await page.getByRole('button', { name: 'Review the change' }).click()
    await page.getByRole('button', { name: 'Save policy' }).click()
    await page.getByRole('dialog').getByRole('alert').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('listitem').filter({ hasText: 'line 3:' }).waitFor()
    await edit(page, 'Policy of ledger-v1', '{ no JSON')
    await page.getByText('This is not JSON', { exact: false }).waitFor()
  })
})

describe('a programme', () => {
  it('is started, waits, and shows its steps live when somebody else approves it', async () => {
    const approval = { minScore: 100, allowErrors: false, allowBreaking: false, exposures: [] }
    await service.platform.put('/v1/policy', { approval })
    const { page, errors } = await signIn('publisher', 'console/governance/programmes')
    await page.getByRole('link', { name: 'Start programme' }).click()
    await page.getByLabel('Name').fill('Books')
    await page.getByLabel('Backend (URL)').fill(backend.url)
    await edit(page, 'OpenAPI document', JSON.stringify(ledgerDocument()).replaceAll('Ledger', 'Books'))
    await page.getByRole('button', { name: 'Start programme' }).click()
    await page.getByText('The programme waits for a decision', { exact: false }).waitFor()

    const other = await signIn('admin', new URL(page.url()).pathname.slice(1))
    await other.page.getByLabel('Comment').fill('Seen')
    await other.page.getByRole('button', { name: 'Approve programme' }).click()
    await other.page.getByText('The programme is approved and continues.').waitFor()
    await page.getByText('Succeeded', { exact: true }).waitFor()
    expect(await page.locator('.steps > li[data-status="done"]').count()).toBe(8)
    await page.getByRole('link', { name: 'books-v1' }).click()
    await page.getByRole('link', { name: 'Programme', exact: true }).click()
    await page.getByText('Succeeded', { exact: true }).waitFor()
    expect(errors).toEqual([])
  })

  it('shows at which line of the document a step failed, and is retried', async () => {
    const specification = Buffer.from('openapi: 3.1.0').toString('base64')
    const { id } = await service.platform.post<{ id: string }>('/v1/programmes', { name: 'Empty', specification })
    const { page } = await signIn('publisher', `console/governance/programmes/${id}`)
    await page.getByText("The value must have required property 'info'.", { exact: false }).waitFor()
    await page.getByRole('button', { name: 'Retry the failed step' }).click()
    await page.getByText('The programme continues with the failed step.').waitFor()
  })
})

describe('a ruleset', () => {
  it('is created, refused at the line of a fault, changed and deleted', async () => {
    const { page, errors } = await signIn('admin', 'console/governance/rulesets')
    await page.getByRole('link', { name: 'Create ruleset' }).click()
    await edit(page, 'Ruleset', '{\n  "description": "House",\n  "rules": {\n    "info-contact": "loud"\n  }\n}')
    await page.getByRole('button', { name: 'Review the change' }).click()
    await page.getByRole('button', { name: 'Create ruleset' }).click()
    await page.getByRole('dialog').getByRole('alert').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('listitem').filter({ hasText: 'line 4:' }).waitFor()
    await edit(page, 'Ruleset', '{\n  "description": "House",\n  "rules": { "info-contact": "off" }\n}')
    await page.getByRole('button', { name: 'Review the change' }).click()
    await page.getByRole('button', { name: 'Create ruleset' }).click()
    await page.getByRole('heading', { name: 'House', level: 1 }).waitFor()
    const id = new URL(page.url()).pathname.split('/').at(-1)!
    expect(await service.platform.get(`/v1/rulesets/${id}`)).toMatchObject({ rules: { 'info-contact': 'off' } })
    await page.getByRole('button', { name: 'Delete ruleset' }).click()
    await page.getByText(`The ruleset ${id} and its rules are deleted for good.`).waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete ruleset' }).click()
    await page.getByText('The ruleset is deleted.').waitFor()
    expect(await service.platform.get('/v1/rulesets')).toMatchObject({ items: [] })
    expect(errors).toEqual([])
  })
})

describe('a person who may only read', () => {
  it('sees the documents and no action, and the API refuses changes', async () => {
    const { page, errors } = await signIn('auditor', DECLARATIONS)
    await page.getByRole('link', { name: 'Default tier' }).first().waitFor()
    expect(await page.getByRole('link', { name: 'New declaration' }).count()).toBe(0)
    await page.getByRole('link', { name: 'Default tier' }).first().click()
    await page.getByText('At most', { exact: false }).first().waitFor()
    for (const path of [
      'apis/ledger-v1/policy',
      'governance/policy',
      'governance/rulesets',
      'governance/adrs',
      'products',
    ]) {
      await page.goto(`${service.baseUrl}/console/${path}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      expect(
        await page
          .getByRole('main')
          .getByRole('button', { name: /Review|Create|Delete|Save/ })
          .count(),
      ).toBe(0)
    }
    const refused = await page.evaluate(async () => {
      const headers = { 'tollgate-console': '1', 'content-type': 'application/json' }
      const body = JSON.stringify({ api: 'ledger-v1', specification: 'YQ==' })
      const paths = ['openslaspecs', 'openslaspecs/validate']
      const send = async (path: string) =>
        (await fetch(`/console/api/v1/${path}`, { method: 'POST', headers, body })).status
      return Promise.all(paths.map(send))
    })
    expect(refused).toEqual([403, 403])
    expect(errors).toEqual([])
  })
})

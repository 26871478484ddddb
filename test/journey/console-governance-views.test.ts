/** The views of governance, products and the rules of an API: usable at every width, and safe with texts of any kind. */

// @module-tag chromium

import { request } from 'undici'
import { expect, it } from 'vitest'
import { hostileCertificate, HOSTILE_SUBJECT } from '../fixtures/hostile-certificate.ts'
import { useConsole } from './console-stage.ts'
import { activate, enterText } from './console-keyboard.ts'
import { expectUsable } from './console-visit.ts'
import { ledgerDocument } from './ledger-backend.ts'
import { enrol, type Service } from './service.ts'

const MINUTE = 60_000
const HOSTILE = '<img src=x onerror="document.title=1">\u202eevil'
const SECRET = 'never-shown-0123456789'
const LONG = `${HOSTILE} ${'x'.repeat(10_000)}`
let service: Service
/** The views, by the text that shows that each is complete. */
const views: [path: string, text: string][] = []

const toBase64 = (text: string): string => Buffer.from(text).toString('base64')
const create = async (path: string, body: object): Promise<string> =>
  (await service.platform.post<{ id: string }>(path, body)).id

const { signIn } = useConsole({ document: wordyDocument() }, async (stage) => {
  ;({ service } = stage)
  const { apiKey } = await enrol(service, 'ledger-v1')
  const answer = await request(`${service.gatewayUrl}/ledger-v1/entries?n=1`, { headers: { 'x-api-key': apiKey } })
  await answer.body.dump()
  const declaration = {
    opensla: '1.0.0',
    info: { title: HOSTILE, variant: HOSTILE, version: HOSTILE },
    limits: [{ name: HOSTILE, totals: { day: 4_000 }, concurrent: 0 }],
    quotas: { period: 'Monthly', resourceUnits: 500 },
    price: { currency: 'EUR', perUnit: '0.004' },
    runtime: [{ name: HOSTILE, availability: 99 }],
    [HOSTILE]: 1,
  }
  const api = 'apis/ledger-v1'
  const sla = await create('/v1/openslaspecs', {
    api: 'ledger-v1',
    specification: toBase64(JSON.stringify(declaration, null, 2)),
  })
  const programme = await create('/v1/programmes', { name: HOSTILE, specification: toBase64(`openapi: "${LONG}"`) })
  const ruleset = await create('/v1/rulesets', { description: LONG, rules: { 'info-contact': 'off' } })
  const prose = { context: LONG, decision: LONG, consequences: LONG }
  const adr = await create('/v1/adrs', { title: HOSTILE, status: 'Accepted', ...prose })
  const rules = [HOSTILE]
  const principle = await create('/v1/principles', { name: HOSTILE, statement: LONG, rationale: LONG, rules })
  const product = await create('/v1/products', { name: HOSTILE, apis: ['ledger-v1'] })
  await create('/v1/proxies', {
    api: 'ledger-v1',
    fromRevision: 1,
    backend: {
      targets: [{ url: `https://a.example/${'x'.repeat(2_000)}`, weight: 3 }, { url: 'https://b.example/<img/src=x>' }],
      tls: hostileCertificate(),
      secretHeaders: [{ name: 'X-Partner-Key', value: SECRET }],
    },
    transform: { response: { set: [{ name: 'Server', value: HOSTILE.slice(0, 20) }] } },
  })
  views.push(
    [`${api}/policy`, 'From the organisation'],
    [`${api}/backend`, HOSTILE_SUBJECT],
    [`${api}/policy?as=text`, 'credentialLifetimeDays'],
    [`${api}/declarations`, 'onerror'],
    [`${api}/declarations?declaration=${sla}`, 'At most 4,000 calls per calendar day'],
    [`${api}/declarations?declaration=new`, 'At most 100 calls a minute'],
    [`${api}/service-level`, 'Latency of the backend'],
    [`${api}/programme`, 'without a programme'],
    [`${api}/findings?line=1`, 'Points lost'],
    ['governance', 'Design principles'],
    ['governance/programmes', 'onerror'],
    ['governance/programmes/new', 'Read from a file'],
    [`governance/programmes/${programme}`, 'Validate specification'],
    ['governance/rulesets', 'onerror'],
    [`governance/rulesets/${ruleset}`, 'info-contact'],
    ['governance/adrs', 'onerror'],
    [`governance/adrs/${adr}`, 'Consequences'],
    ['governance/principles', 'onerror'],
    [`governance/principles/${principle}`, 'Rationale'],
    ['governance/policy', 'Second factor'],
    ['products', 'onerror'],
    [`products/${product}`, 'Nobody has subscribed'],
  )
  // What was measured in the current minute is stored when it is over, or now.
  await service.stop()
  await service.start()
})

function wordyDocument(): object {
  const ledger = ledgerDocument() as { info: object }
  return { ...ledger, info: { ...ledger.info, description: LONG } }
}

it(
  'have no findings of axe and no scroll bar at the side, with hostile texts in every field',
  { timeout: 4 * MINUTE },
  async () => {
    const { page, errors } = await signIn('admin')
    for (const [path, text] of views) {
      await page.goto(`${service.baseUrl}/console/${path}`)
      await page.getByRole('main').getByText(text, { exact: false }).first().waitFor()
      await expectUsable(page)
      expect({ path, title: await page.title() }).toEqual({
        path,
        title: expect.stringContaining('tollgate') as string,
      })
      expect(await page.locator('img[src]').count()).toBe(0)
    }
    expect(errors).toEqual([])
  },
)

it('open their forms and questions with hostile texts as text', async () => {
  const { page, errors } = await signIn('admin')
  const forms: readonly (readonly [path: string, button: string])[] = [
    ['governance/rulesets/', 'Delete ruleset'],
    ['governance/adrs/', 'Edit record'],
    ['governance/principles/', 'Delete principle'],
    ['products/', 'Edit product'],
  ]
  for (const [path, button] of forms) {
    const found = views.find(([each]) => each.startsWith(path))?.[0]
    await page.goto(`${service.baseUrl}/console/${found}`)
    await page.getByRole('button', { name: button }).click()
    await page.getByRole('dialog').waitFor()
    await expectUsable(page)
  }
  expect(await page.locator('img[src]').count()).toBe(0)
  expect(errors).toEqual([])
})

it(
  'create products, records and principles, which are changed with undo, and deleted after a question',
  { timeout: MINUTE },
  async () => {
    const { page, errors } = await signIn('publisher', 'console/products')
    await page.getByRole('button', { name: 'Create product' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('Payments')
    await dialog.getByLabel('API to add').fill('ledger-v1')
    await dialog.getByRole('button', { name: 'Add API' }).click()
    await dialog.getByRole('button', { name: 'Create product' }).click()
    await page.getByRole('heading', { name: 'Payments', level: 1 }).waitFor()
    await page.getByRole('button', { name: 'Edit product' }).click()
    await dialog.getByLabel('Name').fill('Money')
    await dialog.getByRole('button', { name: 'Remove ledger-v1' }).click()
    await dialog.getByRole('button', { name: 'Save product' }).click()
    await page.getByRole('heading', { name: 'Money', level: 1 }).waitFor()
    await page.getByText('The product has no API yet.').waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByRole('link', { name: 'ledger-v1' }).waitFor()
    await page.getByRole('button', { name: 'Delete product' }).click()
    await dialog.getByRole('button', { name: 'Delete product' }).click()
    await page.getByText('The product is deleted.').waitFor()

    await page.keyboard.press('g')
    await page.keyboard.press('v')
    await page.getByRole('main').getByRole('link', { name: 'Principles' }).click()
    await page.getByRole('button', { name: 'Create principle' }).click()
    await dialog.getByLabel('Name').fill('One shape')
    await dialog.getByLabel('Statement').fill('Errors are problems.')
    await dialog.getByLabel('Rationale').fill('Clients parse one shape.')
    await dialog.getByLabel('Rules that enforce it').fill('problem-json\n\nproblem-codes')
    await dialog.getByRole('button', { name: 'Create principle' }).click()
    await page.getByText('problem-codes').waitFor()
    await page.getByRole('navigation').getByRole('link', { name: 'ADRs' }).click()
    await page.getByRole('button', { name: 'Create record' }).click()
    await dialog.getByLabel('Title').fill('Use UUIDs')
    await dialog.getByLabel('Context').fill('Ids were guessed.')
    await dialog.getByLabel('Decision').fill('Ids are UUIDs.')
    await dialog.getByLabel('Consequences').fill('They are longer.')
    await dialog.getByRole('button', { name: 'Create record' }).click()
    await page.getByText('They are longer.').waitFor()
    expect(errors).toEqual([])
  },
)

it(
  'show a backend without its secrets, and stage another one with the keyboard alone',
  { timeout: MINUTE },
  async () => {
    const { page, errors } = await signIn('publisher', 'console/apis/ledger-v1/backend')
    const staged = page.getByRole('region', { name: 'Staged revision 2' })
    await staged.getByText('75 %').waitFor()
    for (const text of [`CN=${HOSTILE_SUBJECT}`, 'X-Partner-Key', 'is stored, and never shown'])
      await staged.getByText(text, { exact: false }).waitFor()
    const shown = await page.content()
    expect(shown).not.toContain(SECRET)
    expect(shown).not.toContain('PRIVATE KEY')

    await activate(page, 'Stage another backend')
    await activate(page, 'Add a target')
    await enterText(page, 'Backend URL 2', 'ftp://b.example')
    await activate(page, 'Stage revision')
    const dialog = page.getByRole('dialog')
    await dialog.getByText('The backend must be an absolute http or https URL.').waitFor()
    await expectUsable(page)
    await enterText(page, /^Backend URL 2/, 'http://127.0.0.1:9')
    await enterText(page, 'Weight 2', '4')
    await activate(page, 'Stage revision')
    await page.getByText('Revision 3 is staged.').waitFor()
    const { items } = await service.platform.get<{ items: { staging: { backend: object } }[] }>(
      '/v1/proxies?api=ledger-v1',
    )
    expect(items[0]!.staging.backend).toMatchObject({
      targets: [{ url: expect.stringContaining('http') }, { url: 'http://127.0.0.1:9', weight: 4 }],
      balance: 'roundRobin',
    })
    expect(errors).toEqual([])
  },
)

/** Usage in the console: the bill of a consumer equals its line items, a month leads to its calls, and CSV is that of the API. */

// @module-tag chromium

import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { request } from 'undici'
import { describe, expect, it, vi } from 'vitest'
import { activate, goTo, openRow } from './console-keyboard.ts'
import { useConsole } from './console-stage.ts'
import { expectUsable } from './console-visit.ts'
import { ledgerDocument } from './ledger-backend.ts'
import { enrol, publish, type Enrolled, type Service } from './service.ts'

const MINUTE = 60_000
const APIS = ['ledger-v1', 'orders-v1', 'paper-v1', 'stock-v1', 'terms-v1', 'units-v1', 'votes-v1'] as const
/** An exact third of nothing: sums of floats would show. */
const PRICE = '0.100001'
const CALLS = 7
/** At the second API. */
const SECOND_CALLS = 2
const HOSTILE = '<img src=x onerror="document.title=1">‮evil'
const MONTH = new Date().toISOString().slice(0, 7)

let service: Service
let shop: Enrolled
let rival: Enrolled

const SLA = JSON.stringify({
  opensla: '1.0.0',
  info: {},
  resourceUnits: { default: 3 },
  price: { currency: 'EUR', perUnit: PRICE },
})

function documentOf(api: string): object {
  const document = ledgerDocument() as { readonly info: object }
  return { ...document, info: { title: api.replace('-v1', ''), version: '1.0.0' } }
}

async function call({ apiKey }: Pick<Enrolled, 'apiKey'>, api: string = APIS[0]): Promise<void> {
  const answer = await request(`${service.gatewayUrl}/${api}/entries?n=1`, { headers: { 'x-api-key': apiKey } })
  expect(answer.statusCode).toBe(200)
  await answer.body.dump()
}

async function keyOf(consumer: string, api: string): Promise<Pick<Enrolled, 'apiKey'>> {
  const { platform } = service
  const { id } = await platform.post<{ id: string }>('/v1/subscriptions', { consumer, api })
  const { items } = await platform.get<{ items: { apiKey: string }[] }>(`/v1/subscriptions/${id}/credentials`)
  return { apiKey: items.find(({ apiKey }) => apiKey)?.apiKey ?? '' }
}

async function callsOfAll(): Promise<number> {
  const { items } = await service.platform.get<{ items: { calls: number }[] }>('/v1/summaries?groupBy=')
  return items.reduce((sum, { calls }) => sum + calls, 0)
}

const { signIn } = useConsole(
  { env: { REQUEST_LOG: 'all' }, document: documentOf(APIS[0]) },
  async ({ service: started, backend }) => {
    service = started
    for (const api of APIS.slice(1)) await publish(service, api, documentOf(api), backend.url)
    const specification = Buffer.from(SLA).toString('base64')
    for (const api of APIS.slice(0, 2)) await service.platform.post('/v1/openslaspecs', { api, specification })
    shop = await enrol(service, APIS[0], { name: HOSTILE })
    rival = await enrol(service, APIS[0], { name: 'Rival' })
    for (let n = 0; n < CALLS; n++) await call(shop)
    const second = await keyOf(shop.consumer, APIS[1])
    for (let n = 0; n < SECOND_CALLS; n++) await call(second, APIS[1])
    await call(rival)
    for (const api of APIS.slice(1)) await call(await enrol(service, api, { name: 'Many' }), api)
    await vi.waitFor(async () => expect(await callsOfAll()).toBe(CALLS + SECOND_CALLS + APIS.length), {
      timeout: 20_000,
      interval: 200,
    })
  },
)

/** The cells of the rows of a table, without their heads. */
async function rowsOf(page: Page, caption: string): Promise<readonly (readonly string[])[]> {
  const rows = page.getByRole('region', { name: caption, exact: true }).locator('tbody tr')
  await rows.first().waitFor()
  return Promise.all((await rows.all()).map((row) => row.locator('th, td').allInnerTexts()))
}

async function download(page: Page, name = 'Download as CSV'): Promise<string> {
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name }).click()])
  return readFileSync(await file.path(), 'utf8')
}

/** As a consumer that may read everything. */
async function csvOf(path: string): Promise<string> {
  const reader = await enrol(service, 'platform-v1', { name: 'Reader', scopes: ['usage:read'] })
  const headers = { authorization: `Bearer ${await reader.token()}`, accept: 'text/csv' }
  return (await request(`${service.baseUrl}${path}`, { headers })).body.text()
}

describe('the bill of a consumer', () => {
  it('equals its line items, which lead to the calls', async () => {
    const { page, errors } = await signIn('admin', `console/usage/statements?consumer=${shop.consumer}&month=${MONTH}`)
    const [ledger, orders] = await rowsOf(page, 'Lines')
    // 7 and 2 calls of 3 units at 0.100001.
    expect(ledger?.slice(2)).toEqual([`${PRICE} EUR`, '7', '21', '2.100021 EUR'])
    expect(orders?.slice(2)).toEqual([`${PRICE} EUR`, '2', '6', '0.600006 EUR'])
    const [compared] = await rowsOf(page, 'Compared with the line items')
    expect(compared).toEqual(['EUR', '9', '9', '2.700027 EUR', '2.700027 EUR', 'equal'])
    await expectUsable(page)
    expect(await download(page)).toBe(await csvOf(`/v1/statements?consumer=${shop.consumer}&month=${MONTH}`))

    await page.getByRole('link', { name: 'See line items' }).click()
    const items = await rowsOf(page, 'Line items')
    expect(items.reduce((sum, row) => sum + Number(row.at(-3)), 0)).toBe(CALLS + SECOND_CALLS)
    expect(errors).toEqual([])
    expect(await page.title()).toBe('Line items · tollgate')
  })

  it('is reconciled with the keyboard alone, from the overview to the calls', async () => {
    const { page, errors } = await signIn('admin')
    await goTo(page, 'u')
    await page.getByRole('heading', { name: 'Usage' }).waitFor()
    await activate(page, 'Statements')
    await page.getByRole('heading', { name: 'Statements' }).waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type(shop.consumer)
    await page.keyboard.press('Enter')
    const [compared] = await rowsOf(page, 'Compared with the line items')
    expect(compared).toEqual(['EUR', '9', '9', '2.700027 EUR', '2.700027 EUR', 'equal'])
    await activate(page, 'See line items')
    await page.getByRole('heading', { name: 'Line items' }).waitFor()
    const [item] = await rowsOf(page, 'Line items')
    await openRow(page, item![1]!)
    await page.waitForURL((url) => url.pathname === '/console/requests')
    expect(new URL(page.url()).searchParams.get('customer')).toBe(shop.consumer)
    expect(errors).toEqual([])
  })

  it('says what differs while the statement and the items are not the same', async () => {
    const { page } = await signIn('admin')
    await page.route(/\/v1\/summaries/, async (route) => {
      const answer = await route.fetch()
      const body = (await answer.json()) as { items: { amount: string; calls: number }[] }
      const items = body.items.map((item) => ({ ...item, amount: '2.700026', calls: item.calls - 1 }))
      await route.fulfill({ response: answer, json: { ...body, items } })
    })
    await page.goto(`${service.baseUrl}/console/usage/statements?consumer=${shop.consumer}&month=${MONTH}`)
    const [compared] = await rowsOf(page, 'Compared with the line items')
    expect(compared?.at(-1)).toBe('0.000001 EUR, 1 calls, 0 resource units')
  })
})

describe('summaries', () => {
  it('lead from the month to the call, with the filter in the address', async () => {
    const { page, errors } = await signIn(
      'admin',
      `console/usage?range=month&interval=month&groupBy=api&customer=${shop.consumer}`,
    )
    const first = page.getByRole('region', { name: 'Usage', exact: true }).locator('tbody th a').first()
    for (const interval of ['day', 'hour']) {
      await first.click()
      await page.waitForURL((url) => url.searchParams.get('interval') === interval)
    }
    await first.click()
    await page.waitForURL((url) => url.pathname === '/console/usage/items')
    const { searchParams } = new URL(page.url())
    expect(searchParams.get('customer')).toBe(shop.consumer)
    const [item] = await rowsOf(page, 'Line items')
    expect(item?.[1]).toBe('ledger-v1')
    await expectUsable(page)
    const leading = page.getByRole('region', { name: 'Line items', exact: true }).locator('tbody th a').first()
    const calls = new URL(String(await leading.getAttribute('href')), service.baseUrl)
    expect(Object.fromEntries(calls.searchParams)).toMatchObject({ api: 'ledger-v1', customer: shop.consumer })
    const { items } = await service.platform.get<{ items: object[] }>(`/v1/requests?${calls.searchParams.toString()}`)
    expect(items.length).toBe(Number(item?.at(-3)))
    expect(errors).toEqual([])
  })

  it(
    'are a chart of five APIs and the others, with exact values by key, as a table and as CSV',
    {
      timeout: MINUTE,
    },
    async () => {
      const { page, errors } = await signIn('admin', 'console/usage?range=7d&groupBy=api')
      const chart = page.getByRole('figure').filter({ hasText: 'Calls by API' })
      await chart.locator('canvas').waitFor()
      const names = await chart.locator('.legend bdi').allInnerTexts()
      expect(names).toHaveLength(6)
      expect([names[0], names[5]]).toEqual(['ledger-v1', 'Others'])
      const slider = chart.getByRole('slider')
      expect(await slider.getAttribute('aria-valuetext')).toContain(`ledger-v1 ${CALLS + 1} calls`)
      await slider.focus()
      await page.keyboard.press('ArrowLeft')
      expect(await slider.getAttribute('aria-valuetext')).toContain('ledger-v1 0 calls')
      await chart.getByRole('button', { name: 'Table' }).click()
      await chart.getByRole('cell', { name: `${CALLS + 1} calls` }).waitFor()
      const csv = await download(page, 'CSV of the chart')
      expect(csv.split('\r\n')[0]).toBe(`time,${names.join(',')}`)
      await expectUsable(page)

      await page.getByLabel('Chart of').selectOption('amount')
      const amounts = page.getByRole('slider', { name: /^Amount by API/ })
      await expect.poll(() => amounts.getAttribute('aria-valuetext')).toContain('ledger-v1 2.400024 EUR')
      const whole = await download(page)
      const from = dayStart(6)
      expect(whole).toBe(await csvOf(`/v1/summaries?groupBy=api&from=${from}&to=${endOf(whole)}`))
      expect(errors).toEqual([])
    },
  )

  it('have a time in the zone of the reader, and any grouping', async () => {
    const { page } = await signIn('admin', 'console/usage?from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z')
    await page.getByText('Nothing was used in this time.').waitFor()
    expect(await page.getByLabel('From', { exact: true }).inputValue()).toMatch(/^202[56]-\d\d-\d\dT\d\d:\d\d$/)
    await page.getByLabel(/^Time/).selectOption('7d')
    await page.getByRole('checkbox', { name: 'Subscription' }).check()
    await page.getByRole('checkbox', { name: 'API' }).uncheck()
    await page.getByRole('checkbox', { name: 'Consumer' }).uncheck()
    await page.getByRole('columnheader', { name: 'Subscription' }).waitFor()
    expect(new URL(page.url()).searchParams.get('groupBy')).toBe('subscription')
    await page.getByRole('checkbox', { name: 'Subscription' }).uncheck()
    const [total] = await rowsOf(page, 'Usage')
    expect(total?.[0]).toBe('Total')
  })
})

function dayStart(ago: number): string {
  return new Date((Math.floor(Date.now() / 86_400_000) - ago) * 86_400_000).toISOString()
}

/** The end of the range is the time of the call, which is part of each row. */
function endOf(csv: string): string {
  return csv.split('\r\n')[1]?.split(',').at(-1) ?? ''
}

describe('hostile values', () => {
  it('of the address are text, and break nothing', async () => {
    const { page, errors } = await signIn('admin', 'console/usage')
    const markup = encodeURIComponent(`${HOSTILE}${'W'.repeat(200)}`)
    for (const path of [
      `usage?api=${markup}&groupBy=__proto__&metric=constructor&currency=${markup}&interval=day`,
      `usage/items?customer=${'W'.repeat(5_000)}&from=1970-01-01T00:00:00Z&to=9999-12-31T00:00:00Z`,
      `usage/statements?consumer=${markup}&month=2026-99`,
    ]) {
      await page.goto(`${service.baseUrl}/console/${path}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await page
        .getByText(/Nothing was used|could not be loaded|There is no such page/)
        .first()
        .waitFor()
      await expectUsable(page)
    }
    await page.goto(`${service.baseUrl}/console/usage?groupBy=customer&range=7d`)
    await page.getByRole('link', { name: '<img src=x onerror', exact: false }).waitFor()
    expect(await page.title()).toBe('Usage · tollgate')
    await expectUsable(page)
    expect(errors).toEqual([])
  })
})

describe('a person of a consumer', () => {
  it('sees the usage and the statement of the consumer alone', async () => {
    const scopes = ['me:read', 'requests:read:own', 'usage:read:own']
    await service.platform.post('/v1/subscriptions', { consumer: rival.consumer, api: 'platform-v1', scopes })
    const role = { role: 'consumer', consumers: [rival.consumer] }
    const { page } = await signIn(role, 'console/usage/statements')
    const [line] = await rowsOf(page, 'Lines')
    expect(line?.slice(3, 4)).toEqual(['1'])
    expect(await page.getByLabel('Consumer', { exact: true }).count()).toBe(0)
    await page.goto(`${service.baseUrl}/console/usage/items?customer=${shop.consumer}`)
    await page.getByText('Nothing was used in this time.', { exact: false }).waitFor()
    await page.goto(`${service.baseUrl}/console/usage/statements?consumer=${shop.consumer}`)
    await page.getByText('There is no such page.').waitFor()
  })

  it('finds no usage without the right', async () => {
    const { page } = await signIn('security', 'console/usage')
    await page.getByText('Your roles do not include this.').first().waitFor()
    expect(await page.getByRole('link', { name: 'Statements' }).count()).toBe(0)
  })
})

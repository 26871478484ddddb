import { describe, expect, it } from 'vitest'
import { NOW_MS, openTestPlatform, type TestPlatform } from '../../../fixtures/test-platform.ts'

const PATH = '/v1/statements'
const item = (changes: Partial<TestPlatform['lineItems'][number]> = {}): TestPlatform['lineItems'][number] => ({
  tenant: 'acme',
  api: 'payments-v1',
  customer: 'con_1',
  customerName: 'Shop',
  operation: 'pay',
  subscription: 'sub_1',
  agent: '',
  value: '0.000001',
  calls: 2,
  amount: '0.000000000001',
  currency: 'EUR',
  channel: 'http',
  revision: 3,
  timeMs: NOW_MS - 10_000,
  ...changes,
})

describe('a statement', () => {
  it('has the lines of a month and their exact totals per currency', async () => {
    const platform = await openTestPlatform()
    platform.lineItems.push(
      item(),
      item({ api: 'orders-v1', value: '9999999999999999.999999', amount: '9999999999999999.999999999999' }),
      item({ currency: '', amount: '0' }),
      item({ timeMs: Date.UTC(2026, 11, 31, 23, 59, 50) }),
    )
    const { status, body } = await platform.send('GET', `${PATH}?consumer=con_1`, { token: platform.token('acme') })
    expect(status).toBe(200)
    expect(body).toMatchObject({
      consumer: 'con_1',
      consumerName: '',
      month: '2027-01',
      from: '2027-01-01T00:00:00.000Z',
      to: '2027-02-01T00:00:00.000Z',
      state: 'Open',
      closedAt: null,
      totals: [
        { currency: '', calls: 2, units: 0.000001, amount: '0' },
        { currency: 'EUR', calls: 4, units: 10_000_000_000_000_000, amount: '10000000000000000' },
      ],
    })
    expect(body['lines']).toHaveLength(3)
    expect((body['lines'] as unknown[])[0]).toEqual({
      kind: 'usage',
      api: 'payments-v1',
      price: '0.5',
      currency: 'EUR',
      calls: 2,
      units: 0.000001,
      amount: '0.000000000001',
    })
    const before = await platform.send('GET', `${PATH}?consumer=con_1&month=2026-12`, { token: platform.token('acme') })
    expect(before.body).toMatchObject({ month: '2026-12', totals: [{ calls: 2 }] })
  })

  it('is CSV or a page on request, in which names are text', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const name = '<script>alert(1)</script>&"\'=cmd'
    const { body } = await platform.send('POST', '/v1/consumers', { token, body: { name, kind: 'application' } })
    const consumer = String(body['id'])
    platform.lineItems.push(item({ customer: consumer, api: '=1+1' }))
    const read = (accept: string) =>
      platform.send('GET', `${PATH}?consumer=${consumer}`, { token, headers: { accept } })

    const csv = await read('text/csv')
    expect(csv.text).toBe(
      `month,consumer,kind,api,price,currency,calls,units,amount\r\n2027-01,${consumer},usage,'=1+1,0.5,EUR,2,0.000001,0.000000000001\r\n`,
    )
    const page = await read('text/html')
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8')
    expect(page.headers['content-security-policy']).toContain("default-src 'none'")
    expect(page.text).not.toContain('<script')
    expect(page.text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;&amp;&quot;&#39;=cmd')
    expect(page.text).toContain('<td class="number">0.000000000001</td>')
    expect(page.headers['vary']).toContain('Accept')
    for (const answer of [csv, page, await read('application/json')]) {
      expect(answer.headers['cache-control']).toBe('private, no-cache')
    }
  })

  it('of another consumer or tenant is not found', async () => {
    const platform = await openTestPlatform()
    platform.lineItems.push(item(), item({ customer: 'con_2' }), item({ tenant: 'rival', customer: 'con_3' }))
    const own = platform.token('acme', ['usage:read:own'], undefined, { consumer: 'con_1' })
    const all = platform.token('acme')
    expect((await platform.send('GET', PATH, { token: own })).body).toMatchObject({ consumer: 'con_1' })
    for (const [token, consumer] of [
      [own, 'con_2'],
      [own, 'con_3'],
      [own, 'nobody'],
      [all, 'con_3'],
      [all, 'nobody'],
    ] as const) {
      const answer = await platform.send('GET', `${PATH}?consumer=${consumer}`, { token })
      expect(answer, `${consumer}`).toMatchObject({ status: 404, body: { code: 'not_found' } })
    }
    const other = platform.token('acme', ['risks:read'])
    expect((await platform.send('GET', PATH, { token: other })).status).toBe(403)
  })

  it.each([
    '2026-13',
    '2026-00',
    '2019-12',
    '2100-01',
    '2026-1',
    '2026-011',
    '0000-00',
    '9999-12',
    '２026-10',
    '2026-10%0A',
    '2026-10&month=2026-11',
    'now',
    '',
  ])('answers 400 for the month %j', async (month) => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const answer = await platform.send('GET', `${PATH}?consumer=con_1&month=${month}`, { token })
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ pointer: '/month' }] } })
  })
})

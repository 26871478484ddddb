import { describe, expect, it } from 'vitest'
import { NOW_MS, openTestPlatform, type TestPlatform } from '../../../fixtures/test-platform.ts'

const DAY_MS = 86_400_000
const CSV = { accept: 'text/csv' }

function lineItem(fields: Partial<TestPlatform['lineItems'][number]> = {}): TestPlatform['lineItems'][number] {
  return {
    tenant: 'acme',
    api: 'payments-v1',
    customer: 'con_1',
    customerName: 'Shop',
    operation: 'pay',
    subscription: 'sub_1',
    agent: '',
    value: '0.5',
    calls: 2,
    amount: '0.000000000001',
    currency: 'EUR',
    channel: 'http',
    revision: 3,
    timeMs: NOW_MS - 10_000,
    ...fields,
  }
}

describe('line items', () => {
  it('show amounts as exact decimal texts and the start of each window', async () => {
    const platform = await openTestPlatform()
    platform.lineItems.push(lineItem())
    const { body } = await platform.send('GET', '/v1', { token: platform.token('acme') })
    const { tenant: _, timeMs: __, ...row } = lineItem()
    expect(body).toEqual({ items: [{ ...row, value: 0.5, time: '2027-01-15T11:59:50.000Z' }], next: null })
  })

  it('exclude the platform API by default', async () => {
    const platform = await openTestPlatform()
    platform.lineItems.push(lineItem(), lineItem({ api: 'platform-v1' }))
    const token = platform.token('acme')
    const apisOf = async (path: string): Promise<unknown> =>
      ((await platform.send('GET', path, { token })).body['items'] as { api: string }[]).map(({ api }) => api)

    expect(await apisOf('/v1')).toEqual(['payments-v1'])
    expect(await apisOf('/v1/summaries')).toEqual(['payments-v1'])
    expect(await apisOf('/v1?api=platform-v1')).toEqual(['platform-v1'])
  })

  it('cover the last 30 days by default, or a range with times of any offset', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    await platform.send('GET', '/v1', { token })
    const from = encodeURIComponent('2027-01-01T02:00:00+02:00')
    await platform.send('GET', `/v1?from=${from}&to=9999-12-31T23:59:59Z&customer=con_1&operation=pay`, { token })

    expect(platform.usageQueries).toMatchObject([
      { tenant: 'acme', fromMs: NOW_MS + 1 - 30 * DAY_MS, toMs: NOW_MS + 1 },
      { fromMs: Date.UTC(2027, 0, 1), toMs: Date.UTC(2100, 0, 1), customer: 'con_1', operation: 'pay' },
    ])
  })

  it.each([
    ['from=yesterday', '/from'],
    ['from=2027-02-30T00:00:00Z', '/from'],
    ['from=1969-12-31T23:59:59Z', '/from'],
    ['to=2027-01-01', '/to'],
    ['from=2027-01-02T00:00:00Z&to=2027-01-01T00:00:00Z', '/from'],
    ['tenant=rival', '/tenant'],
    ['groupBy=api', '/groupBy'],
    ['revision=3', '/revision'],
    ['api=a-v1&revision=-1', '/revision'],
    ['api=a-v1&revision=1.5', '/revision'],
    ['api=a-v1&revision=2147483648', '/revision'],
    ['api=a-v1&revision=3&revision=4', '/revision'],
  ])('answer 400 for ?%s', async (query, pointer) => {
    const platform = await openTestPlatform()
    const answer = await platform.send('GET', `/v1?${query}`, { token: platform.token('acme') })
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ pointer }] } })
  })

  it('keep their range over all pages while time passes', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    platform.lineItems.push(lineItem({ operation: 'a' }), lineItem({ operation: 'b' }), lineItem({ operation: 'c' }))
    const first = await platform.send('GET', '/v1?limit=2', { token })
    platform.clock.advanceSync(60_000)
    const second = await platform.send('GET', `/v1?limit=2&cursor=${String(first.body['next'])}`, { token })

    expect(second.body).toMatchObject({ items: [{ operation: 'c' }], next: null })
    const [before, after] = platform.usageQueries
    expect([after?.fromMs, after?.toMs]).toEqual([before?.fromMs, before?.toMs])
  })

  it.each(['con_1', '1 2', '9 9 ', 'a b c', '-1 5 2', '99999999999999 1 1'])(
    'answer 400 cursor_invalid for the malformed position %s',
    async (position) => {
      const platform = await openTestPlatform()
      const cursor = Buffer.from(`1 ${position}`).toString('base64url')
      for (const path of ['/v1', '/v1/summaries']) {
        const answer = await platform.send('GET', `${path}?cursor=${cursor}`, { token: platform.token('acme') })
        expect(answer).toMatchObject({ status: 400, body: { code: 'cursor_invalid' } })
      }
    },
  )
})

describe('summaries', () => {
  it('group by API and customer by default', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    platform.lineItems.push(lineItem())
    const { body } = await platform.send('GET', '/v1/summaries', { token })
    expect(body['items']).toEqual([
      {
        api: 'payments-v1',
        customer: 'con_1',
        customerName: '',
        value: 0.5,
        calls: 2,
        amount: '0.000000000001',
        currency: 'EUR',
        from: '2026-12-16T12:00:00.001Z',
        to: '2027-01-15T12:00:00.001Z',
      },
    ])
    await platform.send('GET', '/v1/summaries?groupBy=agent,operation&interval=day', { token })
    await platform.send('GET', '/v1/summaries?groupBy=', { token })
    expect(platform.usageQueries.slice(1)).toMatchObject([
      { groupBy: ['operation', 'agent'], interval: 'day' },
      { groupBy: [] },
    ])
  })

  it('group by the revision of one API, as a number, and select it', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    platform.lineItems.push(lineItem(), lineItem({ revision: 4 }), lineItem({ tenant: 'rival', revision: 4 }))
    const read = async (path: string) => (await platform.send('GET', path, { token })).body['items']
    expect(await read('/v1/summaries?api=payments-v1&groupBy=revision')).toMatchObject([
      { revision: 3, calls: 2 },
      { revision: 4, calls: 2 },
    ])
    expect(await read('/v1/summaries?api=payments-v1&groupBy=api&revision=4')).toMatchObject([{ calls: 2 }])
    expect(await read('/v1?api=payments-v1&revision=4')).toMatchObject([{ revision: 4, calls: 2 }])
    for (const query of ['groupBy=revision', 'groupBy=api,revision', 'groupBy=api&revision=3'])
      expect(await platform.send('GET', `/v1/summaries?${query}`, { token })).toMatchObject({ status: 400 })
  })

  it('have the names of consumers, in CSV as text, and none of another tenant', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const name = '=HYPERLINK("https://evil.example")<img src=x>\u202e'
    const { body: made } = await platform.send('POST', '/v1/consumers', { token, body: { name, kind: 'application' } })
    const customer = String(made['id'])
    platform.lineItems.push(lineItem({ customer }), lineItem({ tenant: 'rival', customer }))
    const read = async (tenant: string, accept = 'application/json') =>
      platform.send('GET', '/v1/summaries?groupBy=customer', { token: platform.token(tenant), headers: { accept } })
    expect((await read('acme')).body['items']).toMatchObject([{ customer, customerName: name }])
    expect((await read('acme', 'text/csv')).text).toContain(`,"'=HYPERLINK(""https://evil.example"")<img src=x>\u202e"`)
    expect((await read('rival')).body['items']).toMatchObject([{ customer, customerName: '' }])
  })

  it.each(['groupBy=tenant', 'groupBy=api,,', 'groupBy=api;drop', 'interval=week'])(
    'answer 400 for ?%s',
    async (query) => {
      const platform = await openTestPlatform()
      const answer = await platform.send('GET', `/v1/summaries?${query}`, { token: platform.token('acme') })
      expect(answer).toMatchObject({ status: 400, body: { code: 'payload_invalid' } })
    },
  )

  it('are paged', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    for (const customer of ['con_1', 'con_2', 'con_3']) platform.lineItems.push(lineItem({ customer }))
    const first = await platform.send('GET', '/v1/summaries?limit=2', { token })
    expect(first.body['items']).toHaveLength(2)
    const rest = await platform.send('GET', `/v1/summaries?limit=2&cursor=${String(first.body['next'])}`, { token })
    expect(rest.body).toMatchObject({ items: [{ customer: 'con_3' }], next: null })
  })
})

describe('CSV', () => {
  it('is quoted as in RFC 4180, with formulas disarmed', async () => {
    const platform = await openTestPlatform()
    platform.lineItems.push(
      lineItem({ customerName: 'a "b", c\r\nd' }),
      lineItem({ customerName: '=HYPERLINK("http://evil.example")' }),
      lineItem({ customerName: '@SUM(A1)', operation: '-1+1', agent: '\t=1', amount: '-0.5' }),
    )
    const answer = await platform.send('GET', '/v1', { token: platform.token('acme'), headers: CSV })

    expect(answer.headers['content-type']).toMatch('text/csv')
    expect(answer.text).toBe(
      [
        'api,customer,customerName,operation,subscription,agent,value,calls,amount,currency,time,channel,revision',
        'payments-v1,con_1,"a ""b"", c\r\nd",pay,sub_1,,0.5,2,0.000000000001,EUR,2027-01-15T11:59:50.000Z,http,3',
        `payments-v1,con_1,"'=HYPERLINK(""http://evil.example"")",pay,sub_1,,0.5,2,0.000000000001,EUR,2027-01-15T11:59:50.000Z,http,3`,
        `payments-v1,con_1,'@SUM(A1),'-1+1,sub_1,'\t=1,0.5,2,-0.5,EUR,2027-01-15T11:59:50.000Z,http,3`,
        '',
      ].join('\r\n'),
    )
  })

  it('has a header even without rows, and its next page in Link', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const empty = await platform.send('GET', '/v1/summaries', { token, headers: CSV })
    expect(empty.text).toBe('api,customer,value,calls,amount,currency,from,to,customerName\r\n')

    platform.lineItems.push(lineItem(), lineItem({ operation: 'later' }))
    const first = await platform.send('GET', '/v1?limit=1&customer=con_1', { token, headers: CSV })
    const next = /^<([^>]+)>; rel="next"$/.exec(first.headers['link'] ?? '')?.[1] ?? ''
    expect(next).toMatch(/^\/v1\?limit=1&customer=con_1&cursor=/)
    const second = await platform.send('GET', next, { token, headers: CSV })
    expect(second.text).toMatch('later')
    expect(second.headers['link']).toBeUndefined()
  })

  it.each([
    ['application/json', 'application/json'],
    ['text/csv;q=0, application/json', 'application/json'],
    ['application/json;q=0.9, text/csv;q=0.5', 'application/json'],
    ['text/html, */*', 'application/json'],
    ['application/json;q=0.5, TEXT/CSV; header=present', 'text/csv'],
  ])('is sent only if Accept prefers it: %s', async (accept, mediaType) => {
    const platform = await openTestPlatform()
    const { headers } = await platform.send('GET', '/v1', { token: platform.token('acme'), headers: { accept } })
    expect(headers['content-type']).toMatch(mediaType)
    expect(headers['vary']).toBe('Accept')
  })
})

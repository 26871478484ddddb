import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startSampleBackend, type SampleBackend } from '../../../../src/app/sample/backend.ts'
import { createBoundedCollection } from '../../../../src/app/sample/bounded-collection.ts'

let backend: SampleBackend

beforeEach(async () => {
  backend = await startSampleBackend({ host: '127.0.0.1', port: 0 })
})
afterEach(() => backend.close())

async function call(method: string, path: string, body?: unknown) {
  const response = await fetch(backend.url + path, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) }
}

const amount = (value: string) => ({ value, currency: 'EUR' })
const pay = (more: object = {}) =>
  call('POST', '/payments', { account: 'acc_9f3c21d08b7a4e55', amount: amount('10.00'), ...more })

describe('the sample backend', () => {
  it('201: serves a new payment at its Location', async () => {
    const made = await pay({ reference: 'ORDER-1' })
    expect(made.status).toBe(201)

    const read = await call('GET', made.headers.get('location') ?? '')
    expect(read).toMatchObject({
      status: 200,
      body: { amount: amount('10.00'), status: 'captured', reference: 'ORDER-1' },
    })
  })

  it('409: refunds at most the amount of the payment', async () => {
    const { body } = await pay()
    const refunds = `/payments/${body.id}/refunds`

    expect((await call('POST', refunds, { reason: 'requested', amount: amount('4.00') })).status).toBe(201)
    expect((await call('POST', refunds, { reason: 'requested', amount: amount('6.01') })).status).toBe(409)
    expect((await call('POST', refunds, { reason: 'requested' })).body.amount).toEqual(amount('6.00'))
    expect((await call('GET', `/payments/${body.id}`)).body.status).toBe('refunded')
  })

  it('409: captures an authorised payment only once', async () => {
    const { body } = await pay({ capture: false })
    expect(body.status).toBe('authorised')

    expect((await call('POST', `/payments/${body.id}/capture`)).body.status).toBe('captured')
    expect((await call('POST', `/payments/${body.id}/capture`)).status).toBe(409)
  })

  it('404: refuses unknown ids and paths', async () => {
    expect((await call('GET', '/payments/pay_0000000000000000')).status).toBe(404)
    expect((await call('GET', '/nothing')).status).toBe(404)
    expect((await call('DELETE', '/notificationEndpoints/nep_0000000000000000')).status).toBe(404)
  })

  it('400 and 413: refuses a body that is not JSON or too large', async () => {
    const send = (body: string) => fetch(`${backend.url}/payments`, { method: 'POST', body })

    expect((await send('{')).status).toBe(400)
    expect((await send('x'.repeat(1_048_577))).status).toBe(413)
  })

  it('200: streams the same statement twice, a day at a time', async () => {
    const path = `${backend.url}/accounts/acc_9f3c21d08b7a4e55/statement?from=2026-01-01&to=2026-02-01`
    const [first, second] = await Promise.all([fetch(path), fetch(path)])
    expect(first.headers.get('content-type')).toContain('text/csv')

    const text = await first.text()
    expect(text.trimEnd().split('\n')).toHaveLength(1 + 31 * 24)
    expect(await second.text()).toBe(text)
  })
})

describe('a bounded collection', () => {
  it('evicts its oldest item when it is full, and pages newest first', () => {
    const collection = createBoundedCollection<{ id: string }>(3)
    for (const id of ['a', 'b', 'c', 'd']) collection.put({ id })

    expect(collection.get('a')).toBeUndefined()
    expect(collection.page(2, undefined)).toEqual({ items: [{ id: 'd' }, { id: 'c' }], next: 'c' })
    expect(collection.page(2, 'c')).toEqual({ items: [{ id: 'b' }], next: null })
  })
})

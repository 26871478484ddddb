/** Calls over HTTP/2 pass through the same stages as calls over HTTP/1.1, and are forwarded over HTTP/1.1. */

import { describe, expect, it } from 'vitest'
import { FLAG_FORWARDED } from '../../../src/storage/spool/call-record.ts'
import { answerTo, call, KEYED, openClient, openHttp2Gateway } from '../../fixtures/http2-calls.ts'
import { openBackend } from '../../fixtures/test-gateway.ts'

describe('a call over HTTP/2', () => {
  it('is authenticated, forwarded over HTTP/1.1 and recorded once', async () => {
    const seen: unknown[] = []
    const origin = await openBackend((request, response) => {
      const { httpVersion, method, url, headers } = request
      const { cookie, via, forwarded, 'x-api-key': key, 'x-consumer-id': consumer } = headers
      seen.push({ httpVersion, method, url, cookie, key, consumer, via, host: forwarded?.includes('host') })
      response.setHeader('x-own', 'value')
      response.end('hello')
    })
    const gateway = await openHttp2Gateway({ backend: { origin } })
    const client = openClient(gateway)
    const stream = client.request({
      ...KEYED,
      ':path': '/things-v1/keyed?a=b',
      cookie: ['a=1', 'b=2'],
      'x-consumer-id': 'forged',
    })
    const { status, headers, body } = await answerTo(stream)
    expect([status, body]).toEqual([200, 'hello'])
    expect(headers).toMatchObject({ 'x-own': 'value', 'content-length': '5', 'x-request-id': expect.any(String) })
    expect(headers).not.toHaveProperty('connection')
    expect(seen).toEqual([
      {
        httpVersion: '1.1',
        method: 'GET',
        url: '/keyed?a=b',
        cookie: 'a=1; b=2',
        key: undefined,
        consumer: 'con_a',
        via: '1.1 tollgate-test',
        host: true,
      },
    ])
    await gateway.recorded(1)
    expect(gateway.records).toEqual([{ outcome: 'served', status: 200, subscription: 'a', flags: FLAG_FORWARDED }])
    expect([gateway.faults, gateway.inFlight()]).toEqual([[], 0])
  })

  it.each([
    ['no credential', { ':path': '/things-v1/keyed' }, 401],
    ['an unknown path', { ...KEYED, ':path': '/things-v1/other' }, 404],
    ['a path that is not canonical', { ...KEYED, ':path': '/things-v1/../keyed' }, 400],
    ['an unknown API', { ...KEYED, ':path': '/other' }, 404],
    ['another method', { ...KEYED, ':method': 'DELETE' }, 405],
    ['a method that HTTP/1.1 does not have', { ...KEYED, ':method': 'FOO' }, 400],
    ['two credentials', { ...KEYED, 'x-api-key': ['key-a', 'key-b'] as unknown as string }, 400],
    ['a call that has come through the gateway before', { ...KEYED, via: '1.1 tollgate-test' }, 508],
    ['OPTIONS *', { ':method': 'OPTIONS', ':path': '*' }, 400],
    ['two hosts', { ...KEYED, ':authority': 'a.example', host: 'b.example' }, 400],
  ])('is refused for %s, and the connection serves others', async (_, fields, status) => {
    const origin = await openBackend((_request, response) => response.end('hello'))
    const gateway = await openHttp2Gateway({ backend: { origin } })
    const client = openClient(gateway)
    expect(await call(client, fields)).toMatchObject({ status, rstCode: 0 })
    expect(await call(client)).toMatchObject({ status: 200, body: 'hello' })
    expect(gateway.faults).toEqual([])
  })

  it('is refused by the limits of its subscription', async () => {
    const origin = await openBackend((_request, response) => response.end('hello'))
    const admit = () => ({ code: 'rate_limited' as const, detail: 'Too many calls.', headers: ['Retry-After', '1'] })
    const admissions = { isApproaching: false, admit, release() {}, wait: async () => false }
    const gateway = await openHttp2Gateway({ backend: { origin }, handle: { admissions: admissions as never } })
    const { status, headers, body } = await call(openClient(gateway))
    expect([status, headers['retry-after']]).toEqual([429, '1'])
    expect(JSON.parse(body)).toMatchObject({ code: 'rate_limited' })
    await gateway.recorded(1)
    expect(gateway.records).toMatchObject([{ outcome: 'rate_limited', status: 429, subscription: 'a' }])
  })

  it('does not wait for other calls of its connection', async () => {
    const origin = await openBackend((request, response) => {
      if (request.headers['x-slow'] === undefined) response.end('fast')
      else slow.push(() => response.end('slow'))
    })
    const slow: (() => void)[] = []
    const gateway = await openHttp2Gateway({ backend: { origin } })
    const client = openClient(gateway)
    const first = call(client, { ...KEYED, 'x-slow': '1' })
    await expect.poll(() => slow.length).toBe(1)
    const others = await Promise.all(Array.from({ length: 20 }, () => call(client)))
    expect(others.map(({ body }) => body)).toEqual(Array.from({ length: 20 }, () => 'fast'))
    slow[0]!()
    expect(await first).toMatchObject({ status: 200, body: 'slow' })
    await gateway.recorded(21)
    expect(gateway.records).toHaveLength(21)
  })
})

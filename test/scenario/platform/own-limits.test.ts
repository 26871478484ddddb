/** `platform-v1` as an API: its declaration limits its own calls. */

import { once } from 'node:events'
import { request as httpRequest, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import type { Caller } from '../../../src/boundary/plan/caller.ts'
import { apiWrite } from '../../../src/control/publishing/apis.ts'
import { sendMessage, textOf } from '../../fixtures/platform-messages.ts'
import { NOW_MS, openTestPlatform, type Answer, type TestPlatform } from '../../fixtures/test-platform.ts'

const OPERATOR = 'acme'

/** The platform with its own catalogue entry, which belongs to the operator's tenant. */
async function open(): Promise<{ platform: TestPlatform; token: string }> {
  const platform = await openTestPlatform()
  await platform.registry.commit({ tenant: OPERATOR, consumer: 'system' }, 'test', [
    apiWrite('platform-v1', OPERATOR, 0, {
      title: 'Platform',
      major: 1,
      version: '1.0.0',
      state: 'Active',
      owner: 'system',
      complianceScore: null,
      programme: null,
      retirementDate: null,
      successor: null,
      ownScopes: ['consumers:read'],
    }),
  ])
  return { platform, token: platform.token(OPERATOR) }
}

async function declare(platform: TestPlatform, token: string, declaration: object): Promise<Answer> {
  const text = JSON.stringify({ opensla: '1.0.0', info: { version: '1.1.0' }, ...declaration })
  const body = { api: 'platform-v1', specification: Buffer.from(text).toString('base64') }
  return platform.send('POST', '/v1/openslaspecs', { token, body })
}

const list = (platform: TestPlatform, token: string): Promise<Answer> =>
  platform.send('GET', '/v1/consumers', { token })

describe('platform-v1 as an API', () => {
  it('sends `RateLimit` and `RateLimit-Policy` of a default limit without a declaration', async () => {
    const { platform, token } = await open()
    const { status, headers } = await list(platform, token)
    expect(status).toBe(200)
    expect(headers['ratelimit-policy']).toBe('"default rate";q=6000;w=60')
    expect(headers['ratelimit']).toBe('"default rate";r=5999;t=1')
    expect(headers['x-ru-cost']).toBe('0')
    expect((await platform.send('GET', '/v1/consumers')).headers).not.toHaveProperty('ratelimit')
    const terms = { isCounted: true, unitsMicro: 0, admittedMs: NOW_MS, isApproaching: false }
    expect(platform.calls[0]).toMatchObject({ operationId: 'listConsumers', code: 'served', terms })
  })

  it('admits exactly as many calls as its declaration allows, and records the others as over the limit', async () => {
    const { platform, token } = await open()
    const declared = await declare(platform, token, { limits: [{ name: 'few', totals: { minute: 5 } }] })
    expect(declared, declared.text).toMatchObject({ status: 201, body: { api: 'platform-v1', inForce: true } })
    platform.calls.length = 0

    const answers = await Promise.all(Array.from({ length: 20 }, () => list(platform, token)))
    const refused = answers.filter(({ status }) => status !== 200)
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(5)
    for (const { status, headers, body } of refused) {
      expect(status).toBe(429)
      expect(body).toMatchObject({ code: 'rate_limited', limit: 'few minute', window: 'minute' })
      expect(headers['retry-after']).toBe('60')
      expect(headers['ratelimit']).toBe('"few minute";r=0;t=60')
    }
    const party = { grant: { consumer: 'con_acme' } }
    const recorded = platform.calls.filter(({ status }) => status === 429)
    expect(recorded).toHaveLength(15)
    for (const call of recorded) expect(call).toMatchObject({ code: 'rate_limited', party, terms: null })
    // Each subscription has separate counters.
    expect((await list(platform, platform.token('other'))).status).toBe(200)
    platform.clock.advanceSync(60_000)
    expect((await list(platform, token)).status).toBe(200)
  })

  it('states over MCP when to retry, with the same counters', async () => {
    const { platform, token } = await open()
    await declare(platform, token, { limits: [{ name: 'few', totals: { minute: 2 } }] })
    const call = () => sendMessage(platform, token, 'tools/call', { name: 'list_consumers' })
    expect((await list(platform, token)).status).toBe(200)
    expect((await call()).result).toMatchObject({ isError: false })
    const refused = await call()
    expect([refused.status, refused.result['isError']]).toEqual([200, true])
    expect(textOf(refused)).toMatch(/Retry after 60 s\.\n\{.*"code":"rate_limited"/s)
    expect(platform.calls.at(-1)).toMatchObject({ channel: 'mcp', status: 429, code: 'rate_limited', terms: null })
    expect((await list(platform, token)).status).toBe(429)
  })

  it('charges resource units as declared: none for calls that were not served, and 402 after the quota is used up', async () => {
    const { platform, token } = await open()
    const units = { default: 1, operations: { listConsumers: 1.5, createConsumer: 2 } }
    const quotas = { period: 'Daily', resourceUnits: 5 }
    expect((await declare(platform, token, { resourceUnits: units, quotas })).status).toBe(201)
    platform.calls.length = 0

    const create = (body: object) => platform.send('POST', '/v1/consumers', { token, body })
    expect((await create({ name: 'Shop' })).headers['x-ru-consumed']).toBe('2')
    expect((await create({ name: 'Shop', kind: 'agent' })).headers).toMatchObject({
      'x-ru-consumed': '2',
      'x-ru-remaining': '3',
    })
    platform.refuseRecords = new Error('disk full')
    expect((await list(platform, token)).status).toBe(500)
    platform.refuseRecords = null
    expect((await list(platform, token)).headers['x-ru-remaining']).toBe('1.5')
    expect((await list(platform, token)).headers['x-ru-remaining']).toBe('0')
    expect(await list(platform, token)).toMatchObject({
      status: 402,
      body: { code: 'quota_exhausted', limit: 'quota' },
    })
    expect(platform.calls.map(({ code, terms }) => [code, terms?.unitsMicro])).toEqual([
      ['payload_invalid', 0],
      ['served', 2_000_000],
      ['served', 1_500_000],
      ['served', 1_500_000],
      ['quota_exhausted', undefined],
    ])
  })

  it('counts concurrent calls until they end or their client disconnects', async () => {
    const { platform, token } = await open()
    expect((await declare(platform, token, { limits: [{ name: 'one', concurrent: 1 }] })).status).toBe(201)
    const waiting = Promise.withResolvers<void>()
    platform.beforeRecord = () => waiting.promise
    const first = list(platform, token)
    await expect.poll(() => platform.recordings).toBe(2)
    platform.beforeRecord = async () => {}
    expect((await list(platform, token)).status).toBe(429)
    waiting.resolve()
    expect((await first).status).toBe(200)
    expect((await list(platform, token)).status).toBe(200)

    await platform.server.app.listen({ host: '127.0.0.1', port: 0 })
    const { port } = platform.server.app.server.address() as AddressInfo
    const headers = { authorization: `Bearer ${token}` }
    const stream = httpRequest({ port, host: '127.0.0.1', path: '/v1/events/subscribe', headers }).end()
    const [response] = (await once(stream, 'response')) as [{ headers: Record<string, string> }]
    expect(response.headers).toMatchObject({ ratelimit: '"one concurrent";r=0;t=0' })
    expect((await list(platform, token)).status).toBe(429)
    stream.on('error', () => {}).destroy()
    await expect.poll(async () => (await list(platform, token)).status).toBe(200)
  })

  it('no longer counts a call whose client disconnected during the look-up of its credential', async () => {
    const { platform, token } = await open()
    expect((await declare(platform, token, { limits: [{ name: 'one', concurrent: 1 }] })).status).toBe(201)
    const found = Promise.withResolvers<Caller>()
    platform.callers.set('late', found.promise as unknown as Caller)
    await platform.server.app.listen({ host: '127.0.0.1', port: 0 })
    const { server } = platform.server.app
    const { port } = server.address() as AddressInfo
    const arrived = once(server, 'request')
    const headers = { authorization: 'Bearer late' }
    const call = httpRequest({ port, host: '127.0.0.1', path: '/v1/consumers', headers }).end()
    const [, response] = (await arrived) as [unknown, ServerResponse]
    const closed = once(response, 'close')
    call.on('error', () => {}).destroy()
    await closed
    const before = platform.recordings
    found.resolve(platform.callers.get(token) as Caller)
    await expect.poll(() => platform.recordings).toBe(before + 1)
    expect((await list(platform, token)).status).toBe(200)
  })

  it('shows its limits with the operations of a subscription', async () => {
    const { platform, token } = await open()
    const { body: made } = await platform.send('POST', '/v1/consumers', { token, body: { name: 'CI', kind: 'agent' } })
    const to = { consumer: made['id'], api: 'platform-v1', scopes: ['consumers:read'] }
    const { body } = await platform.send('POST', '/v1/subscriptions', { token, body: to })
    const path = `/v1/subscriptions/${String(body['id'])}/operations`
    const limitOf = async () => {
      const items = (await platform.send('GET', path, { token })).body['items'] as { operationId: string }[]
      return items.find(({ operationId }) => operationId === 'listConsumers')
    }
    const standard = { name: 'default', kind: 'rate', value: 6_000, per: '60 s', remaining: 6_000 }
    expect(await limitOf()).toMatchObject({ api: 'platform-v1', resourceUnits: 0, limits: [standard] })
    await declare(platform, token, { limits: [{ name: 'few', totals: { day: 9 } }], resourceUnits: { default: 3 } })
    expect(await limitOf()).toMatchObject({ resourceUnits: 3, limits: [{ name: 'few', kind: 'total', value: 9 }] })
  })

  it('accepts a declaration only from the operator’s tenant, and only for its own operations', async () => {
    const { platform, token } = await open()
    expect((await declare(platform, platform.token('other'), {})).status).toBe(400)
    const limits = [{ name: 'x', operationIds: ['none'], totals: { day: 1 } }]
    expect(await declare(platform, token, { limits })).toMatchObject({
      status: 400,
      body: { code: 'specification_invalid' },
    })
  })
})

describe('a very low limit in a declaration of platform-v1', () => {
  it.each([
    ['1 a week', { limits: [{ name: 'one', totals: { week: 1 } }] }],
    ['a quota of no units', { quotas: { period: 'Annual', resourceUnits: 0 } }],
  ])('of %s can be replaced by the operator, and by no other tenant', async (_, declaration) => {
    const { platform, token } = await open()
    const other = platform.token('other')
    expect((await declare(platform, token, declaration)).status).toBe(201)
    await list(platform, token)
    await list(platform, other)
    expect([402, 429]).toContain((await list(platform, token)).status)
    expect([402, 429]).toContain((await platform.send('GET', '/v1/openslaspecs', { token: other })).status)

    expect((await platform.send('GET', '/v1/openslaspecs', { token })).status).toBe(200)
    const repaired = await declare(platform, token, {
      limits: [{ name: 'many', rate: { value: 50, duration: 'second' } }],
    })
    expect(repaired.status).toBe(201)
    const repairs = platform.calls.filter(({ operationId, code }) => /OpenSla/.test(operationId) && code === 'served')
    expect(repairs.map(({ terms }) => terms?.isCounted)).toEqual([true, false, false])
    expect((await list(platform, token)).status).toBe(200)
  })

  it('admits ten repairs per minute by the operator, and no more', async () => {
    const { platform, token } = await open()
    await declare(platform, token, { limits: [{ name: 'one', totals: { week: 1 } }] })
    await list(platform, token)
    const read = async () => (await platform.send('GET', '/v1/openslaspecs', { token })).status
    const statuses: number[] = []
    for (let attempt = 0; attempt < 15; attempt++) statuses.push(await read())
    expect(statuses).toEqual([...Array<number>(10).fill(200), ...Array<number>(5).fill(429)])
    platform.clock.advanceSync(60_000)
    expect(await read()).toBe(200)
  })

  it('of 0 disables the limit', async () => {
    const { platform, token } = await open()
    await declare(platform, token, { limits: [{ name: 'none', totals: { minute: 0 } }] })
    for (let call = 0; call < 20; call++) expect((await list(platform, token)).status).toBe(200)
  })
})

/** `platform-v1` as an API of its own gateway: scored, declared, limited, billed and monitored like any other. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createService, enrol, type Enrolled, type Service } from './service.ts'

const LIMIT = 20
const DECLARATION = {
  opensla: '1.0.0',
  info: { title: 'Platform', version: '2.0.0' },
  limits: [{ name: 'few', operationIds: ['listConsumers'], totals: { month: LIMIT } }],
  resourceUnits: { default: 0, operations: { listConsumers: 0.5 } },
  price: { currency: 'EUR', perUnit: '0.1' },
}

let service: Service
let caller: Enrolled

beforeAll(async () => {
  service = await createService({ args: ['--empty'] })
  await service.start()
  caller = await enrol(service, 'platform-v1', { scopes: ['consumers:read', 'openslaspecs:read'] })
})

afterAll(async () => {
  await service.remove()
})

const declare = (declaration: object): Promise<{ version: string; inForce: boolean }> =>
  service.platform.post('/v1/openslaspecs', {
    api: 'platform-v1',
    specification: Buffer.from(JSON.stringify(declaration)).toString('base64'),
  })

async function call(token: string, path = '/v1/consumers'): Promise<Response> {
  const response = await fetch(service.baseUrl + path, { headers: { authorization: `Bearer ${token}` } })
  await response.text()
  return response
}

const admitted = (responses: readonly Response[]): number => responses.filter(({ status }) => status === 200).length

describe('platform-v1', () => {
  it('sends the default limit', async () => {
    const response = await call(await caller.token(), '/v1/openslaspecs')
    expect(response.status).toBe(200)
    expect(response.headers.get('ratelimit-policy')).toBe('"default rate";q=6000;w=60')
    expect(response.headers.get('ratelimit')).toMatch(/^"default rate";r=\d+;t=\d+$/)
  })

  it('admits exactly the calls that its declaration allows, also across kill -9', async () => {
    expect(await declare(DECLARATION)).toMatchObject({ version: '2.0.0', inForce: true })
    const token = await caller.token()
    const before = await Promise.all(Array.from({ length: 8 }, () => call(token)))
    expect(admitted(before)).toBe(8)
    await service.kill()
    await service.start()
    const after = await Promise.all(Array.from({ length: 40 }, () => call(token)))
    expect(admitted(after)).toBe(LIMIT - 8)
    const refused = after.filter(({ status }) => status !== 200)
    expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([429]))
    for (const { headers } of refused) {
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
      expect(headers.get('ratelimit')).toMatch(/^"few month";r=0;t=\d+$/)
    }
  })

  it('bills its calls by the declaration, and raises a risk of the caller for refusals', async () => {
    type Items = { items: readonly Readonly<Record<string, unknown>>[] }
    const query = `api=platform-v1&subscription=${caller.subscription}&operation=listConsumers&groupBy=operation`
    const billed = async () => {
      const { items } = await service.platform.get<Items>(`/v1/summaries?${query}`)
      return items
        .filter(({ currency }) => currency === 'EUR')
        .map(({ calls, value, amount }) => ({ calls, value, amount }))
    }
    await expect.poll(billed, { timeout: 50_000 }).toEqual([{ calls: LIMIT, value: LIMIT / 2, amount: '1' }])
    const risks = async () =>
      (await service.platform.get<Items>('/v1/risks?type=RateLimitBreach&api=platform-v1')).items
    await expect.poll(async () => (await risks()).length, { timeout: 30_000 }).toBe(1)
    expect(await risks()).toMatchObject([
      { attributedTo: { kind: 'consumer', id: caller.consumer }, operation: 'listConsumers' },
    ])
  })

  it('accepts another declaration of its operator under any declaration', async () => {
    await declare({ opensla: '1.0.0', info: { version: '3.0.0' }, limits: [{ name: 'one', totals: { month: 1 } }] })
    const refused = service.platform.get('/v1/consumers')
    const isRefused = await refused.then(
      () =>
        service.platform.get('/v1/consumers').then(
          () => false,
          () => true,
        ),
      () => true,
    )
    expect(isRefused).toBe(true)
    expect(await declare({ opensla: '1.0.0', info: { version: '4.0.0' } })).toMatchObject({ inForce: true })
    expect(await service.platform.get('/v1/consumers')).toMatchObject({ next: null })
  })

  it('has a score of 100 from its first start, which is shown with the API and its compliance', async () => {
    const scoreOf = async () =>
      (await service.platform.get<{ complianceScore: number | null }>('/v1/apis/platform-v1')).complianceScore
    await expect.poll(scoreOf).toBe(100)
    const compliance = await service.platform.get('/v1/apis/platform-v1/compliance')
    expect(compliance).toMatchObject({ score: 100, band: 'clean', specification: 100, history: [{ revision: 0 }] })
  })
})

/** The explanation of a refused call in the whole service, found by its X-Request-Id. */

import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { createService, enrol, publish, type Enrolled, type Service } from './service.ts'

const env: Record<string, string> = {}
let service: Service
let backend: LedgerBackend
let caller: Enrolled

const document = {
  openapi: '3.1.0',
  info: { title: 'Orders', version: '1.0.0' },
  servers: [{ url: 'http://127.0.0.1:1' }],
  components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'x-api-key' } } },
  security: [{ key: [] }],
  paths: {
    '/list': {
      get: {
        operationId: 'list',
        parameters: [{ name: 'count', in: 'query', schema: { type: 'integer', maximum: 10 } }],
        responses: { 200: { description: 'ok' } },
      },
    },
    '/few': { get: { operationId: 'few', responses: { 200: { description: 'ok' } } } },
    '/dear': { get: { operationId: 'dear', responses: { 200: { description: 'ok' } } } },
  },
}

const declaration = {
  opensla: '1.0.0',
  limits: [{ name: 'few', operationIds: ['few'], totals: { month: 2 } }],
  quotas: { period: 'Annual', resourceUnits: 10 },
  resourceUnits: { default: 0, operations: { dear: 7 } },
}

beforeAll(async () => {
  backend = await startLedgerBackend()
  service = await createService({ args: ['--empty'], env })
  await service.start()
  await publish(service, 'orders-v1', document, backend.url)
  const specification = Buffer.from(JSON.stringify(declaration)).toString('base64')
  await service.platform.post('/v1/openslaspecs', { api: 'orders-v1', specification })
  caller = await enrol(service, 'orders-v1')
})

afterAll(async () => {
  await service.remove()
  await backend.close()
})

/** Calls, and returns the status and the id of the request. */
async function call(path: string, key = caller.apiKey): Promise<{ status: number; id: string }> {
  const { statusCode, headers, body } = await request(`${service.gatewayUrl}/orders-v1${path}`, {
    headers: key === '' ? {} : { 'x-api-key': key },
  })
  await body.dump()
  return { status: statusCode, id: String(headers['x-request-id']) }
}

/** Waits until the call appears, some seconds after its end. */
const explained = (id: string) =>
  expect.poll(() => service.platform.get(`/v1/requests/${id}`).catch((cause: unknown) => String(cause)), {
    timeout: 20_000,
    interval: 200,
  })

describe('a refused call', () => {
  it('is explained by the stage, the reason and the limit as it was, also after kill -9', async () => {
    const before = [await call('/few'), await call('/few')]
    expect(before.map(({ status }) => status)).toEqual([200, 200])
    const full = await call('/few')
    await service.kill()
    await service.start()

    const now = new Date()
    const opensAt = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)).toISOString()
    await explained(full.id).toMatchObject({
      requestId: full.id,
      status: 429,
      outcome: 'rate_limited',
      customer: caller.consumer,
      stage: 'limit',
      detail: `The limit "few month" of 2 is reached. It opens at ${opensAt}.`,
      limit: { name: 'few month', kind: 'total', limit: 2, used: 2, remaining: 0, window: 'month', opensAt },
    })
  })

  it('is explained at every stage', async () => {
    expect((await call('/dear')).status).toBe(200)
    const [unknown, nobody, stranger, invalid, spent] = [
      await call('/nothing'),
      await call('/list', ''),
      await call('/list', 'tg_no_key'),
      await call('/list?count=987654321'),
      await call('/dear'),
    ]
    await explained(unknown.id).toMatchObject({ status: 404, stage: 'route', limit: null })
    await explained(nobody.id).toMatchObject({
      status: 401,
      stage: 'authenticate',
      detail: expect.stringContaining('Send a bearer token') as string,
    })
    await explained(stranger.id).toMatchObject({ status: 401, stage: 'authenticate' })
    await explained(invalid.id).toMatchObject({
      status: 400,
      stage: 'validate',
      errors: [{ pointer: '/query/count', detail: 'must be <= 10' }],
    })
    await explained(spent.id).toMatchObject({
      status: 402,
      stage: 'limit',
      limit: { name: 'quota', kind: 'quota', limit: 10, used: 7, remaining: 3, window: 'Annual' },
    })
    expect(JSON.stringify(await service.platform.get(`/v1/requests/${invalid.id}`))).not.toContain('987654321')
  })

  it('of the platform API is explained too', async () => {
    const headers = { authorization: `Bearer ${await service.platform.token()}` }
    const answer = await request(`${service.baseUrl}/v1/apis?limit=0`, { headers })
    await answer.body.dump()
    await explained(String(answer.headers['x-request-id'])).toMatchObject({
      api: 'platform-v1',
      stage: 'validate',
      errors: [{ pointer: '/limit' }],
    })
  })

  it('is answered 404 with the reason if it was served, is unknown, or REQUEST_LOG is off', async () => {
    const served = await call('/list')
    expect(served.status).toBe(200)
    const of = (id: string) => service.platform.get(`/v1/requests/${id}`)
    await expect(of(served.id)).rejects.toThrow('refused calls (REQUEST_LOG=refused)')
    await service.stop()
    env['REQUEST_LOG'] = 'off'
    await service.start()
    await expect(of(served.id)).rejects.toThrow('REQUEST_LOG is off')
  })
})

/** Limits, quotas, units and prices of a declaration: exact across `kill -9`, and compared with sums of the test. */

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Agent, request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createService, enrol, isOnPostgres, publish, type Enrolled, type Service, TWO_THREADS } from './service.ts'

const CLIENTS = 16
const OPERATIONS = ['cheap', 'odd', 'dear'] as const
const MICRO_UNITS = { cheap: 100_000n, odd: 333_333n, dear: 3_000_000n }
const PRICE_MICRO = 130n

let service: Service
let backend: Server
let arrived = 0

beforeAll(async () => {
  backend = createServer((incoming, response) => {
    arrived++
    const asked = new URL(incoming.url ?? '/', 'http://backend').searchParams.get('status')
    response.writeHead(Number(asked ?? 200), { 'content-length': 2 }).end('ok')
  })
  await new Promise<void>((resolve) => backend.listen(0, '127.0.0.1', resolve))
  service = await createService({ args: ['--empty'], env: TWO_THREADS })
  await service.start()
})

afterAll(async () => {
  await service.remove()
  backend.closeAllConnections()
  backend.close()
})

// One of several nodes loses what it had opened for calls: `nodes-limits-faults.test.ts`.
describe.skipIf(isOnPostgres)('limits across kill -9 under load (exact with one node only)', () => {
  it('admit exactly the declared number of calls, which the bill shows', async () => {
    const caller = await open('total', { limits: [{ name: 'all', totals: { month: 1_000 } }] })
    const before = arrived
    const answered = [
      await load('total-v1', caller, 300, () => service.kill()),
      await load('total-v1', caller, 300, () => service.kill()),
      await load('total-v1', caller, Infinity, async () => {}),
    ].reduce((sum, each) => sum + each)

    expect(answered).toBeLessThanOrEqual(1_000)
    expect(answered).toBeGreaterThanOrEqual(1_000 - 2 * CLIENTS)
    expect(arrived - before).toBeLessThanOrEqual(1_000 + 2 * CLIENTS)
    expect(await billed('total-v1')).toMatchObject([{ calls: 1_000, value: 1_000 }])
    expect(await left(caller)).toMatchObject({ limits: [{ remaining: 0 }] })
  })

  it('count units to the millionth', async () => {
    const caller = await open('units', {
      quotas: { period: 'Annual', resourceUnits: 60 },
      resourceUnits: { default: 0.3 },
    })
    await load('units-v1', caller, 70, () => service.kill())
    await load('units-v1', caller, Infinity, async () => {})

    expect(await billed('units-v1')).toMatchObject([{ calls: 200, value: 60 }])
    expect(await left(caller)).toMatchObject({ quota: { period: 'Annual', used: 60, remaining: 0 } })
    const refused = await call('units-v1', caller, 'cheap')
    expect(refused).toMatchObject({ status: 402, document: { limit: 'quota', window: 'Annual' } })
    expect(refused.document['opensAt']).toBe(`${new Date().getUTCFullYear() + 1}-01-01T00:00:00.000Z`)
  })
})

describe('a refusal', () => {
  it('names the limit, its window and the time of its reset', async () => {
    const caller = await open('few', { limits: [{ name: 'few', totals: { day: 1 } }] })
    expect((await call('few-v1', caller, 'cheap')).status).toBe(200)
    const refused = await call('few-v1', caller, 'cheap')

    expect(refused).toMatchObject({
      status: 429,
      document: { code: 'rate_limited', limit: 'few day', window: 'day' },
    })
    expect(String(refused.document['opensAt'])).toMatch(/T00:00:00\.000Z$/)
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
  })
})

describe('the bill', () => {
  it('equals the sum of every call, to the last digit', async () => {
    const { cheap, odd, dear } = MICRO_UNITS
    const sla = {
      resourceUnits: { default: toDecimal(cheap), operations: { odd: toDecimal(odd), dear: toDecimal(dear) } },
      price: { currency: 'EUR', perUnit: toDecimal(PRICE_MICRO) },
      limits: [{ name: 'dear', operationIds: ['dear'], totals: { month: 40 } }],
    }
    const callers = [await open('ledger', sla), await enrol(service, 'ledger-v1', { name: 'Grace' })]
    const sums = new Map<string, { calls: number; microUnits: bigint }>()
    let failed = 0
    for (let index = 0; index < 600; index++) {
      const caller = callers[index % 7 < 3 ? 0 : 1]!
      const operation = OPERATIONS[(index * 5) % 3]!
      const asked = index % 11 === 0 ? 503 : index % 13 === 0 ? 404 : 200
      const { status } = await call('ledger-v1', caller, operation, `?status=${asked}`)
      const sum = sums.get(caller.consumer) ?? { calls: 0, microUnits: 0n }
      if (status !== 429) sum.calls++
      if (status === 503) failed++
      if (status < 429) sum.microUnits += MICRO_UNITS[operation]
      sums.set(caller.consumer, sum)
    }
    await service.stop()
    await service.start()

    const level = await service.platform.get<{ measured: object }>('/v1/apis/ledger-v1/serviceLevel')
    const calls = [...sums.values()].reduce((all, each) => all + each.calls, 0)
    expect(level.measured).toMatchObject({ calls, errorPercent: Number(((failed / calls) * 100).toFixed(3)) })

    const { items } = await service.platform.get<{ items: readonly Bill[] }>('/v1/summaries?api=ledger-v1')
    expect(
      items.map(({ customer, calls, value, amount }) => ({ customer, calls, value, amount })).sort(byCustomer),
    ).toEqual(
      [...sums]
        .map(([customer, { calls, microUnits }]) => ({
          customer,
          calls,
          value: Number(toDecimal(microUnits)),
          amount: toDecimal(microUnits * PRICE_MICRO, 12),
        }))
        .sort(byCustomer),
    )
  })
})

interface Bill {
  readonly customer: string
  readonly calls: number
  readonly value: number
  readonly amount: string
}

/** Publishes a separate API with a declaration, and enrols a caller. */
async function open(title: string, sla: object): Promise<Enrolled> {
  const operations = OPERATIONS.map((id) => [
    `/${id}`,
    {
      get: {
        operationId: id,
        parameters: [{ name: 'status', in: 'query', schema: { type: 'integer' } }],
        responses: { 200: { description: 'ok' } },
      },
    },
  ])
  const document = {
    openapi: '3.1.0',
    info: { title, version: '1.0.0' },
    servers: [{ url: 'http://127.0.0.1:1' }],
    components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'x-api-key' } } },
    security: [{ key: [] }],
    paths: Object.fromEntries(operations) as object,
  }
  const api = `${title}-v1`
  await publish(service, api, document, `http://127.0.0.1:${(backend.address() as AddressInfo).port}`)
  const specification = Buffer.from(JSON.stringify({ opensla: '1.0.0', ...sla })).toString('base64')
  await service.platform.post('/v1/openslaspecs', { api, specification })
  return enrol(service, api)
}

async function call(api: string, { apiKey }: Enrolled, operation: string, query = '') {
  const { statusCode, headers, body } = await request(`${service.gatewayUrl}/${api}/${operation}${query}`, {
    headers: { 'x-api-key': apiKey },
  })
  const text = await body.text()
  return { status: statusCode, headers, document: statusCode === 402 || statusCode === 429 ? asDocument(text) : {} }
}

function asDocument(text: string): Record<string, unknown> {
  return JSON.parse(text) as Record<string, unknown>
}

/** Calls until `goal` responses arrived or no call is admitted, then runs `end`. Returns the number of served calls. */
async function load(api: string, { apiKey }: Enrolled, goal: number, end: () => Promise<void>): Promise<number> {
  const agent = new Agent({ connections: CLIENTS, pipelining: 1 })
  let served = 0
  let ended: Promise<void> | null = null
  async function client(): Promise<void> {
    for (;;) {
      try {
        const { statusCode, body } = await agent.request({
          origin: service.gatewayUrl,
          path: `/${api}/cheap`,
          method: 'GET',
          headers: { 'x-api-key': apiKey },
        })
        await body.text()
        if (statusCode !== 200) return
        served++
      } catch (cause) {
        if (ended === null) throw cause
        return
      }
      if (served >= goal) ended ??= end()
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  await ended
  await agent.destroy()
  if (ended !== null) await service.start()
  return served
}

/** Returns the summaries after a clean stop, which stores all recorded calls. */
async function billed(api: string): Promise<readonly Bill[]> {
  await service.stop()
  await service.start()
  return (await service.platform.get<{ items: readonly Bill[] }>(`/v1/summaries?api=${api}`)).items
}

/** Returns the first operation of the caller's subscription, as the API shows it. */
async function left({ subscription }: Enrolled): Promise<unknown> {
  const path = `/v1/subscriptions/${subscription}/operations`
  return (await service.platform.get<{ items: readonly unknown[] }>(path)).items[0]
}

function byCustomer(a: { customer: string }, b: { customer: string }): number {
  return a.customer < b.customer ? -1 : 1
}

/** Formats an integer number of 10^-places as the shortest decimal. */
function toDecimal(parts: bigint, places = 6): string {
  const one = 10n ** BigInt(places)
  const fraction = String(parts % one)
    .padStart(places, '0')
    .replace(/0+$/, '')
  return fraction === '' ? String(parts / one) : `${parts / one}.${fraction}`
}

/** A backend of three targets under load: one is killed and comes back, and no idempotent call fails. */

import { Agent } from 'undici'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createBackendProcess, type BackendProcess } from './backend-process.ts'
import { createService, enrol, type Enrolled, type Service, TWO_THREADS } from './service.ts'

const CLIENTS = 8
const METHODS = ['GET', 'PUT', 'POST'] as const
const WITHIN = { timeout: 60_000, interval: 20 }

const responses = { 200: { description: 'ok' } }
const requestBody = { content: { 'application/octet-stream': {} } }
const DOCUMENT = {
  openapi: '3.1.0',
  info: { title: 'Things', version: '1.0.0' },
  servers: [{ url: 'http://127.0.0.1:1' }],
  components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'x-api-key' } } },
  security: [{ key: [] }],
  paths: {
    '/things': {
      parameters: [{ name: 'n', in: 'query', schema: { type: 'integer' } }],
      get: { operationId: 'readThing', responses },
      put: { operationId: 'putThing', requestBody, responses },
      post: { operationId: 'makeThing', requestBody, responses },
    },
  },
}

let targets: readonly BackendProcess[]
let service: Service
let proxy: string
let caller: Enrolled
/** Calls that were sent, in all tests. */
let calls = 0

beforeAll(async () => {
  targets = await Promise.all([createBackendProcess(), createBackendProcess(), createBackendProcess()])
  await Promise.all(targets.map((target) => target.start()))
  service = await createService({ args: ['--empty'], env: TWO_THREADS })
  await service.start()
  proxy = await publish({ targets: targets.map(({ url }) => ({ url })) })
  caller = await enrol(service, 'things-v1')
})

afterAll(async () => {
  await service.remove()
  await Promise.all(targets.map((target) => target.kill()))
})

async function publish(backend: object): Promise<string> {
  const { id } = await service.platform.post<{ id: string }>('/v1/proxies', {
    api: 'things-v1',
    specification: Buffer.from(JSON.stringify(DOCUMENT)).toString('base64'),
    backend,
  })
  await service.platform.post(`/v1/proxies/${id}/activate`)
  return id
}

/** Calls over kept-alive connections without a pause. */
function startLoad() {
  const agent = new Agent({ connections: CLIENTS, pipelining: 1 })
  const statuses = { GET: new Map<number, number>(), PUT: new Map<number, number>(), POST: new Map<number, number>() }
  let isOver = false

  async function call(method: (typeof METHODS)[number]): Promise<void> {
    const { statusCode, body } = await agent.request({
      origin: service.gatewayUrl,
      path: `/things-v1/things?n=${calls++}`,
      method,
      headers: { 'x-api-key': caller.apiKey, ...(method !== 'GET' && { 'content-type': 'application/octet-stream' }) },
      body: method === 'GET' ? null : Buffer.alloc(1_000),
    })
    await body.dump()
    statuses[method].set(statusCode, (statuses[method].get(statusCode) ?? 0) + 1)
  }

  const running = Promise.all(
    Array.from({ length: CLIENTS }, async (_, client) => {
      for (let count = client; !isOver; count++) await call(METHODS[count % METHODS.length]!)
    }),
  )
  return {
    statuses,
    async stop() {
      isOver = true
      await running
      await agent.close()
    },
  }
}

const summary = async (): Promise<number> => {
  const { items } = await service.platform.get<{ items: readonly { calls: number }[] }>(
    '/v1/summaries?api=things-v1&groupBy=customer&from=2020-01-01T00:00:00Z&to=2100-01-01T00:00:00Z',
  )
  return items.reduce((sum, { calls }) => sum + calls, 0)
}

/** The backends that need attention, with their states. */
async function attention(): Promise<readonly object[]> {
  const { items } = await service.platform.get<{
    items: readonly { kind: string; subjects: readonly { id: string; name: string }[] }[]
  }>('/v1/attention')
  return items.flatMap(({ kind, subjects }) =>
    kind === 'backend' ? subjects.map(({ id, name }) => ({ id, name })) : [],
  )
}

const receivedBy = (target: BackendProcess) => (): number => target.received.length

/** No idempotent call has failed, and no POST was sent to two targets. */
function expectSafe({ statuses }: ReturnType<typeof startLoad>, ofPost: number): void {
  expect([...statuses.GET.keys()]).toEqual([200])
  expect([...statuses.PUT.keys()]).toEqual([200])
  // A POST that a failing target has received is not sent again.
  expect([...statuses.POST.keys()].filter((status) => status !== 200 && status !== ofPost)).toEqual([])
  const posts = targets.flatMap(({ received }) => received.filter((line) => line.startsWith('POST ')))
  expect(new Set(posts).size).toBe(posts.length)
}

it('A target that is killed under load fails no idempotent call, gets calls again when it is back, and each call is billed once', async () => {
  const [, killed] = targets
  const load = startLoad()
  for (const target of targets) await expect.poll(receivedBy(target), WITHIN).toBeGreaterThan(200)

  await killed!.kill()
  const gone = killed!.received.length
  const callsBefore = calls
  await expect.poll(() => calls, WITHIN).toBeGreaterThan(callsBefore + 2_000)
  expect(killed!.received.length).toBe(gone)

  await killed!.start()
  await expect.poll(receivedBy(killed!), WITHIN).toBeGreaterThan(gone + 200)
  await load.stop()
  expectSafe(load, 502)
  await expect.poll(summary, WITHIN).toBe(calls)
})

it('A target that hangs under load fails no idempotent call, and gets calls again when it goes on', async () => {
  const [, , paused] = targets
  await publish({ targets: targets.map(({ url }) => ({ url })), timeoutMs: 500 })
  const load = startLoad()
  const before = paused!.received.length
  await expect.poll(receivedBy(paused!), WITHIN).toBeGreaterThan(before + 200)

  paused!.pause()
  await expect.poll(attention, WITHIN).toEqual([{ id: 'things-v1', name: 'degraded' }])
  const callsBefore = calls
  await expect.poll(() => calls, WITHIN).toBeGreaterThan(callsBefore + 1_000)

  paused!.resume()
  const callsThen = paused!.received.length
  await expect.poll(receivedBy(paused!), WITHIN).toBeGreaterThan(callsThen + 500)
  await load.stop()
  expectSafe(load, 504)
  await expect.poll(summary, WITHIN).toBe(calls)
  await expect.poll(attention, WITHIN).toEqual([])
})

it('A backend with a URL replaces one with targets, and is shown as it was given', async () => {
  type Shown = { readonly backend: object }
  const before = await service.platform.get<Shown>(`/v1/proxies/${proxy}`)
  expect(before.backend).toEqual({ targets: targets.map(({ url }) => ({ url })), timeoutMs: 500 })
  await publish({ url: targets[0]!.url })
  const { backend } = await service.platform.get<Shown>(`/v1/proxies/${proxy}`)
  expect(backend).toEqual({ url: targets[0]!.url, timeoutMs: 30_000 })
})

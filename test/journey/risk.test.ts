/** Risks in the whole service: a stream that is interrupted and resumes, drift, and a backend that fails. */

import { createServer as createBackend, type Server } from 'node:http'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { EventSource, type FetchLike } from 'eventsource'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { OWN_ADDRESS, ownPort, ownUrl } from '../fixtures/own-address.ts'
import { createRandom } from '../random.ts'
import { readSeed } from '../random-seed.ts'
import { createService, enrol, publish, type Enrolled, type Service, TWO_THREADS } from './service.ts'

const SEED = readSeed(1)
const WAIT = { timeout: 30_000, interval: 20 }

let service: Service
let backend: Server
let backendUrl: string

interface Risk {
  readonly id: string
  readonly riskId: string
  readonly phase: string
  readonly type: string
  readonly severity: string
  readonly attributedTo: { readonly kind: string; readonly name: string }
  readonly state: string
  readonly api: string
  readonly evidence: { readonly reasons: Readonly<Record<string, number>>; readonly requestIds: readonly string[] }
}

beforeAll(async () => {
  backend = createBackend((incoming, response) => {
    const { searchParams } = new URL(incoming.url ?? '/', 'http://backend')
    const body = searchParams.get('body') ?? '{"id":1}'
    response.writeHead(Number(searchParams.get('status') ?? 200), {
      'content-type': searchParams.get('type') ?? 'application/json',
      'content-length': Buffer.byteLength(body),
    })
    response.end(body)
  })
  backendUrl = await listen(backend)
  service = await createService({ args: ['--empty'], env: TWO_THREADS })
  await service.start()
})

afterAll(async () => {
  await service.remove()
  backend.closeAllConnections()
  backend.close()
})

async function listen(
  server: { listen(port: number, host: string, done: () => void): unknown; address(): unknown },
  port = 0,
) {
  await new Promise<void>((resolve) => server.listen(port, OWN_ADDRESS, resolve))
  return ownUrl((server.address() as AddressInfo).port)
}

const schema = { type: 'object', properties: { id: { type: 'integer' } } }
const document = (title: string) => ({
  openapi: '3.1.0',
  info: { title, version: '1.0.0' },
  servers: [{ url: 'http://127.0.0.1:1' }],
  components: {
    securitySchemes: {
      oauth: {
        type: 'oauth2',
        flows: { clientCredentials: { tokenUrl: '/t', scopes: { 'items:read': 'read', 'items:write': 'write' } } },
      },
      key: { type: 'apiKey', in: 'header', name: 'x-api-key' },
    },
  },
  paths: {
    '/items': {
      get: {
        operationId: 'listItems',
        security: [{ oauth: ['items:read'] }, { key: [] }],
        parameters: ['status', 'type', 'body'].map((name) => ({ name, in: 'query', schema: { type: 'string' } })),
        responses: { 200: { description: 'ok', content: { 'application/json': { schema } } } },
      },
      post: {
        operationId: 'makeItem',
        security: [{ oauth: ['items:write'] }],
        responses: { 201: { description: 'made' } },
      },
    },
  },
})

async function call(api: string, { apiKey }: Enrolled, path: string, method: 'GET' | 'DELETE' = 'GET') {
  const { statusCode, headers, body } = await request(`${service.gatewayUrl}/${api}${path}`, {
    method,
    headers: { 'x-api-key': apiKey },
  })
  await body.text()
  return { status: statusCode, headers }
}

async function risksOf(query: string): Promise<readonly Risk[]> {
  return (await service.platform.get<{ items: readonly Risk[] }>(`/v1/risks?limit=500&${query}`)).items
}

describe('the risk stream', () => {
  it('delivers every event exactly once although it is interrupted ten times at random', async () => {
    await publish(service, 'stream-v1', document('Stream'), backendUrl)
    const random = createRandom(SEED)
    const callers: Enrolled[] = []
    for (let index = 0; index < 25; index++)
      callers.push(await enrol(service, 'stream-v1', { name: `Caller ${index}`, scopes: ['items:read'] }))
    const relay = await openRelay(service.baseUrl)
    const heard = await follow(relay.url, '&api=stream-v1')

    let cuts = 0
    for (const [index, caller] of callers.entries()) {
      const token = await caller.token()
      for (let times = 0; times < 1 + random.below(12); times++) {
        const { body } = await request(`${service.gatewayUrl}/stream-v1/items`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}` },
        })
        await body.text()
      }
      // A reader without an event has no position to resume from: it starts with new events.
      await vi.waitFor(() => expect(heard.risks.length).toBeGreaterThan(0), WAIT)
      if (cuts < 10 && (random.below(2) === 0 || callers.length - index <= 10 - cuts)) {
        cuts++
        relay.cut()
        await vi.waitFor(() => expect(relay.connections).toBeGreaterThan(0), WAIT)
      }
    }
    expect(cuts).toBe(10)
    // Each consumer has a separate episode, which its first event opens. The score of the document may raise one of the provider.
    const ofConsumers = (risks: readonly Risk[]) => risks.filter(({ attributedTo }) => attributedTo.kind === 'consumer')
    await vi.waitFor(() => expect(new Set(ofConsumers(heard.risks).map(({ riskId }) => riskId)).size).toBe(25), WAIT)

    const position = ofConsumers(await risksOf('api=stream-v1'))
    await vi.waitFor(async () => {
      const last = new Map(heard.risks.map((risk) => [risk.riskId, risk]))
      for (const { riskId, severity, attributedTo } of position) {
        expect(last.get(riskId), `seed ${SEED}`).toMatchObject({ severity, attributedTo })
      }
    }, WAIT)
    const ids = heard.risks.map(({ id }) => id)
    expect(new Set(ids).size, `seed ${SEED}`).toBe(ids.length)
    expect(ids).toEqual(ids.toSorted())
    // A reader that was never interrupted receives the same events from the first one on.
    const again = await follow(service.baseUrl, '&api=stream-v1', ids[0])
    await vi.waitFor(() => expect(again.risks.map(({ id }) => id)).toEqual(expect.arrayContaining(ids.slice(1))), WAIT)
    expect(again.risks.slice(0, ids.length - 1).map(({ id }) => id)).toEqual(ids.slice(1))
  })
})

describe('drift', () => {
  it('is reported by kind, for the provider and for the caller, and stored once', async () => {
    await publish(service, 'drift-v1', document('Drift'), backendUrl)
    const caller = await enrol(service, 'drift-v1')
    for (let times = 0; times < 5; times++) {
      await call('drift-v1', caller, '/items')
      expect((await call('drift-v1', caller, '/items?status=418')).status).toBe(418)
      await call('drift-v1', caller, '/items?type=text/html')
      await call('drift-v1', caller, '/items?status=503')
      expect((await call('drift-v1', caller, '/nothing')).status).toBe(404)
      expect((await call('drift-v1', caller, '/items', 'DELETE')).status).toBe(405)
    }
    await vi.waitFor(async () => {
      await call('drift-v1', caller, `/items?body=${encodeURIComponent('{"id":"x"}')}`)
      const risks = await risksOf('api=drift-v1&type=DesignDrift')
      const provider = risks.find(({ attributedTo }) => attributedTo.kind === 'provider')
      expect(Object.keys(provider?.evidence.reasons ?? {}).sort()).toEqual([
        'undeclared_body',
        'undeclared_media_type',
        'undeclared_status',
      ])
      expect(risks.find(({ attributedTo }) => attributedTo.kind === 'consumer')).toMatchObject({
        severity: 'Critical',
        evidence: { reasons: { undeclared_operation: expect.any(Number) as number } },
      })
    }, WAIT)
  })

  it('is listed with refusals by call and by episode', async () => {
    const [provider] = await risksOf('api=drift-v1&type=DesignDrift')
    const shown = await service.platform.get<Risk & { timeline: readonly { phase: string }[] }>(
      `/v1/risks/${provider?.riskId ?? ''}`,
    )
    expect(shown.timeline[0]).toMatchObject({ phase: 'opened' })
    expect(shown.evidence.requestIds.length).toBeGreaterThan(0)
    await vi.waitFor(async () => {
      const { items } = await service.platform.get<{ items: readonly object[] }>('/v1/requests?api=drift-v1&limit=500')
      expect(items).toContainEqual(expect.objectContaining({ outcome: 'not_found', status: 404, customerName: 'Ada' }))
      expect(items).not.toContainEqual(expect.objectContaining({ outcome: 'served' }))
    }, WAIT)
  })
})

describe('a backend that fails', () => {
  it('is cut off immediately, and is used again after its recovery', async () => {
    let server = createBackend((_, response) => response.end('{}'))
    const url = await listen(server, await ownPort())
    await publish(service, 'down-v1', document('Down'), url)
    const caller = await enrol(service, 'down-v1')
    expect((await call('down-v1', caller, '/items')).status).toBe(200)
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))

    const statuses = new Set<number>()
    await vi.waitFor(async () => {
      const { status, headers } = await call('down-v1', caller, '/items')
      statuses.add(status)
      expect(status).toBe(503)
      expect(Number(headers['retry-after'])).toBeGreaterThan(0)
    }, WAIT)
    expect([...statuses]).toContain(502)

    server = createBackend((_, response) => response.end('{}'))
    await listen(server, Number(new URL(url).port))
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    await vi.waitFor(async () => {
      const served = await Promise.all(Array.from({ length: 10 }, () => call('down-v1', caller, '/items')))
      expect(served.map(({ status }) => status)).toEqual(Array(10).fill(200))
    }, WAIT)
  })
})

/** A proxy between a reader and the service, which can close every connection. */
async function openRelay(baseUrl: string) {
  const { hostname, port } = new URL(baseUrl)
  const sockets = new Set<Socket>()
  const relay = createServer((socket) => {
    const upstream = connect(Number(port), hostname)
    for (const each of [socket, upstream]) {
      sockets.add(each)
      each.on('error', () => {})
      each.on('close', () => {
        sockets.delete(each)
        socket.destroy()
        upstream.destroy()
      })
    }
    socket.pipe(upstream).pipe(socket)
  })
  const url = await listen(relay)
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    relay.close()
  })
  return {
    url,
    get connections() {
      return sockets.size
    },
    cut() {
      for (const socket of sockets) socket.resetAndDestroy()
      sockets.clear()
    },
  }
}

/** An independent client, which reconnects automatically. */
async function follow(baseUrl: string, filter: string, lastEventId?: string) {
  const risks: Risk[] = []
  const token = await service.platform.token()
  const fetchWithToken: FetchLike = (address, init) =>
    fetch(address, {
      ...init,
      headers: {
        ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
        ...init.headers,
        authorization: `Bearer ${token}`,
      },
    })
  const source = new EventSource(`${baseUrl}/v1/events/subscribe?severity=Info${filter}`, { fetch: fetchWithToken })
  onTestFinished(() => source.close())
  source.addEventListener('risk', ({ data }) => risks.push(JSON.parse(data as string) as Risk))
  await new Promise((resolve) => source.addEventListener('open', resolve, { once: true }))
  return { risks }
}

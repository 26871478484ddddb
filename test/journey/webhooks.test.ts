/** Events at a receiver: each kind from its real cause, and many of them across kills of the process. */

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { Webhook } from 'standardwebhooks'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createService, enrol, publish, type Service } from './service.ts'

/** Total number of messages. */
const MESSAGES = 3_000
const RECEIVERS = 100
const DEAD = 10
const WAIT = { timeout: 60_000, interval: 50 }

type Webhooks = Record<string, { post: { requestBody: { content: { 'application/json': { schema: object } } } } }>

interface Received {
  readonly path: string
  readonly id: string
  readonly body: { readonly type: string; readonly timestamp: string; readonly data: Record<string, unknown> }
}

let service: Service
let receiver: Server
let receiverUrl: string
let received: Received[] = []
const secrets = new Map<string, Webhook>()
/** Paths that hang, and paths that answer 500. */
const hanging = new Set<string>()
const broken = new Set<string>()

async function listen(server: Server, port = 0): Promise<string> {
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

beforeAll(async () => {
  receiver = createServer((incoming, response) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => {
      const path = incoming.url ?? ''
      if (hanging.has(path)) return
      if (broken.has(path)) return response.writeHead(500).end()
      const text = Buffer.concat(chunks).toString()
      const headers = incoming.headers as Record<string, string>
      // Throws if the signature is invalid, which fails the delivery.
      const body = secrets.get(path)!.verify(text, headers) as Received['body']
      received.push({ path, id: headers['webhook-id']!, body })
      return response.writeHead(204).end()
    })
  })
  receiverUrl = await listen(receiver)
  service = await createService({ args: ['--empty'], env: { ALLOW_PRIVATE_ADDRESSES: 'webhooks' } })
  await service.start()
})

afterAll(async () => {
  await service.remove()
  receiver.closeAllConnections()
  receiver.close()
})

async function register(path: string, events?: readonly string[]): Promise<string> {
  const { id, secret } = await service.platform.post<{ id: string; secret: string }>('/v1/eventsubscriptions', {
    url: receiverUrl + path,
    ...(events && { events }),
  })
  secrets.set(path, new Webhook(secret))
  return id
}

const schema = { type: 'object' }
const document = (title: string) => ({
  openapi: '3.1.0',
  info: { title, version: '1.0.0' },
  servers: [{ url: 'http://127.0.0.1:1' }],
  components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'x-api-key' } } },
  paths: {
    '/items': {
      get: {
        operationId: 'listItems',
        security: [{ key: [] }],
        responses: { 200: { description: 'ok', content: { 'application/json': { schema } } } },
      },
    },
  },
})

async function declare(api: string, declaration: { readonly variant?: string; readonly version: string }, more = {}) {
  const text = JSON.stringify({ opensla: '1.0.0', info: declaration, ...more })
  await service.platform.post('/v1/openslaspecs', { api, specification: Buffer.from(text).toString('base64') })
}

async function call(api: string, apiKey: string): Promise<number> {
  const answer = await request(`${service.gatewayUrl}/${api}/items`, { headers: { 'x-api-key': apiKey } })
  await answer.body.dump()
  return answer.statusCode
}

const dataOf = (type: string) => received.filter(({ body }) => body.type === type).map(({ body }) => body.data)

describe('the webhook event', () => {
  let status = 418
  let backend: Server
  let onDown: string

  beforeAll(async () => {
    backend = createServer((_, response) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end('{}'),
    )
    const backendUrl = await listen(backend)
    await register('/all')
    await publish(service, 'shop-v1', document('Shop'), backendUrl)
    await publish(service, 'down-v1', document('Down'), 'http://127.0.0.1:1')
  })
  afterAll(() => {
    backend.closeAllConnections()
    backend.close()
  })

  it('DesignDrift is sent for a response that the contract does not declare', async () => {
    const { apiKey } = await enrol(service, 'shop-v1')
    expect(await call('shop-v1', apiKey)).toBe(418)
    await vi.waitFor(
      () => expect(dataOf('DesignDrift')).toMatchObject([{ api: 'shop-v1', operation: 'listItems', status: 418 }]),
      WAIT,
    )
    status = 200
  })

  it('UpstreamHealthIssue is sent for an unreachable backend', async () => {
    const { apiKey, subscription } = await enrol(service, 'down-v1')
    onDown = subscription
    await vi.waitFor(async () => {
      await Promise.all(Array.from({ length: 10 }, () => call('down-v1', apiKey)))
      expect(dataOf('UpstreamHealthIssue').length).toBeGreaterThan(0)
    }, WAIT)
    expect(dataOf('UpstreamHealthIssue')[0]).toMatchObject({ api: 'down-v1' })
  })

  it('CredentialExpiringSoon and CredentialRevoked are sent', async () => {
    await service.platform.put('/v1/apis/shop-v1/policy', { credentialLifetimeDays: 1 })
    const { subscription, clientId } = await enrol(service, 'shop-v1')
    await service.platform.put('/v1/apis/shop-v1/policy', {})
    await vi.waitFor(() => {
      expect(dataOf('CredentialExpiringSoon')).toContainEqual(expect.objectContaining({ subscription, clientId }))
    }, WAIT)
    const path = `/v1/subscriptions/${subscription}/credentials`
    const { items } = await service.platform.get<{ items: readonly { id: string }[] }>(path)
    await service.platform.delete(`${path}/${items[0]!.id}`)
    await vi.waitFor(() => {
      expect(dataOf('CredentialRevoked')).toMatchObject([{ subscription, credential: items[0]!.id }])
    }, WAIT)
  })

  it('SlaChanged, SubscriptionWaitlistedForCapacity and TierChangeRequested are sent', async () => {
    const limits = [{ name: 'all', concurrent: 2 }]
    await declare('shop-v1', { version: '1.0.0' }, { runtime: [{ name: 'promise', concurrency: 3 }], limits })
    await declare('shop-v1', { version: '1.1.0' }, { runtime: [{ name: 'promise', concurrency: 3 }], limits })
    await declare('shop-v1', { version: '1.0.0', variant: 'gold' }, { limits })
    // Including the first one, because the API has subscriptions; the order is not guaranteed.
    await vi.waitFor(() => {
      const changes = dataOf('SlaChanged').map(({ api, from, to }) => ({ api, from, to }))
      expect(changes).toHaveLength(2)
      expect(changes).toContainEqual({ api: 'shop-v1', from: null, to: '1.0.0' })
      expect(changes).toContainEqual({ api: 'shop-v1', from: '1.0.0', to: '1.1.0' })
    }, WAIT)

    const { id: consumer } = await service.platform.post<{ id: string }>('/v1/consumers', {
      name: 'Late',
      kind: 'application',
    })
    const { id } = await service.platform.post<{ id: string }>('/v1/subscriptions', { consumer, api: 'shop-v1' })
    await vi.waitFor(() => {
      expect(dataOf('SubscriptionWaitlistedForCapacity')).toMatchObject([{ subscription: id, api: 'shop-v1' }])
    }, WAIT)

    await service.platform.put('/v1/apis/down-v1/policy', { subscriptionApproval: 'Manual' })
    await declare('down-v1', { version: '1.0.0', variant: 'gold' }, { limits })
    await service.platform.post(`/v1/subscriptions/${onDown}/tierChanges`, { slaVariant: 'gold', reason: 'More.' })
    await vi.waitFor(() => {
      expect(dataOf('TierChangeRequested')).toMatchObject([{ subscription: onDown, to: 'gold', reason: 'More.' }])
    }, WAIT)
  })

  it('VersionDeprecated and VersionSunset are sent', async () => {
    const retirementDate = new Date(Date.now() + 86_400_000).toISOString()
    await service.platform.post('/v1/apis/down-v1/deprecate', { retirementDate })
    await service.platform.post('/v1/apis/down-v1/retire', { force: true })
    await vi.waitFor(() => {
      expect(dataOf('VersionDeprecated')).toMatchObject([{ api: 'down-v1', retirementDate }])
      expect(dataOf('VersionSunset')).toMatchObject([{ api: 'down-v1' }])
    }, WAIT)
  })

  it('of each kind arrived once and as published, and no refusal was sent', async () => {
    expect(new Set(received.map(({ id }) => id)).size).toBe(received.length)
    expect(new Set(received.map(({ body }) => body.type)).size).toBe(9)
    const { webhooks } = (await (await fetch(`${service.baseUrl}/openapi.json`)).json()) as { webhooks: Webhooks }
    const ajv = addFormats.default(new Ajv2020({ strict: false }))
    for (const { body } of received) {
      const validate = ajv.compile(webhooks[body.type]!.post.requestBody.content['application/json'].schema)
      expect(validate(body), `${JSON.stringify(body)} ${JSON.stringify(validate.errors)}`).toBe(true)
    }
  })
})

describe('many webhook messages', () => {
  it(
    'reach every receiver that lives, over three deaths of the process, and wait for those that do not',
    { timeout: 600_000 },
    async () => {
      received = []
      const { items } = await service.platform.get<{ items: readonly { id: string }[] }>('/v1/eventsubscriptions')
      for (const { id } of items) await service.platform.delete(`/v1/eventsubscriptions/${id}`)
      const paths = Array.from({ length: RECEIVERS }, (_, index) => `/${index}`)
      for (const path of paths.slice(0, DEAD / 2)) hanging.add(path)
      for (const path of paths.slice(DEAD / 2, DEAD)) broken.add(path)
      const ids = new Map<string, string>()
      for (const path of paths) ids.set(path, await register(path, ['SlaChanged']))

      const events = MESSAGES / RECEIVERS
      const versions = Array.from({ length: events }, (_, index) => `2.0.${index}`)
      const [first, second, third] = [1, 2, 3].map((part) => Math.floor((events * part) / 4))
      for (const [index, version] of versions.entries()) {
        await declare('shop-v1', { version })
        if (index !== first && index !== second && index !== third) continue
        await service.kill()
        await service.start()
      }
      const living = paths.slice(DEAD)
      await vi.waitFor(
        () => {
          const arrived = new Set(received.map(({ path, body }) => `${path} ${String(body.data['to'])}`))
          expect(arrived.size).toBe(living.length * events)
        },
        { timeout: 300_000, interval: 200 },
      )
      // One id per message, for every receiver and every attempt.
      for (const path of living) {
        const own = received.filter((each) => each.path === path)
        expect(new Set(own.map(({ id }) => id)).size).toBe(events)
      }
      for (const path of paths.slice(0, DEAD)) {
        const waiting = await service.platform.get<{ items: readonly object[] }>(
          `/v1/eventsubscriptions/${ids.get(path)}/deliveries?state=pending&limit=500`,
        )
        expect(waiting.items).toHaveLength(events)
      }
      expect(await service.stop()).toBe(0)
    },
  )
})

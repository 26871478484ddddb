import { expect, it, vi } from 'vitest'
import type {
  LoggedRequest,
  RequestFeed,
  RequestFeedListener,
  RequestFilter,
} from '../../../src/store/request-store.ts'
import { listen, read } from '../../fixtures/risk-reader.ts'

const ACCEPT = 'Accept: text/event-stream\r\n'

function createFeed() {
  const subscribers = new Map<RequestFilter, RequestFeedListener>()
  const feed: RequestFeed = {
    subscribe(filter, listener) {
      subscribers.set(filter, listener)
      return () => void subscribers.delete(filter)
    },
  }
  return { feed, subscribers }
}

const logged: LoggedRequest = {
  timeMs: 0,
  tenant: 'acme',
  api: 'payments-v1',
  operation: 'listPayments',
  requestId: '0'.repeat(24),
  status: 200,
  outcome: 'served',
  consumer: 'con_1',
  consumerName: 'Shop',
  subscription: 'sub_1',
  agent: '',
  person: '',
  durationUs: 1_500,
  upstreamUs: 0,
  requestBytes: 0,
  responseBytes: 2,
  channel: 'http',
  unitsMicro: 2_000_000,
  explanation: '',
}

it('200: sends calls of the tenant with the fields of the list, and the number of those that were left out', async () => {
  const { feed, subscribers } = createFeed()
  const { platform, port } = await listen({ liveRequests: feed })
  const reader = read(port, platform.token('acme'), '/v1/requests?api=payments-v1&outcome=served', ACCEPT)
  await reader.seen('retry: 1000')
  expect([...subscribers.keys()]).toEqual([{ tenant: 'acme', api: 'payments-v1', outcome: 'served' }])
  for (const { onRequest, onSkipped } of subscribers.values()) {
    onRequest(logged)
    onSkipped(7)
  }
  await reader.seen('event: skipped\ndata: {"count":7}\n')
  const [, data = ''] = /event: request\ndata: (.*)\n/.exec(reader.text()) ?? []
  expect(JSON.parse(data)).toMatchObject({
    time: '1970-01-01T00:00:00.000Z',
    customer: 'con_1',
    durationMs: 1.5,
    resourceUnits: 2,
  })
  expect(data).not.toContain('acme')
})

it('200: sends a caller with the own width the calls of its consumer alone', async () => {
  const { feed, subscribers } = createFeed()
  const { platform, port } = await listen({ liveRequests: feed })
  const own = platform.token('acme', ['requests:read:own'], undefined, { consumer: 'con_1' })
  await read(port, own, '/v1/requests', ACCEPT).seen('retry: 1000')
  // An empty filter would select the calls without a consumer.
  await read(port, own, '/v1/requests?customer=con_2', ACCEPT).seen('retry: 1000')
  expect([...subscribers.keys()].map(({ customer }) => customer)).toEqual(['con_1'])
})

it('200: ends when the service stops', async () => {
  const { feed } = createFeed()
  const { platform, port } = await listen({ liveRequests: feed })
  const reader = read(port, platform.token('acme'), '/v1/requests', ACCEPT)
  await reader.seen('retry: 1000')
  await platform.server.close()
  await vi.waitFor(() => expect(reader.socket.destroyed).toBe(true))
})

it('200: ends the subscription when the reader disconnects', async () => {
  const { feed, subscribers } = createFeed()
  const { platform, port } = await listen({ liveRequests: feed })
  const reader = read(port, platform.token('acme'), '/v1/requests', ACCEPT)
  await reader.seen('retry: 1000')
  reader.socket.destroy()
  await vi.waitFor(() => expect(subscribers.size).toBe(0))
})

it('403: refuses a caller without the scope', async () => {
  const { platform, port } = await listen()
  await read(port, platform.token('acme', ['apis:read']), '/v1/requests', ACCEPT).seen('HTTP/1.1 403')
})

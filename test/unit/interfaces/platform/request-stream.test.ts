import { expect, it, vi } from 'vitest'
import type {
  LoggedRequest,
  RequestFeed,
  RequestFeedListener,
  RequestFilter,
} from '../../../../src/storage/store/request-store.ts'
import { listen, read } from '../../../fixtures/risk-reader.ts'

const ACCEPT = 'Accept: text/event-stream\r\n'

function createFeed(isResumable = false) {
  const subscribers = new Map<RequestFilter, RequestFeedListener>()
  const resumedAtMs: (number | undefined)[] = []
  const feed: RequestFeed = {
    isResumable,
    subscribe(filter, listener, sinceMs) {
      subscribers.set(filter, listener)
      resumedAtMs.push(sinceMs)
      return () => void subscribers.delete(filter)
    },
  }
  return { feed, subscribers, resumedAtMs }
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
  revision: 3,
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

it('200: sends the reason of a refusal', async () => {
  const { feed, subscribers } = createFeed()
  const { platform, port } = await listen({ liveRequests: feed })
  const reader = read(port, platform.token('acme'), '/v1/requests', ACCEPT)
  await reader.seen('retry: 1000')
  const errors = ['/item', '/amount'].map((pointer) => ({ pointer, detail: 'Give it.' }))
  const explanation = JSON.stringify({ detail: 'The body does not match its schema.', errors })
  for (const { onRequest } of subscribers.values()) {
    onRequest({ ...logged, status: 400, outcome: 'payload_invalid', explanation })
    const whole = JSON.stringify({
      detail: 'The body does not match.',
      errors: [{ pointer: '', detail: 'Send an object.' }],
    })
    onRequest({ ...logged, status: 400, outcome: 'payload_invalid', explanation: whole })
    onRequest({ ...logged, requestId: '1'.repeat(24) })
  }
  await reader.seen('"requestId":"1')
  const [refused, ofWhole, served] = [...reader.text().matchAll(/event: request\ndata: (.*)\n/g)].map(([, data = '']) =>
    JSON.parse(data),
  ) as [object, object, object]
  expect(refused).toMatchObject({ status: 400, detail: 'The body does not match its schema. /item: Give it.' })
  expect(ofWhole).toMatchObject({ detail: 'The body does not match. Send an object.' })
  expect(served).not.toHaveProperty('detail')
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

it('200: subscribes to refusals only with `outcome=refused`', async () => {
  const { feed, subscribers } = createFeed()
  const { platform, port } = await listen({ liveRequests: feed })
  await read(port, platform.token('acme'), '/v1/requests?outcome=refused', ACCEPT).seen('retry: 1000')
  expect([...subscribers.keys()]).toEqual([{ tenant: 'acme', isRefused: true }])
})

it('200: sends the same text of a call to several readers', async () => {
  const { feed, subscribers } = createFeed()
  const { platform, port } = await listen({ liveRequests: feed })
  const readers = [1, 2].map(() => read(port, platform.token('acme'), '/v1/requests', ACCEPT))
  await Promise.all(readers.map((reader) => reader.seen('retry: 1000')))
  for (const { onRequest } of subscribers.values()) onRequest(logged)
  await Promise.all(readers.map((reader) => reader.seen('event: request')))
  const [first, second] = readers.map((reader) => reader.text().slice(reader.text().indexOf('event: request')))
  expect(second).toBe(first)
})

it('200: a HEAD request opens no stream', async () => {
  const { feed, subscribers } = createFeed()
  const { platform, port } = await listen({ liveRequests: feed })
  const token = platform.token('acme')
  const path = `http://127.0.0.1:${port}/v1/requests`
  const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream' }
  const answers = await Promise.all(Array.from({ length: 10 }, () => fetch(path, { method: 'HEAD', headers })))
  for (const { status, headers: given } of answers) {
    expect([status, given.get('content-type')]).toEqual([200, 'text/event-stream'])
  }
  expect(subscribers.size).toBe(0)
  await read(port, token, '/v1/requests', ACCEPT).seen('HTTP/1.1 200')
})

it('503: a caller has at most five streams, with all its credentials, and leaves places for the others', async () => {
  const { feed, subscribers } = createFeed()
  const { platform, port } = await listen({ liveRequests: feed })
  const tokenOf = (consumer: string) => platform.token('acme', ['requests:read:own'], undefined, { consumer })
  const open = (consumer: string) => read(port, tokenOf(consumer), '/v1/requests', ACCEPT)
  const readers = Array.from({ length: 5 }, () => open('con_1'))
  await Promise.all(readers.map((reader) => reader.seen('retry: 1000')))
  const refused = open('con_1')
  await refused.seen('HTTP/1.1 503')
  expect(refused.text()).toContain('Too many request streams are open. Request the list as JSON instead.')
  await open('con_2').seen('retry: 1000')
  readers[0]!.socket.destroy()
  await vi.waitFor(() => expect(subscribers.size).toBe(5))
  await open('con_1').seen('retry: 1000')
})

it('503: a tenant has at most twenty streams, and leaves places for other tenants', async () => {
  const { platform, port } = await listen({ liveRequests: createFeed().feed })
  const tokenOf = (consumer: string) => platform.token('acme', ['requests:read:own'], undefined, { consumer })
  const readers = Array.from({ length: 20 }, (_, index) =>
    read(port, tokenOf(`con_${Math.floor(index / 5)}`), '/v1/requests', ACCEPT),
  )
  await Promise.all(readers.map((reader) => reader.seen('retry: 1000')))
  await read(port, tokenOf('con_9'), '/v1/requests', ACCEPT).seen('HTTP/1.1 503')
  await read(port, platform.token('globex'), '/v1/requests', ACCEPT).seen('retry: 1000')
})

it('200: disconnects a reader that does not read, before its events fill the memory', async () => {
  const { feed, subscribers } = createFeed()
  const { platform, port } = await listen({ liveRequests: feed })
  const reader = read(port, platform.token('acme'), '/v1/requests', ACCEPT)
  await reader.seen('retry: 1000')
  reader.socket.pause()
  const large = { ...logged, explanation: '', consumerName: 'x'.repeat(100_000) }
  let sent = 0
  while (subscribers.size > 0 && sent < 1_000) {
    for (const { onRequest } of subscribers.values()) onRequest(large)
    sent++
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(subscribers.size).toBe(0)
})

it('200: ends when the roles of a person no longer cover the consumer', async () => {
  const { feed, subscribers } = createFeed()
  const { platform, port } = await listen({ liveRequests: feed })
  const admin = platform.token('acme')
  const ids: string[] = []
  for (const name of ['One', 'Two']) {
    const body = { name, kind: 'application' }
    ids.push(String((await platform.send('POST', '/v1/consumers', { token: admin, body })).body['id']))
  }
  const [one, two] = ids
  const rolesFor = (consumer?: string) => [{ role: 'consumer', consumers: [consumer] }]
  const user = { username: 'grace', password: 'a long password', name: 'Grace', roles: rolesFor(one) }
  const person = String((await platform.send('POST', '/v1/users', { token: admin, body: user })).body['id'])
  const token = platform.token('acme', ['requests:read:own'], undefined, { person })
  const reader = read(port, token, '/v1/requests', ACCEPT)
  await reader.seen('retry: 1000')
  expect([...subscribers.keys()]).toEqual([{ tenant: 'acme', customer: one }])
  const body = { roles: rolesFor(two) }
  expect((await platform.send('PATCH', `/v1/users/${person}`, { token: admin, body })).status).toBe(200)
  await reader.ended
  expect(subscribers.size).toBe(0)
})

it('200: ends when the service stops', async () => {
  const { feed } = createFeed()
  const { platform, port } = await listen({ liveRequests: feed })
  const reader = read(port, platform.token('acme'), '/v1/requests', ACCEPT)
  await reader.seen('retry: 1000')
  await platform.server.close()
  await vi.waitFor(() => expect(reader.socket.destroyed).toBe(true))
})

it('503: is not opened while the service stops, which would then not end', async () => {
  const { feed } = createFeed()
  const { platform, port } = await listen({ liveRequests: feed })
  const { promise: written, resolve: write } = Promise.withResolvers<void>()
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>()
  platform.beforeRecord = () => {
    reach()
    return written
  }
  const reader = read(port, platform.token('acme'), '/v1/requests', ACCEPT)
  await reached
  const closed = platform.server.close()
  write()
  await reader.seen('HTTP/1.1 503')
  expect(reader.text()).toContain('The service is stopping.')
  await closed
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

it('200: a feed that resumes names the time of each call, and begins after the one that a reader had last', async () => {
  const { feed, subscribers, resumedAtMs } = createFeed(true)
  const { platform, port } = await listen({ liveRequests: feed })
  const asked = ['', '1700000000123', '0', '-1', '1e9', '17000000001234', 'evt_1', ' 17', '1700000000123;x']
  for (const id of asked) {
    const reader = read(port, platform.token('acme'), '/v1/requests', `${ACCEPT}Last-Event-ID: ${id}\r\n`)
    await reader.seen('retry: 1000')
    if (id === '1700000000123') {
      for (const { onRequest } of subscribers.values()) onRequest({ ...logged, timeMs: 1_700_000_000_456 })
      await reader.seen('event: request\nid: 1700000000456\ndata: {')
    }
    reader.socket.destroy()
    await expect.poll(() => subscribers.size).toBe(0)
  }
  expect(resumedAtMs).toEqual([undefined, 1_700_000_000_123, 0, ...Array.from({ length: 4 }), 17, undefined])
})

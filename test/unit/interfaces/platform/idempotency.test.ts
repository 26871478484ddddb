import { describe, expect, it } from 'vitest'
import { publishApi } from '../../../fixtures/published-api.ts'
import { openTestPlatform, type Answer, type TestPlatform } from '../../../fixtures/test-platform.ts'

const consumer = { name: 'Ada', kind: 'application' }

function post(
  platform: TestPlatform,
  key: string,
  body: unknown = consumer,
  token = TOKENS.get(platform) ?? '',
): Promise<Answer> {
  return platform.send('POST', '/v1/consumers', { token, body, headers: { 'idempotency-key': key } })
}

const TOKENS = new WeakMap<TestPlatform, string>()

async function open(): Promise<TestPlatform> {
  const platform = await openTestPlatform()
  TOKENS.set(platform, platform.token('acme'))
  return platform
}

const countOf = async (platform: TestPlatform) =>
  ((await platform.send('GET', '/v1/consumers', { token: TOKENS.get(platform) ?? '' })).body['items'] as unknown[])
    .length

describe('a duplicate request', () => {
  it('gets the stored answer and has no further effect', async () => {
    const platform = await open()
    const first = await post(platform, 'key-1')
    const again = await post(platform, 'key-1')

    expect(again).toMatchObject({ status: 201, body: first.body })
    expect(again.headers).toMatchObject({ 'idempotency-replayed': 'true', location: first.headers['location'] })
    expect(first.headers['idempotency-replayed']).toBeUndefined()
    expect(await countOf(platform)).toBe(1)
  })

  it('gets the stored refusal, even if it would succeed now', async () => {
    const platform = await open()
    const body = { consumer: 'con_none', api: 'payments-v1' }
    const token = TOKENS.get(platform) ?? ''
    const send = () => platform.send('POST', '/v1/subscriptions', { token, body, headers: { 'idempotency-key': 'k' } })
    const first = await send()
    expect(first).toMatchObject({ status: 400, body: { errors: [{ pointer: '/consumer' }] } })
    const again = await send()
    expect({ ...again.body, requestId: '' }).toEqual({ ...first.body, requestId: '' })
    expect(again.headers['idempotency-replayed']).toBe('true')
  })

  it('is a new request under another key, at another path, or from another client', async () => {
    const platform = await open()
    const answers = [
      await post(platform, 'key-1'),
      await post(platform, 'key-2'),
      await post(platform, 'key-1', consumer, platform.token('rival')),
    ]
    expect(new Set(answers.map(({ body }) => body['id'])).size).toBe(3)
    const token = TOKENS.get(platform) ?? ''
    const elsewhere = await platform.send('POST', '/v1/users', {
      token,
      body: { username: 'ada', password: 'a long password', name: 'Ada' },
      headers: { 'idempotency-key': 'key-1' },
    })
    expect(elsewhere.status).toBe(201)
  })

  it('is refused with another body', async () => {
    const platform = await open()
    await post(platform, 'key-1')
    const other = await post(platform, 'key-1', { ...consumer, name: 'Grace' })
    expect(other).toMatchObject({ status: 422, body: { code: 'idempotency_mismatch' } })
    expect(await countOf(platform)).toBe(1)
  })

  it('gets 409 with Retry-After while the first one is running', async () => {
    const platform = await open()
    const answers = await Promise.all(Array.from({ length: 5 }, () => post(platform, 'key-1')))
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 201).length).toBeGreaterThanOrEqual(1)
    for (const { status, headers } of answers) if (status === 409) expect(headers['retry-after']).toBe('1')
    expect(await countOf(platform)).toBe(1)
  })

  it('gets an answer that caches must not store, since it may contain a secret', async () => {
    const platform = await open()
    const token = TOKENS.get(platform) ?? ''
    const { subscription } = await publishApi(platform, token)
    const path = `/v1/subscriptions/${subscription}/credentials/rotate`
    const rotate = () => platform.send('POST', path, { token, headers: { 'idempotency-key': 'key-1' } })
    const [first, again] = [await rotate(), await rotate()]
    expect(again).toMatchObject({ status: 200, body: first.body, headers: { 'idempotency-replayed': 'true' } })
    for (const { headers } of [first, again]) expect(headers['cache-control']).toBe('no-store')
  })

  it('is a new request after 24 hours', async () => {
    const platform = await open()
    const first = await post(platform, 'key-1')
    platform.clock.advanceSync(86_399_999)
    expect((await post(platform, 'key-1', consumer, platform.token('acme'))).body['id']).toBe(first.body['id'])
    platform.clock.advanceSync(1)
    expect((await post(platform, 'key-1', consumer, platform.token('acme'))).body['id']).not.toBe(first.body['id'])
  })

  it('is executed after a server error', async () => {
    const platform = await open()
    const { commit } = platform.registry
    platform.registry.commit = () => Promise.reject(new Error('disk full'))
    expect((await post(platform, 'key-1')).status).toBe(500)
    platform.registry.commit = commit
    expect((await post(platform, 'key-1')).status).toBe(201)
  })

  it('gets the stored answer even if the resource has changed since', async () => {
    const platform = await open()
    const token = TOKENS.get(platform) ?? ''
    const { subscription } = await publishApi(platform, token)
    const path = `/v1/subscriptions/${subscription}`
    const tag = (await platform.send('GET', path, { token })).headers['etag'] ?? ''
    const headers = { 'idempotency-key': 'key-1', 'if-match': tag }
    const cancel = () => platform.send('POST', `${path}/cancel`, { token, headers })
    const first = await cancel()
    expect(first).toMatchObject({ status: 200, body: { state: 'Cancelled' } })
    expect(await cancel()).toMatchObject({ status: 200, body: first.body })
  })
})

it.each(['', ' ', 'two words', 'x'.repeat(256), 'ü'])('the Idempotency-Key %j is refused', async (key) => {
  const platform = await open()
  const answer = await post(platform, key)
  expect([answer.status, await countOf(platform)]).toEqual([400, 0])
})

it('A person who acts for two consumers can use a key for each of them', async () => {
  const platform = await open()
  const admin = TOKENS.get(platform) ?? ''
  const ids = [await post(platform, 'a'), await post(platform, 'b')].map(({ body }) => String(body['id']))
  const user = { username: 'ada', name: 'Ada', roles: [{ role: 'consumer', consumers: ids }] }
  const person = String((await platform.send('POST', '/v1/users', { token: admin, body: user })).body['id'])
  const token = platform.token('acme', ['eventsubscriptions:write:own'], undefined, { person })
  const consumers: unknown[] = []
  for (const id of ids) {
    const headers = { 'idempotency-key': 'key', 'x-consumer-id': id }
    const body = { url: 'https://receiver.example/hook' }
    consumers.push((await platform.send('POST', '/v1/eventsubscriptions', { token, headers, body })).body['consumer'])
  }
  expect(consumers).toEqual(ids)
})

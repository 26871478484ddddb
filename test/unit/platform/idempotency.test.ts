import { describe, expect, it } from 'vitest'
import { furnish, openHouse, type Answer, type House } from '../../fixtures/test-platform.ts'

const consumer = { name: 'Ada', kind: 'application' }

function post(house: House, key: string, body: unknown = consumer, token = TOKENS.get(house) ?? ''): Promise<Answer> {
  return house.send('POST', '/v1/consumers', { token, body, headers: { 'idempotency-key': key } })
}

const TOKENS = new WeakMap<House, string>()

async function open(): Promise<House> {
  const house = await openHouse()
  TOKENS.set(house, house.token('acme'))
  return house
}

const countOf = async (house: House) =>
  ((await house.send('GET', '/v1/consumers', { token: TOKENS.get(house) ?? '' })).body['items'] as unknown[]).length

describe('a request that is sent again', () => {
  it('gets the answer it got, and is done once', async () => {
    const house = await open()
    const first = await post(house, 'key-1')
    const again = await post(house, 'key-1')

    expect(again).toMatchObject({ status: 201, body: first.body })
    expect(again.headers).toMatchObject({ 'idempotency-replayed': 'true', location: first.headers['location'] })
    expect(first.headers['idempotency-replayed']).toBeUndefined()
    expect(await countOf(house)).toBe(1)
  })

  it('gets the refusal it got, though it would be taken by now', async () => {
    const house = await open()
    const body = { consumer: 'con_none', api: 'payments-v1' }
    const token = TOKENS.get(house) ?? ''
    const send = () => house.send('POST', '/v1/subscriptions', { token, body, headers: { 'idempotency-key': 'k' } })
    const first = await send()
    expect(first).toMatchObject({ status: 400, body: { errors: [{ pointer: '/consumer' }] } })
    const again = await send()
    expect({ ...again.body, requestId: '' }).toEqual({ ...first.body, requestId: '' })
    expect(again.headers['idempotency-replayed']).toBe('true')
  })

  it('is another request under another key, at another path, and of another client', async () => {
    const house = await open()
    const answers = [
      await post(house, 'key-1'),
      await post(house, 'key-2'),
      await post(house, 'key-1', consumer, house.token('rival')),
    ]
    expect(new Set(answers.map(({ body }) => body['id'])).size).toBe(3)
    const token = TOKENS.get(house) ?? ''
    const elsewhere = await house.send('POST', '/v1/users', {
      token,
      body: { username: 'ada', password: 'a long password', name: 'Ada' },
      headers: { 'idempotency-key': 'key-1' },
    })
    expect(elsewhere.status).toBe(201)
  })

  it('with another body is refused', async () => {
    const house = await open()
    await post(house, 'key-1')
    const other = await post(house, 'key-1', { ...consumer, name: 'Grace' })
    expect(other).toMatchObject({ status: 422, body: { code: 'idempotency_mismatch' } })
    expect(await countOf(house)).toBe(1)
  })

  it('while the first still runs is told to wait', async () => {
    const house = await open()
    const answers = await Promise.all(Array.from({ length: 5 }, () => post(house, 'key-1')))
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 201).length).toBeGreaterThanOrEqual(1)
    for (const { status, headers } of answers) if (status === 409) expect(headers['retry-after']).toBe('1')
    expect(await countOf(house)).toBe(1)
  })

  it('is not to be kept by anybody on the way, since it may hold a secret', async () => {
    const house = await open()
    const token = TOKENS.get(house) ?? ''
    const { subscription } = await furnish(house, token)
    const path = `/v1/subscriptions/${subscription}/credentials/rotate`
    const rotate = () => house.send('POST', path, { token, headers: { 'idempotency-key': 'key-1' } })
    const [first, again] = [await rotate(), await rotate()]
    expect(again).toMatchObject({ status: 200, body: first.body, headers: { 'idempotency-replayed': 'true' } })
    for (const { headers } of [first, again]) expect(headers['cache-control']).toBe('no-store')
  })

  it('is a new request after 24 hours', async () => {
    const house = await open()
    const first = await post(house, 'key-1')
    house.clock.forward(86_399_999)
    expect((await post(house, 'key-1', consumer, house.token('acme'))).body['id']).toBe(first.body['id'])
    house.clock.forward(1)
    expect((await post(house, 'key-1', consumer, house.token('acme'))).body['id']).not.toBe(first.body['id'])
  })

  it('is done, where it failed on our side', async () => {
    const house = await open()
    const { commit } = house.registry
    house.registry.commit = () => Promise.reject(new Error('disk full'))
    expect((await post(house, 'key-1')).status).toBe(500)
    house.registry.commit = commit
    expect((await post(house, 'key-1')).status).toBe(201)
  })

  it('gets no other answer where the resource has moved on meanwhile: conditions are of the first', async () => {
    const house = await open()
    const token = TOKENS.get(house) ?? ''
    const { subscription } = await furnish(house, token)
    const path = `/v1/subscriptions/${subscription}`
    const tag = (await house.send('GET', path, { token })).headers['etag'] ?? ''
    const headers = { 'idempotency-key': 'key-1', 'if-match': tag }
    const cancel = () => house.send('POST', `${path}/cancel`, { token, headers })
    const first = await cancel()
    expect(first).toMatchObject({ status: 200, body: { state: 'Cancelled' } })
    expect(await cancel()).toMatchObject({ status: 200, body: first.body })
  })
})

it.each(['', ' ', 'two words', 'x'.repeat(256), 'ü'])('the key %j is refused', async (key) => {
  const house = await open()
  const answer = await post(house, key)
  expect([answer.status, await countOf(house)]).toEqual([400, 0])
})

/** The sender with receivers that accept, fail, hang, redirect and reset, over real connections. */

import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import type { Resolve } from '../../../src/foundation/outbound/guarded-lookup.ts'
import { ACME, loopback, NOW_MS, openTestReceiver, type Message } from '../../fixtures/test-receiver.ts'

const at = { resolve: loopback }

describe('a webhook message', () => {
  it('is verified by an independent receiver, with both secrets during a rotation', async () => {
    const { attempt, messages, registration, registrations } = await openTestReceiver(
      (response) => response.end('thanks'),
      at,
    )
    expect(await attempt()).toMatchObject({
      isGood: true,
      delivery: { state: 'delivered', nextAttempt: null, attempts: [{ status: 200, response: 'thanks' }] },
    })
    const { secret } = await registrations.rotateSecret(ACME, registration.id)
    await attempt()
    const [first, second] = messages as [Message, Message]
    expect(new Webhook(registration.secret).verify(first.body, first.headers)).toMatchObject({ type: 'SlaChanged' })
    expect(() => new Webhook(secret).verify(first.body, first.headers)).toThrow()
    for (const each of [registration.secret, secret])
      expect(new Webhook(each).verify(second.body, second.headers)).toMatchObject({ type: 'SlaChanged' })
    expect(first.headers).toMatchObject({ 'content-type': 'application/json' })
  })

  it('is signed with the previous secret for one day only', async () => {
    const { attempt, messages, registration, registrations, clock } = await openTestReceiver(
      (response) => response.end(),
      at,
    )
    const { secret } = await registrations.rotateSecret(ACME, registration.id)
    clock.advanceSync(86_400_000)
    await attempt()
    expect(messages[0]!.headers['webhook-signature']!.split(' ')).toHaveLength(1)
    expect(messages[0]!.headers['webhook-signature']).not.toBe('')
    expect(secret).not.toBe(registration.secret)
  })

  it('has the same id and the same bytes in every attempt', async () => {
    let status = 500
    const { attempt, deliveries, registration, send, messages } = await openTestReceiver(
      (response) => response.writeHead(status).end(),
      at,
    )
    const { delivery } = await attempt()
    status = 204
    await send(delivery.id)
    await deliveries.redeliver(ACME, registration.id, delivery.id)
    await send(delivery.id)
    expect(messages).toHaveLength(3)
    expect(new Set(messages.map(({ body }) => body)).size).toBe(1)
    expect(new Set(messages.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([delivery.webhookId]))
  })
})

describe('a webhook receiver', () => {
  it('that returns 500 is retried after its Retry-After, and is failing until a success', async () => {
    let status = 500
    const { attempt, stateOf, clock, send } = await openTestReceiver(
      (response) => response.writeHead(status, { 'retry-after': '60' }).end('<b>broken</b>\n'),
      at,
    )
    const { isGood, delivery } = await attempt()
    expect([isGood, await stateOf()]).toEqual([false, 'failing'])
    expect(delivery).toMatchObject({
      state: 'pending',
      nextAttempt: new Date(NOW_MS + 60_000).toISOString(),
      attempts: [{ time: new Date(NOW_MS).toISOString(), status: 500, durationMs: 0, response: '<b>broken</b> ' }],
    })
    status = 200
    clock.advanceSync(60_000)
    expect([await send(delivery.id), await stateOf()]).toEqual([true, 'active'])
  })

  it('that hangs times out after 15 seconds', async () => {
    const asked = Promise.withResolvers<void>()
    const { attempt, clock } = await openTestReceiver(() => asked.resolve(), at)
    const { delivery } = await attempt(async () => {
      await asked.promise
      clock.advanceSync(15_000)
    })
    expect(delivery.attempts).toEqual([
      {
        time: new Date(NOW_MS).toISOString(),
        status: null,
        durationMs: 15_000,
        response: 'No complete response within 15000 ms.',
      },
    ])
  })

  it.each([
    [200, true],
    [500, false],
  ])(
    'that trickles a body behind %d is not waited for longer than that, and its status counts',
    async (status, isGood) => {
      const written = Promise.withResolvers<void>()
      const { attempt, clock } = await openTestReceiver((response) => {
        response.writeHead(status)
        response.write('.', () => written.resolve())
      }, at)
      const result = await attempt(async () => {
        // The clock advances only after the response head has arrived.
        for (let rounds = 0; rounds < 50; rounds++) await new Promise((resolve) => setImmediate(resolve))
        clock.advanceSync(15_000)
      })
      expect(result.isGood).toBe(isGood)
    },
  )

  it('that resets the connection is retried', async () => {
    const { attempt } = await openTestReceiver((response) => response.socket?.resetAndDestroy(), at)
    const { isGood, delivery } = await attempt()
    expect([isGood, delivery.state, delivery.attempts[0]?.status]).toEqual([false, 'pending', null])
  })

  it('that returns 200 with 10 MB succeeds, and only the beginning is read and stored', async () => {
    let sent = 0
    const { attempt } = await openTestReceiver((response) => {
      const more = (): void => {
        for (let isFree = true; isFree && sent < 10_000_000; sent += 10_000) isFree = response.write('x'.repeat(10_000))
        if (sent < 10_000_000) response.once('drain', more)
        else response.end()
      }
      more()
    }, at)
    const { isGood, delivery } = await attempt()
    expect([isGood, delivery.attempts[0]?.response.length]).toEqual([true, 1_024])
    expect(sent).toBeLessThan(10_000_000)
  })

  it('that redirects fails, and the redirect is not followed', async () => {
    const { attempt, messages, port } = await openTestReceiver(
      (response) => response.writeHead(307, { location: `http://127.0.0.1:${port}/admin` }).end(),
      at,
    )
    expect(await attempt()).toMatchObject({ isGood: false, delivery: { attempts: [{ status: 307 }] } })
    expect(messages).toHaveLength(1)
  })

  it('that returns 410 gets no more deliveries until it is enabled again', async () => {
    const { attempt, stateOf, deliveries, registration, registrations, messages, send } = await openTestReceiver(
      (response) => response.writeHead(410).end(),
      at,
    )
    const { delivery } = await attempt()
    expect(await stateOf()).toBe('disabled')
    await send(delivery.id)
    expect(messages).toHaveLength(1)
    const test = deliveries.test(ACME, registration.id, 'SlaChanged')
    await expect(test).rejects.toMatchObject({ code: 'state_conflict' })
    await registrations.update(ACME, registration.id, { state: 'active' })
    await send(delivery.id)
    expect(messages).toHaveLength(2)
  })

  it('that always fails is disabled after five days', async () => {
    const { attempt, stateOf, clock } = await openTestReceiver((response) => response.writeHead(503).end(), at)
    await attempt()
    clock.advanceSync(5 * 86_400_000 - 1)
    await attempt()
    expect(await stateOf()).toBe('failing')
    clock.advanceSync(1)
    await attempt()
    expect(await stateOf()).toBe('disabled')
  })

  it('that fails ten times has a failed delivery, which can be redelivered with all others since a time', async () => {
    const { attempt, send, deliveries, deliveriesOf, registration } = await openTestReceiver(
      (response) => response.writeHead(500).end(),
      at,
    )
    const { delivery } = await attempt()
    for (let count = 1; count < 10; count++) await send(delivery.id)
    expect((await deliveriesOf())[0]).toMatchObject({ state: 'failed', nextAttempt: null, attempts: { length: 10 } })
    const since = (ms: number) => deliveries.redeliverSince(ACME, registration.id, new Date(ms).toISOString())
    expect(await since(NOW_MS + 1)).toBe(0)
    expect(await since(NOW_MS)).toBe(1)
    expect((await deliveriesOf())[0]?.state).toBe('pending')
  })
})

describe('the address of a webhook receiver', () => {
  const privately = { allowPrivate: false }

  it('is refused at delivery if it has become private since the registration', async () => {
    const { deliveries, registrations, registration, send, messages, deliveriesOf } = await openTestReceiver(
      (response) => response.end(),
      { ...privately, resolve: loopback },
    )
    await registrations.update(ACME, registration.id, { url: 'https://rebound.example/hook' })
    const { id } = await deliveries.test(ACME, registration.id, 'SlaChanged')
    expect(await send(id)).toBe(false)
    expect((await deliveriesOf())[0]?.attempts[0]?.response).toBe('The host must resolve to public addresses only.')
    expect(messages).toHaveLength(0)
  })

  it('is resolved once per connection, so that a different later answer has no effect', async () => {
    let asked = 0
    const resolve: Resolve = async () => [{ address: asked++ === 0 ? '127.0.0.1' : '203.0.113.1', family: 4 }]
    const { attempt } = await openTestReceiver((response) => response.end(), { resolve })
    expect([(await attempt()).isGood, asked]).toEqual([true, 1])
  })
})

/** Receivers of every kind, good and bad, as the sender meets them: over real connections, from a real registry. */

import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createDeliveries } from '../../../src/webhooks/deliveries.ts'
import { createEventSubscriptions } from '../../../src/webhooks/event-subscriptions.ts'
import { eventWrite } from '../../../src/command/event-outbox.ts'
import { createKeyedMutex } from '../../../src/command/keyed-mutex.ts'
import { createGuardedFetch } from '../../../src/outbound/guarded-fetch.ts'
import type { Resolve } from '../../../src/outbound/guarded-lookup.ts'
import { createIdFactory } from '../../../src/runtime/ids.ts'
import { createVault } from '../../../src/runtime/vault.ts'
import { openSqliteRegistry } from '../../../src/store/sqlite/registry.ts'
import { createFanOut } from '../../../src/webhooks/fan-out.ts'
import { createSender } from '../../../src/webhooks/sender.ts'
import { createFakeClock } from '../../fixtures/fake-clock.ts'
import { DELIVERY_KIND } from '../../../src/webhooks/delivery-document.ts'

const ACME = { tenant: 'acme', consumer: 'con_1' }
const NOW_MS = Math.floor(Date.now() / 1_000) * 1_000

interface Message {
  readonly headers: Record<string, string>
  readonly body: string
}

type Answer = (response: ServerResponse, request: IncomingMessage) => void

interface Setting {
  readonly resolve?: Resolve
  readonly allowPrivate?: boolean
}

async function open(answer: Answer, { resolve, allowPrivate = true }: Setting = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-webhooks-'))
  const clock = createFakeClock(NOW_MS)
  const registry = openSqliteRegistry({ path: join(folder, 'registry.db'), clock })
  const messages: Message[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      messages.push({ headers: request.headers as Record<string, string>, body })
      answer(response, request)
    })
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  const createId = createIdFactory(clock.nowMs)
  const vault = createVault(randomBytes(32))
  const mutex = createKeyedMutex()
  const outbound = createGuardedFetch({ clock, allowPrivate, ...(resolve && { resolve }) })
  const counted: string[] = []
  const shared = { registry, clock, createId, mutex, vault, count: (reason: string) => void counted.push(reason) }
  const silent = { error: () => {} }
  const registrations = createEventSubscriptions({ ...shared, randomBytes, refuseTarget: async () => null })
  const deliveries = createDeliveries(shared)
  const send = createSender({ ...shared, outbound, random: () => 0.5, log: silent, onStoreFailure: () => {} })
  const fanOut = createFanOut({ ...shared, tenant: 'own', queuedFor: () => 0, log: silent })
  onTestFinished(async () => {
    await fanOut.stop()
    await outbound.close()
    server.closeAllConnections()
    server.close()
    registry.close()
    rmSync(folder, { recursive: true })
  })
  const registration = await registrations.create(ACME, { url: `http://receiver.example:${port}/hook?a=b` })
  const deliveriesOf = async (id = registration.id) => (await deliveries.list('acme', id, { limit: 500 })).items
  /** A sample on its way; what came of it. */
  async function attempt(during?: () => Promise<void>) {
    const { id } = await deliveries.test(ACME, registration.id, 'SlaChanged')
    const sending = send(id)
    await during?.()
    const isGood = await sending
    return { isGood, delivery: (await deliveriesOf()).find((each) => each.id === id)! }
  }
  const stateOf = async () => (await registrations.get('acme', registration.id)).state
  return {
    ...shared,
    messages,
    registration,
    registrations,
    deliveries,
    deliveriesOf,
    attempt,
    send,
    fanOut,
    stateOf,
    counted,
    port,
  }
}

const loopback: Resolve = async () => [{ address: '127.0.0.1', family: 4 }]
const at = { resolve: loopback }

describe('a webhook message', () => {
  it('is verified by an independent receiver, with both secrets during a rotation', async () => {
    const { attempt, messages, registration, registrations } = await open((response) => response.end('thanks'), at)
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
    const { attempt, messages, registration, registrations, clock } = await open((response) => response.end(), at)
    const { secret } = await registrations.rotateSecret(ACME, registration.id)
    clock.advanceSync(86_400_000)
    await attempt()
    expect(messages[0]!.headers['webhook-signature']!.split(' ')).toHaveLength(1)
    expect(messages[0]!.headers['webhook-signature']).not.toBe('')
    expect(secret).not.toBe(registration.secret)
  })

  it('has the same id and the same bytes in every attempt', async () => {
    let status = 500
    const { attempt, deliveries, registration, send, messages } = await open(
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
    const { attempt, stateOf, clock, send } = await open(
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
    const { attempt, clock } = await open(() => asked.resolve(), at)
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
      const { attempt, clock } = await open((response) => {
        response.writeHead(status)
        response.write('.', () => written.resolve())
      }, at)
      const result = await attempt(async () => {
        // The time is up once the head has come: until then it is not moved.
        for (let rounds = 0; rounds < 50; rounds++) await new Promise((resolve) => setImmediate(resolve))
        clock.advanceSync(15_000)
      })
      expect(result.isGood).toBe(isGood)
    },
  )

  it('that resets the connection is retried', async () => {
    const { attempt } = await open((response) => response.socket?.resetAndDestroy(), at)
    const { isGood, delivery } = await attempt()
    expect([isGood, delivery.state, delivery.attempts[0]?.status]).toEqual([false, 'pending', null])
  })

  it('that returns 200 with 10 MB succeeds, and only the beginning is read and stored', async () => {
    let sent = 0
    const { attempt } = await open((response) => {
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
    const { attempt, messages, port } = await open(
      (response) => response.writeHead(307, { location: `http://127.0.0.1:${port}/admin` }).end(),
      at,
    )
    expect(await attempt()).toMatchObject({ isGood: false, delivery: { attempts: [{ status: 307 }] } })
    expect(messages).toHaveLength(1)
  })

  it('that returns 410 gets no more deliveries until it is enabled again', async () => {
    const { attempt, stateOf, deliveries, registration, registrations, messages, send } = await open(
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
    const { attempt, stateOf, clock } = await open((response) => response.writeHead(503).end(), at)
    await attempt()
    clock.advanceSync(5 * 86_400_000 - 1)
    await attempt()
    expect(await stateOf()).toBe('failing')
    clock.advanceSync(1)
    await attempt()
    expect(await stateOf()).toBe('disabled')
  })

  it('that fails ten times has a failed delivery, which can be redelivered with all others since a time', async () => {
    const { attempt, send, deliveries, deliveriesOf, registration } = await open(
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
    const { deliveries, registrations, registration, send, messages, deliveriesOf } = await open(
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
    const { attempt } = await open((response) => response.end(), { resolve })
    expect([(await attempt()).isGood, asked]).toEqual([true, 1])
  })
})

describe('an event of a webhook', () => {
  it('is delivered once to each receiver of its tenant that subscribes to its type, also across restarts', async () => {
    const { registrations, registration, registry, createId, fanOut, deliveriesOf } = await open((response) =>
      response.end(),
    )
    const url = 'https://receiver.example/'
    const register = (author: typeof ACME, events?: ['SlaChanged' | 'VersionSunset']) =>
      registrations.create(author, { url, ...(events && { events }) })
    const wanted = await register(ACME, ['SlaChanged'])
    const other = await register(ACME, ['VersionSunset'])
    const off = await register(ACME)
    await registrations.update(ACME, off.id, { state: 'disabled' })
    const rival = await register({ tenant: 'rival', consumer: 'con_2' })
    const happen = () => registry.commit(ACME, 'test', [eventWrite(createId, 'acme', 'SlaChanged', { to: '1' })])
    await happen()
    await fanOut.start()
    await happen()
    await fanOut.stop()
    // Of what came before anybody listened nothing is told; of the rest everything, once.
    const count = async (id: string) => (await deliveriesOf(id)).length
    expect([await count(registration.id), await count(wanted.id), await count(other.id), await count(off.id)]).toEqual([
      1, 1, 0, 0,
    ])
    expect(await registry.list(DELIVERY_KIND, { tenant: 'rival', limit: 10 })).toEqual([])
    expect(rival.state).toBe('active')
  })

  it('from the time when the process was down is delivered at the next start', async () => {
    const { registry, createId, clock, registration, fanOut, deliveriesOf } = await open((response) => response.end())
    const next = () =>
      createFanOut({
        registry,
        createId,
        clock,
        tenant: 'own',
        queuedFor: () => 0,
        count: () => {},
        log: { error() {} },
      })
    await fanOut.start()
    await fanOut.stop()
    await registry.commit(ACME, 'test', [eventWrite(createId, 'acme', 'SlaChanged', { to: '1' })])
    for (let starts = 0; starts < 2; starts++) {
      const again = next()
      await again.start()
      await again.stop()
    }
    expect(await deliveriesOf(registration.id)).toHaveLength(1)
  })

  it('is delivered once even if more events arrive than memory holds', async () => {
    const { registry, createId, registration, fanOut } = await open((response) => response.end())
    await fanOut.start()
    const events = 2_500
    const writes = Array.from({ length: events }, (_, to) => eventWrite(createId, 'acme', 'SlaChanged', { to }))
    await registry.commit(ACME, 'test', writes)
    const where = { subscription: registration.id }
    const delivered = () => registry.list(DELIVERY_KIND, { where, limit: 10_000 })
    await vi.waitFor(async () => expect(await delivered()).toHaveLength(events), { timeout: 30_000, interval: 20 })
    await registry.commit(ACME, 'test', [eventWrite(createId, 'acme', 'SlaChanged', { to: 'last' })])
    await vi.waitFor(async () => expect(await delivered()).toHaveLength(events + 1), { timeout: 30_000, interval: 20 })
    expect(new Set((await delivered()).map(({ body }) => body.event)).size).toBe(events + 1)
  })

  it('for a receiver with too many queued deliveries is stored as failed, and counted', async () => {
    const { registry, createId, clock, registration, deliveriesOf } = await open((response) => response.end())
    const counted: string[] = []
    const fanOut = createFanOut({
      registry,
      createId,
      clock,
      tenant: 'own',
      queuedFor: () => 10_000,
      count: (reason) => void counted.push(reason),
      log: { error() {} },
    })
    await fanOut.start()
    await registry.commit(ACME, 'test', [eventWrite(createId, 'acme', 'SlaChanged', { to: '1' })])
    await fanOut.stop()
    expect(await deliveriesOf(registration.id)).toMatchObject([{ state: 'failed', attempts: [] }])
    expect(counted).toEqual(['webhook_overflow'])
  })
})

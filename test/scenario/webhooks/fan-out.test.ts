/** Events that become deliveries, also across restarts and beyond the memory of the fan-out. */

import { describe, expect, it, vi } from 'vitest'
import { eventWrite } from '../../../src/control/command/event-outbox.ts'
import { DELIVERY_KIND } from '../../../src/control/webhooks/delivery-document.ts'
import { createFanOut } from '../../../src/control/webhooks/fan-out.ts'
import type { Registry } from '../../../src/storage/store/registry.ts'
import { StoreUnwritable } from '../../../src/storage/store/unwritable.ts'
import { settled } from '../../fixtures/fake-clock.ts'
import { ACME, openTestReceiver } from '../../fixtures/test-receiver.ts'

describe('an event of a webhook', () => {
  it('is delivered once to each receiver of its tenant that subscribes to its type, also across restarts', async () => {
    const { registrations, registration, registry, createId, fanOut, deliveriesOf } = await openTestReceiver(
      (response) => response.end(),
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
    // Events from before the first start are not delivered; every later event is delivered once.
    const count = async (id: string) => (await deliveriesOf(id)).length
    expect([await count(registration.id), await count(wanted.id), await count(other.id), await count(off.id)]).toEqual([
      1, 1, 0, 0,
    ])
    expect(await registry.list(DELIVERY_KIND, { tenant: 'rival', limit: 10 })).toEqual([])
    expect(rival.state).toBe('active')
  })

  it('is delivered to a receiver of a consumer only if it concerns that consumer', async () => {
    const { registrations, registration, registry, createId, fanOut, deliveriesOf } = await openTestReceiver(
      (response) => response.end(),
    )
    const url = 'https://receiver.example/'
    const [own, other] = [
      await registrations.create(ACME, { url }, 'con_own'),
      await registrations.create(ACME, { url }, 'con_other'),
    ]
    const subscription = { consumer: 'con_own', api: 'orders-v1', apiProductId: '', actor: { value: 'Active' } }
    await fanOut.start()
    await registry.commit(ACME, 'test', [
      { kind: 'subscription', id: 'sub_own', tenant: 'acme', expected: 0, body: subscription },
      eventWrite(createId, 'acme', 'SlaChanged', { subscription: 'sub_own', to: '1' }),
    ])
    await fanOut.stop()
    const counts = await Promise.all(
      [registration.id, own.id, other.id].map(async (id) => (await deliveriesOf(id)).length),
    )
    expect(counts).toEqual([1, 1, 0])
  })

  it('from the time when the process was down is delivered at the next start', async () => {
    const { registry, createId, clock, registration, fanOut, deliveriesOf } = await openTestReceiver((response) =>
      response.end(),
    )
    const next = () =>
      createFanOut({
        registry,
        createId,
        clock,
        tenant: 'own',
        queuedFor: () => 0,
        dataForConsumer: async () => null,
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

  it('is delivered after the next start if its deliveries could not be stored before the stop', async () => {
    const { registry, createId, clock, registration, fanOut, deliveriesOf, ...shared } = await openTestReceiver(
      (response) => response.end(),
    )
    await fanOut.start()
    const { commit } = registry
    let refused = 0
    registry.commit = async (author, action, writes) => {
      if (action === 'webhooks.deliver' && refused++ === 0) throw new StoreUnwritable('away')
      return commit(author, action, writes)
    }
    await registry.commit(ACME, 'test', [eventWrite(createId, 'acme', 'SlaChanged', { to: '1' })])
    await settled()
    await fanOut.stop()
    const log = { error() {} }
    const next = createFanOut({ ...shared, registry, createId, clock, tenant: 'own', queuedFor: () => 0, log })
    await next.start()
    await next.stop()
    expect([refused > 0, (await deliveriesOf(registration.id)).length]).toEqual([true, 1])
  })

  it('is delivered once if a node continues after another one has taken over', async () => {
    const { registry, createId, clock, registration, fanOut, deliveriesOf, ...shared } = await openTestReceiver(
      (response) => response.end(),
    )
    const { promise: resumed, resolve: resume } = Promise.withResolvers<void>()
    const paused: Registry = {
      ...registry,
      async list(kind, query) {
        await resumed
        return registry.list(kind, query)
      },
    }
    const log = { error() {} }
    const stale = createFanOut({ ...shared, registry: paused, createId, clock, tenant: 'own', queuedFor: () => 0, log })
    await stale.start()
    await fanOut.start()
    await registry.commit(ACME, 'test', [eventWrite(createId, 'acme', 'SlaChanged', { to: '1' })])
    await settled()
    expect(await deliveriesOf(registration.id)).toHaveLength(1)
    resume()
    await settled()
    await stale.stop()
    expect(await deliveriesOf(registration.id)).toHaveLength(1)
  })

  it('is delivered once even if more events arrive than memory holds', async () => {
    const { registry, createId, registration, fanOut } = await openTestReceiver((response) => response.end())
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
    const { registry, createId, clock, registration, deliveriesOf } = await openTestReceiver((response) =>
      response.end(),
    )
    const counted: string[] = []
    const fanOut = createFanOut({
      registry,
      createId,
      clock,
      tenant: 'own',
      queuedFor: () => 10_000,
      dataForConsumer: async () => null,
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

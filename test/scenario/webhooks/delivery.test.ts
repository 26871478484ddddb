/** All parts of webhooks together, with a fake clock. */

import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { tenantWrite } from '../../../src/control/access/platform-access.ts'
import { eventWrite } from '../../../src/control/command/event-outbox.ts'
import { createDeliveries } from '../../../src/control/webhooks/deliveries.ts'
import { createEventSubscriptions } from '../../../src/control/webhooks/event-subscriptions.ts'
import { createKeyedMutex } from '../../../src/control/command/keyed-mutex.ts'
import { createIdFactory } from '../../../src/foundation/runtime/ids.ts'
import { createLog } from '../../../src/foundation/runtime/log.ts'
import { createVault } from '../../../src/foundation/runtime/vault.ts'
import { openSqliteRegistry } from '../../../src/storage/store/sqlite/registry.ts'
import { createWebhooks } from '../../../src/app/open-webhooks.ts'
import { createRunJob } from '../../../src/app/node-jobs.ts'
import { createLifecycle } from '../../../src/foundation/runtime/lifecycle.ts'
import { createLocalClaims } from '../../../src/storage/store/claims.ts'
import { StoreUnwritable } from '../../../src/storage/store/unwritable.ts'
import { createFakeClock, settled } from '../../fixtures/fake-clock.ts'
import { DELIVERY_KIND } from '../../../src/control/webhooks/delivery-document.ts'

const ACME = { tenant: 'acme', consumer: 'con_1' }
const DAY_MS = 86_400_000

async function open() {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-webhooks-'))
  const clock = createFakeClock(Date.now())
  const registry = openSqliteRegistry({ path: join(folder, 'registry.db'), clock })
  const receiver = { status: 204, asked: 0, hangs: (_path: string): boolean => false }
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      receiver.asked++
      if (!receiver.hangs(request.url ?? '')) response.writeHead(receiver.status).end()
    })
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const shared = {
    registry,
    clock,
    createId: createIdFactory(clock.nowMs),
    vault: createVault(randomBytes(32)),
    mutex: createKeyedMutex(),
    count: () => {},
  }
  const log = createLog('silent')
  const create = () => createWebhooks({ ...shared, allowPrivate: true, tenant: 'own', log })
  const begin = async () => {
    const webhooks = create()
    await webhooks.start()
    return webhooks
  }
  let webhooks = await begin()
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await webhooks.stop()
    registry.close()
    rmSync(folder, { recursive: true })
  })
  const registrations = createEventSubscriptions({ ...shared, randomBytes, refuseTarget: async () => null })
  const deliveries = createDeliveries(shared)
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
  const { id } = await registrations.create(ACME, { url })
  const test = () => deliveries.test(ACME, id, 'SlaChanged')
  const stateOf = async (delivery: string) => (await registry.get(DELIVERY_KIND, delivery))?.body.actor.value
  return {
    ...shared,
    receiver,
    registrations,
    deliveries,
    url,
    id,
    test,
    stateOf,
    create,
    stop: () => webhooks.stop(),
    async restart() {
      await webhooks.stop()
      webhooks = await begin()
    },
  }
}

/** Waits until the condition holds; the duration is not asserted. */
const until = (check: () => Promise<void> | void) => vi.waitFor(check, { timeout: 10_000, interval: 5 })

it('a failed delivery is retried when it is due, also after a restart', async () => {
  const { receiver, test, stateOf, clock, registry, restart } = await open()
  receiver.status = 500
  const { id } = await test()
  await until(async () => {
    expect((await registry.get(DELIVERY_KIND, id))?.body.attempts).toHaveLength(1)
  })
  await restart()
  receiver.status = 204
  clock.advanceSync(6_000)
  await until(async () => expect(await stateOf(id)).toBe('delivered'))
  expect(receiver.asked).toBe(2)
})

it('a delivery that cannot be read is sent when the registry is back', async () => {
  const { receiver, test, stateOf, clock, registry } = await open()
  const { get } = registry
  let refused = 0
  registry.get = async (kind, id) => {
    if ((kind as string) === DELIVERY_KIND && refused++ === 0) throw new StoreUnwritable('away')
    return get(kind, id)
  }
  const { id } = await test()
  await settled()
  expect(await stateOf(id)).toBe('pending')
  clock.advanceSync(30_000)
  await until(async () => expect(await stateOf(id)).toBe('delivered'))
  expect(receiver.asked).toBe(1)
})

it('a delivery whose result cannot be stored is sent again when the registry is back', async () => {
  const { receiver, test, stateOf, clock, registry } = await open()
  const { commitEach } = registry
  let refused = 0
  registry.commitEach = async (commits) => {
    if (refused++ === 0) throw new StoreUnwritable('away')
    return commitEach(commits)
  }
  const { id } = await test()
  await until(() => expect(refused).toBe(1))
  await settled()
  clock.advanceSync(30_000)
  await until(async () => expect(await stateOf(id)).toBe('delivered'))
  expect(receiver.asked).toBe(2)
})

it('webhooks of a node stop what they had begun when they fail to start, and are started again', async () => {
  const { receiver, test, stateOf, clock, registry, create, stop } = await open()
  await stop()
  const { get, watch } = registry
  let watchers = 0
  registry.watch = (position, listener) => {
    const unwatch = watch(position, listener)
    watchers++
    return () => {
      watchers--
      unwatch()
    }
  }
  registry.get = async (kind, id) => {
    if (kind === 'webhook_position') throw new StoreUnwritable('away')
    return get(kind, id)
  }
  const lifecycle = createLifecycle({ clock, log: createLog('silent') })
  onTestFinished(() => lifecycle.close())
  const runJob = createRunJob({
    shared: { claims: createLocalClaims(), incarnation: 'i-1' },
    clock,
    log: createLog('silent'),
    count: () => {},
    opened: lifecycle.opened,
  })
  await runJob('webhooks', create)
  await clock.advance(4_000)
  expect(watchers).toBe(0)
  registry.get = get
  await clock.advance(5_000)
  const { id } = await test()
  await until(async () => expect(await stateOf(id)).toBe('delivered'))
  expect(receiver.asked).toBe(1)
})

it('webhooks stop completely if the registry refuses the position that they have reached', async () => {
  const { test, stateOf, registry, stop } = await open()
  const { id } = await test()
  await until(async () => expect(await stateOf(id)).toBe('delivered'))
  const { commit } = registry
  registry.commit = async (author, action, writes) => {
    if (action === 'webhooks.deliver') throw new StoreUnwritable('away')
    return commit(author, action, writes)
  }
  await stop()
  const later = await test()
  await settled()
  expect(await stateOf(later.id)).toBe('pending')
})

it('deliveries of a disabled event subscription are sent when it is enabled again', async () => {
  const { receiver, registrations, test, stateOf, clock, id: registration } = await open()
  receiver.status = 410
  const { id } = await test()
  await until(async () => expect((await registrations.get('acme', registration)).state).toBe('disabled'))
  receiver.status = 204
  clock.advanceSync(DAY_MS)
  await registrations.update(ACME, registration, { state: 'active' })
  await until(async () => expect(await stateOf(id)).toBe('delivered'))
})

it('deliveries of an enabled event subscription that cannot be loaded are sent when the registry is back', async () => {
  const { receiver, registrations, test, stateOf, clock, registry, id: registration } = await open()
  receiver.status = 410
  const { id } = await test()
  await until(async () => expect((await registrations.get('acme', registration)).state).toBe('disabled'))
  receiver.status = 204
  clock.advanceSync(DAY_MS)
  const { list } = registry
  let refused = 0
  registry.list = async (kind, query) => {
    if ((kind as string) === DELIVERY_KIND && refused++ === 0) throw new StoreUnwritable('away')
    return list(kind, query)
  }
  await registrations.update(ACME, registration, { state: 'active' })
  await settled()
  expect([refused, receiver.asked]).toEqual([1, 1])
  clock.advanceSync(2_000)
  await until(async () => expect(await stateOf(id)).toBe('delivered'))
})

it('pending deliveries of a disabled tenant wait until it is enabled, and its events meanwhile get none', async () => {
  const { receiver, test, stateOf, clock, registry, createId } = await open()
  const system = { tenant: 'acme', consumer: 'system' }
  await registry.commit(system, 'test', [tenantWrite('acme', 0, { name: 'Acme' })])
  receiver.status = 500
  const { id } = await test()
  await until(async () => {
    expect((await registry.get(DELIVERY_KIND, id))?.body.attempts).toHaveLength(1)
  })
  await registry.commit(system, 'test', [tenantWrite('acme', 1, { name: 'Acme', isDisabled: true })])
  receiver.status = 204
  clock.advanceSync(DAY_MS)
  await registry.commit(system, 'test', [eventWrite(createId, 'acme', 'SlaChanged', { api: 'a-v1' })])
  await registry.commit(system, 'test', [tenantWrite('acme', 2, { name: 'Acme' })])
  await until(async () => expect(await stateOf(id)).toBe('delivered'))
  expect(receiver.asked).toBe(2)
  expect(await registry.list(DELIVERY_KIND, { limit: 9 })).toHaveLength(1)
})

it('deliveries of a removed event subscription are abandoned', async () => {
  const { receiver, registrations, test, stateOf, clock, registry, id: registration } = await open()
  receiver.status = 500
  const { id } = await test()
  await until(async () => {
    expect((await registry.get(DELIVERY_KIND, id))?.body.attempts).toHaveLength(1)
  })
  await registrations.remove(ACME, registration)
  clock.advanceSync(6_000)
  await until(async () => expect(await stateOf(id)).toBe('failed'))
  expect(receiver.asked).toBe(1)
})

it('deliveries of an event subscription that was disabled when it was removed are abandoned', async () => {
  const { receiver, registrations, test, stateOf, clock, id: registration } = await open()
  receiver.status = 410
  const { id } = await test()
  await until(async () => expect((await registrations.get('acme', registration)).state).toBe('disabled'))
  expect(await stateOf(id)).toBe('pending')
  await registrations.remove(ACME, registration)

  await until(async () => {
    clock.advanceSync(DAY_MS)
    expect(await stateOf(id)).toBe('failed')
  })
  expect(receiver.asked).toBe(1)
})

it('deliveries and events are deleted after 30 days, except pending deliveries', async () => {
  const { receiver, registrations, test, stateOf, clock, id: registration } = await open()
  const { id: old } = await test()
  await until(async () => expect(await stateOf(old)).toBe('delivered'))
  receiver.status = 410
  const { id: waiting } = await test()
  await until(async () => expect((await registrations.get('acme', registration)).state).toBe('disabled'))
  clock.advanceSync(31 * DAY_MS)
  // The first sweep used the time of its start; the next one uses the new time.
  await until(async () => {
    clock.advanceSync(3_600_000)
    expect(await stateOf(old)).toBeUndefined()
  })
  expect(await stateOf(waiting)).toBe('pending')
})

it('receivers that hang do not delay other receivers at the same host', async () => {
  const { receiver, registrations, deliveries, stateOf, url, id } = await open()
  receiver.hangs = (path) => path.startsWith('/hanging')
  const hanging = await Promise.all(
    Array.from({ length: 20 }, (_, index) => registrations.create(ACME, { url: `${url}/../hanging/${index}` })),
  )
  for (const each of hanging) await deliveries.test(ACME, each.id, 'SlaChanged')
  await until(() => expect(receiver.asked).toBe(20))
  const { id: delivery } = await deliveries.test(ACME, id, 'SlaChanged')
  await until(async () => expect(await stateOf(delivery)).toBe('delivered'))
})

import { expect, it } from 'vitest'
import { createDeliveryQueue, type QueueBounds } from '../../../../src/control/webhooks/delivery-queue.ts'
import { createFakeClock, settled } from '../../../fixtures/fake-clock.ts'

function open(given?: Omit<QueueBounds, 'unprovenOfTenant'> & Partial<QueueBounds>) {
  const bounds = given && { unprovenOfTenant: given.unproven, ...given }
  const clock = createFakeClock(0)
  const sent: string[] = []
  const failures: unknown[] = []
  const open = new Map<string, PromiseWithResolvers<boolean | null>>()
  const queue = createDeliveryQueue({
    clock,
    send(id) {
      sent.push(id)
      const attempt = Promise.withResolvers<boolean | null>()
      open.set(id, attempt)
      return attempt.promise
    },
    onFailed: (cause) => failures.push(cause),
    ...(bounds !== undefined && { bounds }),
  })
  /** Ends the attempt, and resolves when its consequences are complete. */
  async function end(id: string, isGood: boolean | null = true): Promise<void> {
    open.get(id)?.resolve(isGood)
    open.delete(id)
    await settled()
  }
  /** Ends the attempt with an internal error. */
  async function fail(id: string): Promise<void> {
    open.get(id)?.reject(new Error('away'))
    open.delete(id)
    await settled()
  }
  const add = (id: string, receiver: string, atMs = 0, tenant = 'acme'): void =>
    queue.add({ id, receiver, tenant, atMs })
  return { queue, clock, sent, failures, end, fail, add }
}

it('the queue gives a receiver one connection until its first success, and four from then on', async () => {
  const { sent, end, add, queue } = open()
  for (let index = 0; index < 10; index++) add(`a${index}`, 'a')
  expect(sent).toEqual(['a0'])
  await end('a0')
  expect(sent).toEqual(['a0', 'a1', 'a2', 'a3', 'a4'])
  expect(queue.sizeOf('a')).toBe(5)
  for (const id of ['a1', 'a2', 'a3', 'a4']) await end(id, false)
  expect(sent).toEqual(['a0', 'a1', 'a2', 'a3', 'a4', 'a5'])
})

it('receivers that hang leave connections to receivers that respond', async () => {
  const { sent, end, add } = open({ all: 4, unproven: 2, ofReceiver: 2 })
  add('good0', 'good')
  await end('good0')
  for (let index = 0; index < 20; index++) add(`dead${index}`, `dead${index}`)
  expect(sent).toEqual(['good0', 'dead0', 'dead1'])
  for (let index = 1; index < 50; index++) {
    add(`good${index}`, 'good')
    expect(sent.at(-1)).toBe(`good${index}`)
    await end(`good${index}`)
  }
})

it('hanging receivers of one tenant leave connections to the receivers of other tenants', async () => {
  const { sent, end, add } = open({ all: 9, unproven: 4, unprovenOfTenant: 2, ofReceiver: 2 })
  for (let index = 0; index < 20; index++) add(`dead${index}`, `dead${index}`)
  expect(sent).toEqual(['dead0', 'dead1'])
  add('new', 'theirs', 0, 'rival')
  expect(sent.at(-1)).toBe('new')
  await end('new')
  await end('dead0', false)
  expect(sent).toEqual(['dead0', 'dead1', 'new', 'dead2'])
})

it('the queue evicts a removed receiver after its queued deliveries', async () => {
  const { queue, end, add } = open()
  add('a0', 'a')
  await end('a0')
  add('b0', 'b')
  await end('b0')
  add('b1', 'b', 1_000)
  expect(queue.receivers).toBe(2)
  queue.evict('a')
  queue.evict('b')
  expect(queue.receivers).toBe(1)
  queue.drop('b')
  expect(queue.receivers).toBe(0)
})

it('the queue serves receivers in rotation', async () => {
  const { sent, end, add } = open({ all: 1, unproven: 1, ofReceiver: 1 })
  for (const id of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) add(id, id[0]!)
  for (const id of ['a1', 'a2', 'b1', 'c1', 'a3', 'b2']) {
    expect(sent.at(-1)).toBe(id)
    await end(id)
  }
})

it('the queue delays a delivery until its time, which can be moved', async () => {
  const { queue, clock, sent, end, add } = open()
  add('x', 'a', 100)
  add('x', 'a', 200)
  clock.advanceSync(199)
  expect(sent).toEqual([])
  clock.advanceSync(1)
  expect(sent).toEqual(['x'])
  await end('x')
  expect([queue.sizeOf(), clock.pending]).toEqual([0, 0])
})

it('the queue repeats a delivery that becomes due again while it is in progress, after it has ended', async () => {
  const { sent, end, add } = open()
  add('x', 'a')
  add('x', 'a')
  expect(sent).toEqual(['x'])
  await end('x')
  expect(sent).toEqual(['x', 'x'])
  add('x', 'a')
  add('x', 'a', 5_000)
  await end('x', false)
  expect(sent).toEqual(['x', 'x'])
})

it('the queue attempts a delivery again, with back-off, while its attempts fail internally', async () => {
  const { queue, clock, sent, failures, end, fail, add } = open()
  add('x', 'a')
  add('y', 'a')
  await fail('x')
  expect([sent, failures.length]).toEqual([['x', 'y'], 1])
  await end('y')
  clock.advanceSync(29_999)
  expect(sent).toEqual(['x', 'y'])
  clock.advanceSync(1)
  await fail('x')
  clock.advanceSync(59_999)
  expect(sent).toEqual(['x', 'y', 'x'])
  clock.advanceSync(1)
  await end('x', false)
  expect(sent).toEqual(['x', 'y', 'x', 'x'])
  expect([queue.sizeOf(), clock.pending]).toEqual([0, 0])
})

it('the queue does not attempt a delivery again that fails internally after the queue was stopped', async () => {
  const { queue, clock, fail, add } = open()
  add('x', 'a')
  const stopping = queue.stop()
  await fail('x')
  await stopping
  expect(clock.pending).toBe(0)
})

it('the queue can drop the queued deliveries of one receiver', async () => {
  const { queue, clock, sent, end, add } = open()
  add('a1', 'a')
  add('a2', 'a')
  add('a3', 'a', 100)
  add('b1', 'b', 100)
  queue.drop('a')
  await end('a1')
  clock.advanceSync(100)
  expect(sent).toEqual(['a1', 'b1'])
})

it('the queue stops after the deliveries in progress, and starts no more', async () => {
  const { queue, sent, end, add } = open()
  add('a1', 'a')
  add('a2', 'a')
  let isStopped = false
  const stopping = queue.stop().then(() => (isStopped = true))
  await settled()
  expect(isStopped).toBe(false)
  await end('a1')
  await stopping
  add('a3', 'a')
  expect(sent).toEqual(['a1'])
})

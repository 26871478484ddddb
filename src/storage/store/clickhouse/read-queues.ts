/**
 * Runs the reads of each tenant one at a time, and takes turns between its consumers.
 *
 * A caller who may see one consumer only can fill the queue of that consumer. Reads of the others, and of the whole tenant, wait for
 * one of them at most.
 */

export interface ReadQueues {
  /** Returns null if too many reads wait. */
  run<T>(tenant: string, consumer: string, read: () => Promise<T>): Promise<T> | null
}

interface TenantQueue {
  /** Waiting reads by consumer; the first consumer is next. */
  readonly byConsumer: Map<string, (() => Promise<void>)[]>
  length: number
}

const OF_CONSUMER_MAX = 16
const OF_TENANT_MAX = 256

export function createReadQueues(): ReadQueues {
  /** Tenants of which a read runs. */
  const tenants = new Map<string, TenantQueue>()

  async function drain(tenant: string, queue: TenantQueue): Promise<void> {
    for (let read = takeNext(queue); read !== null; read = takeNext(queue)) await read()
    tenants.delete(tenant)
  }

  return {
    run<T>(tenant: string, consumer: string, read: () => Promise<T>) {
      const queue = tenants.get(tenant) ?? { byConsumer: new Map(), length: 0 }
      const waiting = queue.byConsumer.get(consumer) ?? []
      if (waiting.length >= OF_CONSUMER_MAX || queue.length >= OF_TENANT_MAX) return null
      const { promise, resolve, reject } = Promise.withResolvers<T>()
      waiting.push(() => read().then(resolve, reject))
      queue.byConsumer.set(consumer, waiting)
      queue.length++
      if (!tenants.has(tenant)) {
        tenants.set(tenant, queue)
        void drain(tenant, queue)
      }
      return promise
    },
  }
}

/** The consumer whose read is taken becomes the last. */
function takeNext(queue: TenantQueue): (() => Promise<void>) | null {
  const [first] = queue.byConsumer
  if (first === undefined) return null
  const [consumer, waiting] = first
  const read = waiting.shift() ?? null
  queue.byConsumer.delete(consumer)
  if (waiting.length > 0) queue.byConsumer.set(consumer, waiting)
  queue.length--
  return read
}

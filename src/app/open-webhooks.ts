/** Composes webhooks: an event becomes deliveries, which are queued until a sender sends them. */

import type { KeyedMutex } from '../control/command/keyed-mutex.ts'
import { createGuardedFetch } from '../foundation/outbound/guarded-fetch.ts'
import type { CountEvent } from '../foundation/runtime/event-reasons.ts'
import type { Clock } from '../foundation/runtime/clock.ts'
import type { CreateId } from '../foundation/runtime/ids.ts'
import type { Log } from '../foundation/runtime/log.ts'
import type { Vault } from '../foundation/runtime/vault.ts'
import type { Registry } from '../storage/store/registry.ts'
import { createConsumerEvents } from '../control/subscriptions/consumer-events.ts'
import { BOUNDS, createDeliveryQueue } from '../control/webhooks/delivery-queue.ts'
import { createFanOut } from '../control/webhooks/fan-out.ts'
import { createQueueFeed } from '../control/webhooks/queue-feed.ts'
import { startDeliveryRetention } from '../control/webhooks/delivery-retention.ts'
import { createSender } from '../control/webhooks/sender.ts'

export interface WebhooksOptions {
  readonly registry: Registry
  readonly vault: Vault
  readonly allowPrivate: boolean
  /** The mutex that the commands of event subscriptions use too, keyed by their ids. */
  readonly mutex: KeyedMutex
  /** The tenant of the operator. */
  readonly tenant: string
  readonly createId: CreateId
  readonly clock: Clock
  readonly log: Log
  readonly count: CountEvent
}

export interface Webhooks {
  /** Resolves when the pending deliveries are loaded. */
  start(): Promise<void>
  stop(): Promise<void>
  /** Number of deliveries that are queued. */
  waiting(): number
}

/** Time limit for deliveries in flight at shutdown. */
const DRAIN_MS = 5_000

export function createWebhooks(given: WebhooksOptions): Webhooks {
  const { registry, clock, log, count } = given
  const dataForConsumer = createConsumerEvents({ registry })
  const options = { ...given, dataForConsumer }
  // Receivers of several tenants may share a host. As many connections as deliveries are allowed, so no tenant waits for another.
  const outbound = createGuardedFetch({ ...options, connectionsMax: BOUNDS.all })
  const queue = createDeliveryQueue({
    clock,
    send: createSender({ ...options, outbound, random: Math.random }),
    onFailed(cause, delivery) {
      count('webhook_not_noted')
      log.error({ err: cause, delivery }, 'webhook delivery failed internally; it stays pending, retrying')
    },
  })
  const fanOut = createFanOut({ ...options, queuedFor: (receiver) => queue.sizeOf(receiver) })
  const feed = createQueueFeed({ registry, queue, clock, log, count })
  let stopRetention = (): void => {}

  return {
    async start() {
      await feed.start()
      await fanOut.start()
      stopRetention = startDeliveryRetention(options)
    },
    async stop() {
      stopRetention()
      await fanOut.stop()
      feed.stop()
      const cancel = clock.after(DRAIN_MS, () => void outbound.close())
      await queue.stop()
      cancel()
      await outbound.close()
    },
    waiting: () => queue.sizeOf(),
  }
}

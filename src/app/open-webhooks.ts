/** Composes webhooks: events become deliveries, deliveries wait in a queue, a sender sends them. */

import { DELIVERY_KIND, stateOfDelivery, type DeliveryBody } from '../webhooks/delivery-document.ts'
import {
  EVENT_SUBSCRIPTION_KIND,
  stateOfSubscription,
  type EventSubscriptionBody,
} from '../webhooks/event-subscription-document.ts'
import type { KeyedMutex } from '../command/keyed-mutex.ts'
import { createGuardedFetch } from '../outbound/guarded-fetch.ts'
import type { CountEvent } from '../runtime/event-reasons.ts'
import type { Clock } from '../runtime/clock.ts'
import type { CreateId } from '../runtime/ids.ts'
import type { Log } from '../runtime/log.ts'
import type { Metrics } from '../runtime/metrics.ts'
import type { Vault } from '../runtime/vault.ts'
import { isOfKind, type Change, type Document, type Registry } from '../store/registry.ts'
import { BOUNDS, createDeliveryQueue } from '../webhooks/delivery-queue.ts'
import { createFanOut } from '../webhooks/fan-out.ts'
import { startDeliveryRetention } from '../webhooks/delivery-retention.ts'
import { createSender } from '../webhooks/sender.ts'

export interface WebhooksOptions {
  readonly registry: Registry
  readonly vault: Vault
  readonly allowPrivate: boolean
  /** Locks by event subscription, in the mutex that its commands use. */
  readonly mutex: KeyedMutex
  /** The tenant of the operator. */
  readonly tenant: string
  readonly createId: CreateId
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  readonly count: CountEvent
}

export interface Webhooks {
  /** Loads the pending deliveries and continues by itself. */
  start(): Promise<void>
  stop(): Promise<void>
}

const PAGE = 500
const OFF_MAX = 100_000
const AGAIN_AFTER_MS = 30_000
/** Time that a delivery in flight has to finish at shutdown. */
const DRAIN_MS = 5_000

export function createWebhooks(options: WebhooksOptions): Webhooks {
  const { registry, clock, log, count, metrics } = options
  // Receivers of several tenants may share a host: none of them may hold up the connections of another.
  const outbound = createGuardedFetch({ ...options, connectionsMax: BOUNDS.all })
  const send = createSender({
    ...options,
    outbound,
    random: Math.random,
    onTrouble: (id, tenant, receiver) => queue.add({ id, receiver, tenant, atMs: clock.nowMs() + AGAIN_AFTER_MS }),
  })
  const queue = createDeliveryQueue({ clock, send })
  const fanOut = createFanOut({ ...options, waitingFor: (receiver) => queue.sizeOf(receiver) })
  metrics.measured('webhook_deliveries_waiting', 'Deliveries that wait for their time or their turn', () =>
    queue.sizeOf(),
  )
  /** Event subscriptions that are disabled: their pending deliveries are read again when they are enabled. */
  const off = new Set<string>()
  let unwatch = (): void => {}
  let stopForgetting = (): void => {}

  function enter({ id, tenant, body }: Pick<Document<DeliveryBody>, 'id' | 'tenant' | 'body'>): void {
    if (stateOfDelivery(body) === 'pending') queue.add({ id, tenant, receiver: body.subscription, atMs: body.nextAtMs })
  }

  function hear({ document, removed }: Change): void {
    if (isOfKind(document, DELIVERY_KIND) && !removed) enter(document)
    if (document.kind !== EVENT_SUBSCRIPTION_KIND) return
    const { id, body } = document as Document<EventSubscriptionBody>
    if (removed) queue.forget(id)
    if (!removed && stateOfSubscription(body) === 'disabled') {
      queue.drop(id)
      off.add(id)
      // Pending deliveries of a deleted event subscription are marked as abandoned when they are due.
    } else if (off.delete(id)) {
      takeUp({ subscription: id }).catch((cause: unknown) => {
        count('webhook_not_taken_up')
        log.error(
          { err: cause, subscription: id },
          'webhook queue could not be loaded for this subscription; its deliveries are paused until restart',
        )
      })
    }
  }

  async function takeUp(where: Readonly<Record<string, string>>): Promise<void> {
    for (let after = ''; ;) {
      const page = await registry.list(DELIVERY_KIND, {
        where: { ...where, state: 'pending' },
        limit: PAGE,
        ...(after !== '' && { after }),
      })
      page.forEach(enter)
      if (page.length < PAGE) return
      after = page.at(-1)?.id ?? ''
    }
  }

  return {
    async start() {
      unwatch = registry.watch(await registry.end(), hear)
      for (const { id } of await registry.list(EVENT_SUBSCRIPTION_KIND, {
        where: { state: 'disabled' },
        limit: OFF_MAX,
      }))
        off.add(id)
      await takeUp({})
      await fanOut.start()
      stopForgetting = startDeliveryRetention(options)
    },
    async stop() {
      stopForgetting()
      await fanOut.stop()
      unwatch()
      const cancel = clock.after(DRAIN_MS, () => void outbound.close())
      await queue.stop()
      cancel()
      await outbound.close()
    },
  }
}

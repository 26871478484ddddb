/**
 * Fills the delivery queue from the registry: all pending deliveries at startup, then every change.
 *
 * The deliveries of a disabled event subscription leave the queue, and are loaded again when it is enabled. Those of a disabled
 * tenant leave it when they are due.
 */

import { createRetries } from '../command/retries.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { CountEvent } from '../../foundation/runtime/event-reasons.ts'
import type { Log } from '../../foundation/runtime/log.ts'
import { isOfKind, type Change, type Document, type Registry } from '../../storage/store/registry.ts'
import { TENANT_KIND } from '../access/platform-access.ts'
import { DELIVERY_KIND, stateOfDelivery, type DeliveryBody } from './delivery-document.ts'
import type { DeliveryQueue } from './delivery-queue.ts'
import {
  EVENT_SUBSCRIPTION_KIND,
  stateOfSubscription,
  type EventSubscriptionBody,
} from './event-subscription-document.ts'

export interface QueueFeed {
  /** Resolves when all pending deliveries are in the queue. */
  start(): Promise<void>
  stop(): void
}

export interface QueueFeedOptions {
  readonly registry: Pick<Registry, 'end' | 'list' | 'watch'>
  readonly queue: Pick<DeliveryQueue, 'add' | 'drop' | 'evict'>
  readonly clock: Pick<Clock, 'after'>
  readonly log: Log
  readonly count: CountEvent
}

const PAGE = 500
const DISABLED_MAX = 100_000

export function createQueueFeed(options: QueueFeedOptions): QueueFeed {
  const { registry, queue, log, count } = options
  const disabled = new Set<string>()
  const retries = createRetries(options)
  let unwatch = (): void => {}

  function apply({ document, removed }: Change): void {
    if (isOfKind(document, DELIVERY_KIND) && !removed) addIfPending(queue, document)
    if (isOfKind(document, TENANT_KIND) && !removed && document.body.isDisabled !== true)
      void reload({ tenant: document.id })
    if (document.kind !== EVENT_SUBSCRIPTION_KIND) return
    const { id, body } = document as Document<EventSubscriptionBody>
    if (removed) queue.evict(id)
    if (!removed && stateOfSubscription(body) === 'disabled') {
      queue.drop(id)
      disabled.add(id)
      // Pending deliveries of a deleted event subscription are marked as abandoned when they are due.
    } else if (disabled.delete(id)) void reload({ where: { subscription: id } })
  }

  async function reload(of: Selection): Promise<void> {
    const key = JSON.stringify(of)
    try {
      await load(of, options)
      retries.done(key)
    } catch (cause) {
      count('webhook_not_taken_up')
      log.error(
        { err: cause, ...of },
        'webhook queue could not be loaded for this subscription or tenant; its deliveries stay pending, retrying',
      )
      retries.schedule(key, cause, () => void reload(of))
    }
  }

  return {
    async start() {
      unwatch = registry.watch(await registry.end(), apply)
      const where = { state: 'disabled' }
      for (const { id } of await registry.list(EVENT_SUBSCRIPTION_KIND, { where, limit: DISABLED_MAX })) {
        disabled.add(id)
      }
      await load({}, options)
    },
    stop() {
      unwatch()
      retries.stop()
    },
  }
}

interface Selection {
  readonly tenant?: string
  readonly where?: Readonly<Record<string, string>>
}

/** Adds the selected pending deliveries to the queue. */
async function load({ tenant, where }: Selection, { registry, queue }: QueueFeedOptions): Promise<void> {
  for (let after = ''; ;) {
    const page = await registry.list(DELIVERY_KIND, {
      where: { ...where, state: 'pending' },
      ...(tenant !== undefined && { tenant }),
      limit: PAGE,
      ...(after !== '' && { after }),
    })
    for (const delivery of page) addIfPending(queue, delivery)
    if (page.length < PAGE) return
    after = page.at(-1)?.id ?? ''
  }
}

function addIfPending(
  queue: Pick<DeliveryQueue, 'add'>,
  { id, tenant, body }: Pick<Document<DeliveryBody>, 'id' | 'tenant' | 'body'>,
): void {
  if (stateOfDelivery(body) === 'pending') queue.add({ id, tenant, receiver: body.subscription, atMs: body.nextAtMs })
}

/** Deliveries of a receiver: list and read with their attempts, redeliver, and send a sample event. */

import { Problem } from '../../foundation/domain/problem.ts'
import type { DeliveryState } from './delivery-machine.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { CreateId } from '../../foundation/runtime/ids.ts'
import type { Author, Document, Registry, Write } from '../../storage/store/registry.ts'
import { commit, find, invalidAt } from '../command/commands.ts'
import {
  DELIVERY_KIND,
  deliveryWrite,
  freshDelivery,
  newDelivery,
  showDelivery,
  stateOfDelivery,
  transitionDelivery,
  type Delivery,
  type DeliveryBody,
} from './delivery-document.ts'
import { EVENT_SAMPLES } from './event-samples.ts'
import { EVENT_SUBSCRIPTION_KIND, type EventSubscriptionBody } from './event-subscription-document.ts'
import { isEnabled } from './event-subscriptions.ts'
import type { EventType } from '../command/event-outbox.ts'
import { listPage, type Page, type PageQuery } from '../command/page.ts'

export interface Deliveries {
  list(
    tenant: string,
    subscription: string,
    query: PageQuery & { readonly state?: DeliveryState },
  ): Promise<Page<Delivery>>
  get(tenant: string, subscription: string, delivery: string): Promise<Delivery>
  /** Sends a sample event of the type to this receiver only. */
  test(author: Author, subscription: string, type: EventType): Promise<Delivery>
  /** Redelivers one delivery in any final state. Returns the number of deliveries. */
  redeliver(author: Author, subscription: string, delivery: string): Promise<number>
  /** Redelivers all deliveries that failed since a time (RFC 3339). Returns their number. */
  redeliverSince(author: Author, subscription: string, since: string): Promise<number>
}

export interface DeliveriesOptions {
  readonly registry: Registry
  readonly createId: CreateId
  readonly clock: Pick<Clock, 'nowMs'>
}

const PAGE = 100

export function createDeliveries(options: DeliveriesOptions): Deliveries {
  const { registry, createId, clock } = options

  return {
    async list(tenant, subscription, { state, ...query }) {
      await subscriptionOf(registry, tenant, subscription)
      const where = { subscription, state }
      return listPage({
        registry,
        kind: DELIVERY_KIND,
        tenant,
        query,
        where,
        show: showDelivery,
      })
    },
    async get(tenant, subscription, id) {
      const delivery = await find(registry, tenant, DELIVERY_KIND, id)
      if (delivery.body.subscription !== subscription) {
        throw new Problem('not_found', 'The receiver has no such delivery.')
      }
      return showDelivery(delivery)
    },
    async test(author, subscription, type) {
      const { tenant } = author
      await checkEnabled(registry, tenant, subscription)
      const event = { id: createId('evt'), type, sample: EVENT_SAMPLES[type] }
      const { id, write } = newDelivery(createId, tenant, freshDelivery(subscription, event, clock.nowMs()))
      await commit(registry, author, 'webhook.test', [write])
      return showDelivery(await find(registry, tenant, DELIVERY_KIND, id))
    },
    async redeliver(author, subscription, id) {
      const { tenant } = author
      await checkEnabled(registry, tenant, subscription)
      const delivery = await registry.get(DELIVERY_KIND, id)
      if (delivery?.tenant !== tenant || delivery.body.subscription !== subscription)
        throw invalidAt('/delivery', 'The receiver has no such delivery.')
      await commit(registry, author, 'webhook.redeliver', [redeliveryWrite(delivery, clock.nowMs())])
      return 1
    },
    redeliverSince: (author, subscription, since) => redeliverSince(options, author, subscription, since),
  }
}

/** Resets a delivery to the state before its first attempt. */
function redeliveryWrite({ id, tenant, revision, body }: Document<DeliveryBody>, nowMs: number): Write {
  const next = { ...body, actor: transitionDelivery(body, 'redelivered'), nextAtMs: nowMs }
  return deliveryWrite(id, tenant, revision, next)
}

function subscriptionOf(registry: Registry, tenant: string, id: string): Promise<Document<EventSubscriptionBody>> {
  return find(registry, tenant, EVENT_SUBSCRIPTION_KIND, id)
}

async function checkEnabled(registry: Registry, tenant: string, id: string): Promise<void> {
  const { body } = await subscriptionOf(registry, tenant, id)
  if (!isEnabled(body))
    throw new Problem('state_conflict', 'The receiver is disabled. Enable it first: PATCH {"state": "active"}.', {
      extensions: { state: 'disabled', allowed: ['update'] },
    })
}

async function redeliverSince(
  { registry, clock }: DeliveriesOptions,
  author: Author,
  subscription: string,
  since: string,
): Promise<number> {
  const { tenant } = author
  await checkEnabled(registry, tenant, subscription)
  const sinceMs = Date.parse(since)
  let redelivered = 0
  for (let after = ''; ;) {
    const where = { subscription, state: 'failed' }
    const page = await registry.list(DELIVERY_KIND, {
      tenant,
      where,
      limit: PAGE,
      ...(after !== '' && { after }),
    })
    const failed = page.filter(({ createdAtMs, body }) => createdAtMs >= sinceMs && stateOfDelivery(body) === 'failed')
    if (failed.length > 0)
      await commit(
        registry,
        author,
        'webhook.redeliver',
        failed.map((each) => redeliveryWrite(each, clock.nowMs())),
      )
    redelivered += failed.length
    if (page.length < PAGE) return redelivered
    after = page.at(-1)?.id ?? ''
  }
}

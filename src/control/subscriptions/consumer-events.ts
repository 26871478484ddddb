/** The part of an event that concerns one consumer, for event subscriptions that belong to a consumer. */

import type { DataForConsumer, EventType } from '../command/event-outbox.ts'
import type { Registry } from '../../storage/store/registry.ts'
import { subscriptionsTo } from './consumer-view.ts'
import { SUBSCRIPTION_KIND } from './document/subscription-document.ts'

/** Events that concern the operation of an API, which is the provider's. */
const FOR_PROVIDERS: ReadonlySet<EventType> = new Set(['DesignDrift', 'UpstreamHealthIssue'])

export function createConsumerEvents({
  registry,
}: {
  readonly registry: Pick<Registry, 'get' | 'find' | 'list'>
}): DataForConsumer {
  return async (tenant, consumer, { type, data }) => {
    if (FOR_PROVIDERS.has(type)) return null
    const { subscription, api } = data
    if (typeof subscription === 'string') {
      const document = await registry.get(SUBSCRIPTION_KIND, subscription)
      return document?.tenant === tenant && document.body.consumer === consumer ? data : null
    }
    if (typeof api !== 'string') return null
    const subscriptions = await subscriptionsTo(registry, tenant, consumer, api)
    if (subscriptions.length === 0) return null
    return 'subscriptions' in data ? { ...data, subscriptions } : data
  }
}

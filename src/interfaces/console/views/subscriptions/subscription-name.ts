/** The names of subscriptions. */

import type { Item } from '../../api/operations.ts'
import { texts } from '../../texts.ts'

type Subscription = Pick<Item<'/v1/subscriptions'>, 'ApiId' | 'ApiProductId' | 'consumer' | 'consumerName'>

/** The API or the product. */
export function targetOf({ ApiId, ApiProductId }: Pick<Subscription, 'ApiId' | 'ApiProductId'>): string {
  return ApiId ?? ApiProductId ?? ''
}

/** The consumer at the API or the product. */
export function titleOf(subscription: Subscription): string {
  const { consumer, consumerName } = subscription
  return texts.subscriptions.at(consumerName === '' ? consumer : consumerName, targetOf(subscription))
}

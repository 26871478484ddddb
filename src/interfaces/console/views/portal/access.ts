/** The access of a consumer to an API: its subscriptions to the API itself, and to products that contain it. */

import type { Item } from '../../api/operations.ts'

export type Subscription = Item<'/v1/subscriptions'>
type Product = Item<'/v1/products'>

/** A product that is not known may contain the API, and then the gateway says whether it does. */
export function accessTo(
  api: string,
  direct: readonly Subscription[],
  all: readonly Subscription[],
  products: readonly Pick<Product, 'id' | 'apis'>[],
): readonly Subscription[] {
  const others = new Set(products.filter(({ apis }) => !apis.includes(api)).map(({ id }) => id))
  const through = all.filter(({ ApiProductId }) => ApiProductId !== null && !others.has(ApiProductId))
  return [...direct, ...through]
}

export function mayCall(subscriptions: readonly Pick<Subscription, 'state'>[]): boolean {
  return subscriptions.some(({ state }) => state === 'Active')
}

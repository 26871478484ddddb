/** The names of the products that a consumer sees, for lists that have their ids. */

import { useRead } from '../../api/use-read.ts'
import { may } from '../../shell/person.ts'
import { targetOf } from '../subscriptions/subscription-name.ts'

/** A consumer has few products. */
const PRODUCTS_MAX = '100'

/** Returns the API of a subscription, or the name of its product. */
export function useTargetNames(): typeof targetOf {
  const { data } = useRead(may('products:read') ? '/v1/products' : null, { query: { limit: PRODUCTS_MAX } })
  const names = new Map((data?.items ?? []).map(({ id, name }) => [id, name]))
  return (subscription) => names.get(subscription.ApiProductId ?? '') ?? targetOf(subscription)
}

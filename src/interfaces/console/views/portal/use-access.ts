/** Reads the access of a consumer to an API. */

import { useRead, type Reading } from '../../api/use-read.ts'
import { may } from '../../shell/person.ts'
import { accessTo, type Subscription } from './access.ts'

const SHOWN = '20'
/** A consumer has few products. */
const PRODUCTS_MAX = '100'

export function useAccess(api: string): Reading<readonly Subscription[]> {
  const direct = useRead('/v1/subscriptions', { query: { ApiId: api, limit: SHOWN } })
  const products = useRead(may('products:read') ? '/v1/products' : null, { query: { limit: PRODUCTS_MAX } })
  const all = useRead('/v1/subscriptions', { query: { limit: PRODUCTS_MAX } })
  const reload = (): void => {
    for (const each of [direct, products, all]) each.reload()
  }
  const isRead = direct.data !== null && all.data !== null && (products.data !== null || !may('products:read'))
  const found = isRead ? accessTo(api, direct.data.items, all.data.items, products.data?.items ?? []) : null
  return { data: found, problem: direct.problem ?? products.problem ?? all.problem, reload }
}

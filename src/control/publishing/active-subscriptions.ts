/** Finds the active subscriptions that would lose an API: those to the API, and to products that contain it. */

import type { Registry } from '../../storage/store/registry.ts'
import { PROXY_KIND } from './proxy-document.ts'
import { SUBSCRIPTION_KIND } from '../subscriptions/document/subscription-document.ts'

/** Upper bound of the returned ids, which an error lists. */
const NAMED_MAX = 500

export async function activeSubscriptionsOf(
  registry: Pick<Registry, 'find' | 'list'>,
  tenant: string,
  api: string,
): Promise<readonly string[]> {
  const proxy = await registry.find(PROXY_KIND, 'api', api)
  const products = proxy?.body.memberOfProductIds ?? []
  const found: string[] = []
  for (const where of [{ api }, ...products.map((product) => ({ product }))]) {
    const limit = NAMED_MAX - found.length
    if (limit === 0) break
    const documents = await registry.list(SUBSCRIPTION_KIND, { tenant, where: { ...where, state: 'Active' }, limit })
    found.push(...documents.map(({ id }) => id))
  }
  return found
}

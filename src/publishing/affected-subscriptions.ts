/** Whether a declaration of a variant that the API did not have before changes what holds for a subscription. */

import type { Registry } from '../store/registry.ts'
import { PROXY_KIND } from './proxy-document.ts'
import { SUBSCRIPTION_KIND, type SubscriptionBody } from '../subscriptions/document/subscription-document.ts'

export interface NewVariant {
  readonly api: string
  /** `''`: the default tier. */
  readonly variant: string
  /** Variants that were declared before it. */
  readonly declared: readonly string[]
}

const LIVE_STATES = ['Active', 'Suspended', 'Pending', 'WaitlistedForCapacity']
const PAGE = 500

/** Looks at subscriptions to the API and to products that hold it, until one is found. */
export async function affectsSubscriptions(
  registry: Pick<Registry, 'find' | 'list'>,
  { api, variant, declared }: NewVariant,
): Promise<boolean> {
  const proxy = await registry.find(PROXY_KIND, 'api', api)
  const products = proxy?.body.memberOfProductIds ?? []
  // A variant that is not declared is served by the default one.
  const isServedBy = ({ slaVariant }: SubscriptionBody): boolean =>
    variant === '' ? !declared.includes(slaVariant) : slaVariant === variant
  for (const where of [{ api }, ...products.map((product) => ({ product }))]) {
    for (const state of LIVE_STATES) {
      if (await isAny(registry, { ...where, state }, isServedBy)) return true
    }
  }
  return false
}

async function isAny(
  registry: Pick<Registry, 'list'>,
  where: Readonly<Record<string, string>>,
  matches: (body: SubscriptionBody) => boolean,
): Promise<boolean> {
  for (let after = ''; ;) {
    const page = await registry.list(SUBSCRIPTION_KIND, { where, after, limit: PAGE })
    if (page.some(({ body }) => matches(body))) return true
    if (page.length < PAGE) return false
    after = page.at(-1)?.id ?? ''
  }
}

/** Tests whether the first declaration of a variant changes the limits of a subscription. */

import { listAll } from '../command/page.ts'
import type { Registry } from '../../storage/store/registry.ts'
import { PROXY_KIND } from './proxy-document.ts'
import {
  LIVE_STATES,
  SUBSCRIPTION_KIND,
  type SubscriptionBody,
} from '../subscriptions/document/subscription-document.ts'

export interface NewVariant {
  readonly api: string
  /** `''`: the default tier. */
  readonly variant: string
  /** The variants declared so far. */
  readonly declared: readonly string[]
}

/** Searches the subscriptions to the API and to products that contain it. */
export async function affectsSubscriptions(
  registry: Pick<Registry, 'find' | 'list'>,
  { api, variant, declared }: NewVariant,
): Promise<boolean> {
  const proxy = await registry.find(PROXY_KIND, 'api', api)
  const products = proxy?.body.memberOfProductIds ?? []
  // The default variant applies to subscriptions whose own variant is not declared.
  const isAffected = ({ slaVariant }: SubscriptionBody): boolean =>
    variant === '' ? !declared.includes(slaVariant) : slaVariant === variant
  for (const where of [{ api }, ...products.map((product) => ({ product }))]) {
    for (const state of LIVE_STATES) {
      if (await isAny(registry, { ...where, state }, isAffected)) return true
    }
  }
  return false
}

async function isAny(
  registry: Pick<Registry, 'list'>,
  where: Readonly<Record<string, string>>,
  matches: (body: SubscriptionBody) => boolean,
): Promise<boolean> {
  for await (const { body } of listAll(registry, SUBSCRIPTION_KIND, { where })) if (matches(body)) return true
  return false
}
